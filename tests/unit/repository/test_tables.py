"""A table of cases is one test, and a case that fails is seen."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import parts
import pytest
import slow_tests
from support.tables import each

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Noted:
    """Notes the names of the cases that fail, as pytest's subtests would report them."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    @contextmanager
    def test(self, name: str) -> Iterator[None]:
        try:
            yield
        except (AssertionError, pytest.fail.Exception):
            self.failed.append(name)


def played(test: Any) -> list[str]:
    noted = Noted()
    test(subtests=noted)
    return noted.failed


def test_each_case_is_tried_and_those_that_fail_are_named():
    tried: list[int] = []

    @each("number", [1, 2, 3, pytest.param(4, id="four")])
    def table(number: int) -> None:
        tried.append(number)
        assert number % 2

    assert played(table) == ["2", "four"]
    assert tried == [1, 2, 3, 4]


def test_a_table_of_a_table_is_every_pair():
    @each("left", [1, 2], ids=["one", "two"])
    @each(("right", "sum_"), [(1, 2), (2, 3)])
    def table(left: int, right: int, sum_: int) -> None:
        if left + right != sum_:
            pytest.fail("not the sum")

    assert played(table) == ["1, 2", "2, 3"]


def test_the_parts_of_a_run_stand_beside_those_of_the_last_release():
    rows = parts.table({"check": (60.4, 90.0), "test": (300.0, 580.0)}, {"check": (50.0, 80.0)}).splitlines()
    assert [row.split() for row in rows[1:]] == [["check", "60", "90", "50", "80"], ["test", "300", "580", "-"]]


def test_the_cases_of_a_slow_test_count_together(tmp_path: Path):
    measured = tmp_path / "measured.txt"
    measured.write_text("0.70 tests/unit/a.py::one[x]\n0.60 tests/unit/a.py::one[y]\n0.90 tests/unit/a.py::two\n")
    [(seconds, name)] = slow_tests.slow(measured)
    assert (round(seconds, 1), name) == (1.3, "unit/a.py::one")


def test_each_reason_names_a_test_that_is_there():
    there = {
        f"{file.relative_to(slow_tests.ROOT / 'tests').as_posix()}": file.read_text("utf-8")
        for file in (slow_tests.ROOT / "tests").rglob("*.py")
    }
    gone = [
        test
        for test in slow_tests.reasons()
        if f"def {test.rpartition('::')[2]}(" not in there.get(test.partition("::")[0], "")
    ]
    assert [test for test in gone if "::Test" not in test] == []
