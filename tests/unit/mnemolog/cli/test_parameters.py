"""What a function's annotations say is what a command takes and explains."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import pytest
from click.testing import CliRunner

from mnemolog.cli.parameters import Argument, Option, command


def even(text: str) -> int:
    if int(text) % 2:
        raise click.BadParameter(f"{text} is odd")
    return int(text)


def run(
    what: Annotated[str, Argument(help="What to do.")],
    files: Annotated[list[Path] | None, Argument(metavar="[FILE]...")] = None,
    *,
    limit: Annotated[int, Option("--limit", "-n", min=1, max=9, help="At most so many.")] = 5,
    kind: Annotated[Literal["a", "b"] | None, Option()] = None,
    tags: Annotated[list[str] | None, Option("--tag")] = None,
    count: Annotated[int | None, Option(parser=even, metavar="EVEN")] = None,
    dry_run: Annotated[bool, Option()] = False,
) -> None:
    """Is called by the command."""


@pytest.fixture
def called() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def program(called: list[dict[str, Any]]) -> click.Command:
    return command(
        "run", lambda **given: called.append(given), inspect.signature(run, eval_str=True).parameters.values(), "Run."
    )


def test_values_have_the_types_of_the_annotations(program: click.Command, called: list[dict[str, Any]]):
    arguments = ["do", "x", "y", "-n", "2", "--kind", "b", "--tag", "one", "--tag", "two", "--count", "4", "--dry-run"]
    assert CliRunner().invoke(program, arguments).exit_code == 0
    assert CliRunner().invoke(program, ["do"]).exit_code == 0
    files, tags = [Path("x"), Path("y")], ["one", "two"]
    assert called == [
        {"what": "do", "files": files, "limit": 2, "kind": "b", "tags": tags, "count": 4, "dry_run": True},
        {"what": "do", "files": None, "limit": 5, "kind": None, "tags": None, "count": None, "dry_run": False},
    ]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("", "Missing argument 'WHAT'"),
        ("do -n 10", "10 is not in the range 1<=x<=9"),
        ("do -n many", "'many' is not a valid integer"),
        ("do --kind c", "'c' is not one of 'a', 'b'"),
        ("do --count 3", "Invalid value for '--count': 3 is odd"),
        ("do --other", "No such option: --other"),
    ],
)
def test_what_does_not_fit_is_refused(
    program: click.Command, called: list[dict[str, Any]], arguments: str, reason: str
):
    done = CliRunner().invoke(program, arguments.split())
    assert (done.exit_code, called) == (2, [])
    assert reason in done.stderr


def test_the_help_explains_arguments_and_options(program: click.Command):
    printed = CliRunner().invoke(program, ["--help"]).stdout
    assert "Usage: run [OPTIONS] WHAT [FILE]..." in printed
    assert "  WHAT       What to do.  [required]\n" in printed
    assert "-n, --limit INTEGER RANGE  At most so many.  [default: 5; 1<=x<=9]" in printed
