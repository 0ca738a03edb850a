"""What the files of the repository must never hold, and what must stay in step with what."""

import re
import tomllib
from pathlib import Path

import pytest
import run_tests

ROOT = Path(__file__).resolve().parents[3]
MADE_BY_MACHINES = {"build", "dist", "var", "results", "node_modules", "__pycache__"}
MAX_BYTES = 1_000_000


def files(folder: Path = ROOT) -> list[Path]:
    """Every file that people wrote, caches and hidden folders but .ci left out."""
    kept: list[Path] = []
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name == ".ci" or not (path.name.startswith(".") or path.name in MADE_BY_MACHINES):
                kept += files(path)
        elif path.name not in {".git", ".env"}:
            kept.append(path)
    return kept


def texts() -> list[tuple[Path, str]]:
    """Every text file with its text."""
    found = []
    for path in files():
        raw = path.read_bytes()
        if b"\0" not in raw and path.suffix != ".bin":
            found.append((path.relative_to(ROOT), raw.decode("utf-8")))
    return found


def lines_with(pattern: str, *suffixes: str, below: str = "") -> list[str]:
    """`file:line` of each line that the pattern is found in."""
    wanted = re.compile(pattern)
    return [
        f"{path}:{number}: {line.strip()[:120]}"
        for path, text in texts()
        if str(path).startswith(below) and (not suffixes or path.suffix in suffixes)
        for number, line in enumerate(text.splitlines(), start=1)
        if wanted.search(line)
    ]


def pins(name: str) -> list[str]:
    """Read the requirements of a pinned file, one whole requirement with its hashes each."""
    text = (ROOT / name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return "\n".join(lines).replace("\\\n", " ").splitlines()


def names(requirements: list[str]) -> set[str]:
    """Return the normalised names of requirements."""
    found = (re.match(r"[A-Za-z0-9._-]+", requirement) for requirement in requirements)
    return {re.sub(r"[-_.]+", "-", name[0]).lower() for name in found if name}


def test_no_file_names_a_folder_of_the_machine_it_was_written_on():
    assert lines_with(r"(^|[^a-zA-Z0-9_.~$}])/(work|farm|root|home/\w+)/") == []


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt", "requirements-build.txt"])
def test_pins_are_exact_hashed_and_name_no_place(name: str):
    pinned = pins(name)
    assert pinned
    assert [
        pin for pin in pinned if not re.fullmatch(r"[a-z0-9-]+==\S+( ;.*?)?(\s+--hash=sha256:[0-9a-f]{64})+", pin)
    ] == []
    assert lines_with(r"://|--\w*index|--find-links|--trusted-host", below=name) == []


def test_pins_cover_what_pyproject_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert names(project["project"]["dependencies"]) - names(pins("requirements.txt")) == set()
    assert names(project["dependency-groups"]["dev"]) - names(pins("requirements-dev.txt")) == set()
    assert names(project["build-system"]["requires"]) - names(pins("requirements-build.txt")) == set()


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-weaviate.txt", "requirements-build.txt"])
def test_the_pinned_files_agree_with_those_of_development_on_what_they_share(name: str):
    others, development = (
        {pin.split()[0].partition("==")[0]: pin.split()[0] for pin in pins(file)}
        for file in (name, "requirements-dev.txt")
    )
    shared = others.keys() & development.keys()
    assert {one: development[one] for one in shared} == {one: others[one] for one in shared}


def test_no_test_is_skipped_or_expected_to_fail():
    assert lines_with(r"pytest\.(mark\.)?(skip|xfail|importorskip)\b|pytest\.mark\.skipif", ".py", below="tests") == []


def test_tests_are_no_package_and_their_names_are_unique():
    tests = [path for path, _ in texts() if path.parts[0] == "tests" and path.suffix == ".py"]
    stems = [path.stem for path in tests if path.stem != "conftest"]
    assert "__init__" not in stems
    assert sorted(stems) == sorted(set(stems))


def test_every_kind_of_test_is_run_by_make_test_all():
    kinds = {path.parts[1] for path, _ in texts() if path.parts[0] == "tests" and path.name.startswith("test_")}
    assert kinds - set(run_tests.KINDS) == set()


def test_every_module_says_its_reason_to_exist_in_its_first_line():
    modules = [(path, text) for path, text in texts() if path.suffix == ".py"]
    assert [str(path) for path, text in modules if not re.match(r'r?"""\S', text)] == []


def test_files_are_small_enough_for_a_repository():
    assert [str(path) for path in files() if path.stat().st_size > MAX_BYTES] == []


def test_the_commands_of_the_contract_are_targets_of_make():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):.*## \S", makefile, re.MULTILINE))
    assert {"install", "demo", "test", "test-all", "engines", "up", "check", "bench"} - targets == set()
