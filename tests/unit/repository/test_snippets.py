"""The documentation's snippets are found, run in order, and failed where they do not do what the page says."""

import os
from pathlib import Path

import pytest
import run_snippets
from run_snippets import SnippetFailedError
from support.tables import each

FENCE = "```"


def page(folder: Path, *blocks: tuple[str, str]) -> Path:
    """Write a page with a sentence before each fenced block of (info string, text)."""
    path = folder / "page.md"
    fences = (f"A sentence.\n\n{FENCE}{info}\n{text}\n{FENCE}\n" for info, text in blocks)
    path.write_text("\n".join(fences), encoding="utf-8")
    return path


def test_only_marked_fences_are_run(tmp_path: Path):
    written = page(tmp_path, ("bash", "exit 1"), ("json", "{}"), ("bash run", "true"))
    assert [snippet.text for snippet in run_snippets.snippets_in(written)] == ["true\n"]


def test_a_fence_inside_a_list_loses_the_indent_of_the_list(tmp_path: Path):
    written = tmp_path / "page.md"
    written.write_text(f"1. first\n\n   {FENCE}python run\n   if True:\n       x = 1\n   {FENCE}\n", encoding="utf-8")
    (snippet,) = run_snippets.snippets_in(written)
    assert snippet.text == "if True:\n    x = 1\n"
    assert snippet.line == 3


def test_a_fence_that_is_never_closed_is_an_error(tmp_path: Path):
    written = tmp_path / "page.md"
    written.write_text(f"{FENCE}bash run\ntrue\n", encoding="utf-8")
    with pytest.raises(SnippetFailedError, match=r"page\.md:1: this fence is never closed"):
        run_snippets.snippets_in(written)


def test_the_snippets_of_a_page_share_a_folder_and_run_in_order(tmp_path: Path):
    written = page(
        tmp_path,
        ("bash run", "echo 咖啡 > drink"),
        ("python run", "assert open('drink', encoding='utf-8').read() == '咖啡\\n'"),
        ("console run", "$ cat drink\n咖啡\n$ printf 'a\\nb 12 c\\n' \\\n>   | cat\na\nb ... c"),
    )
    assert run_snippets.run_page(written) == 3


@pytest.mark.parametrize(
    ("info", "text", "why"),
    [
        ("bash run", "echo before\nfalse\necho after", r"page\.md:3: exit code 1\nbefore"),
        ("bash run", "false | true", r"exit code 1"),
        ("python run", "raise SystemExit('no')", r"exit code 1\nno"),
        ("console run", "$ echo tea\ncoffee", r"`echo tea` printed something else\ntea"),
    ],
)
def test_a_snippet_that_does_something_else_fails_with_place_and_output(tmp_path: Path, info: str, text: str, why: str):
    with pytest.raises(SnippetFailedError, match=why):
        run_snippets.run_page(page(tmp_path, (info, text)))


def test_what_a_snippet_leaves_running_is_ended_with_its_page(tmp_path: Path):
    said = tmp_path / "pid"
    run_snippets.run_page(page(tmp_path, ("bash run", f"sleep 600 & echo $! > {said}")))
    with pytest.raises(ProcessLookupError):
        os.kill(int(said.read_text(encoding="utf-8")), 0)


def test_snippets_see_none_of_our_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MNEMOLOG_DATA_DIR", "elsewhere")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    text = '[ -z "${MNEMOLOG_DATA_DIR-}${OPENAI_API_KEY-}" ]'
    assert run_snippets.run_page(page(tmp_path, ("bash run", text))) == 1


@each(
    ("expected", "printed", "same"),
    [
        ("3 accepted", "3 accepted  \n", True),
        ("3 accepted", "13 accepted", False),
        ("first\n...\nlast", "first\nmany\nlines\nlast\n", True),
        ("1.5 (...)", "1x5 (ms)", False),
        ("", "noise", False),
    ],
)
def test_expected_output_is_literal_but_for_three_dots(expected: str, printed: str, same: bool):  # noqa: FBT001
    assert run_snippets.matches(expected, printed) is same
