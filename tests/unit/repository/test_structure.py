"""The structure that a newcomer reads: folders of a dozen, each with a tour, small classes, no circles."""

import ast
from pathlib import Path

from support.tables import each

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("schemas", "projections", "streams", "mnemolog")
MOST_MODULES = 16
SHORTEST_TOUR = 3
"""Lines of the docstring of a folder's `__init__`."""
MOST_METHODS = 25


def modules() -> dict[str, Path]:
    """Return every module of the packages by its dotted name; a package is named without `__init__`."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def imports_of(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules of ours that a module imports, those for type checking included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            named = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (named & known.keys()) or {node.module}
    return found & known.keys()


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Return the sets of modules that reach each other."""
    reached: dict[str, set[str]] = {}
    for start, first in arrows.items():
        seen: set[str] = set()
        waiting = list(first)
        while waiting:
            if (name := waiting.pop()) not in seen:
                seen.add(name)
                waiting += arrows.get(name, ())
        reached[start] = seen
    together = {tuple(sorted(b for b in reached[a] if a in reached[b])) for a in arrows if a in reached[a]}
    return [list(one) for one in sorted(together)]


def test_circles_are_found():
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"e"}}
    assert circles(arrows) == [["a", "b", "c"], ["e"]]


def test_no_modules_import_each_other():
    known = modules()
    assert len(known) > 100
    assert circles({name: imports_of(path, known) for name, path in known.items()}) == []


@each("folder", sorted({str(path.parent.relative_to(ROOT)) for path in modules().values()}))
def test_a_folder_holds_about_a_dozen_modules_and_has_a_tour(folder: str):
    held = [path for path in (ROOT / folder).glob("*.py") if path.name != "__init__.py"]
    assert len(held) <= MOST_MODULES, "cut the folder by its ideas"
    tour = ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert len(tour.splitlines()) >= SHORTEST_TOUR, "say in the docstring what is here, and the path through it"


def methods_of(path: Path) -> dict[str, int]:
    """Return how many methods and properties each class of a module has, private ones included."""
    return {
        node.name: sum(isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) for one in node.body)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    }


def test_methods_are_counted_whatever_they_are(tmp_path: Path):
    path = tmp_path / "one.py"
    methods = ("def _a(self): ...", "async def b(self): ...", "@property", "def c(self): ...", "d = 1")
    path.write_text("\n  ".join(("class One:", *methods)), encoding="utf-8")
    assert methods_of(path) == {"One": 3}


def test_a_class_has_few_methods():
    large = {name for path in modules().values() for name, number in methods_of(path).items() if number > MOST_METHODS}
    assert not large, "cut the class by its ideas"
