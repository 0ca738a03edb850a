"""Tables of cases as one test each: pytest takes time for each test, and a table has hundreds of rows."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.mark import ParameterSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def each(
    names: str | Sequence[str], cases: Iterable[Any], ids: Callable[[Any], object] | Sequence[str] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Call a test with each case in turn, as `pytest.mark.parametrize` would, but as one test.

    A case that fails is a failed subtest, and the others run all the same. The cases share the test's fixtures, so they
    must not change them. The test must not be asynchronous.
    """
    known = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [ParameterSet.extract_from(case, force_tuple=len(known) == 1) for case in cases]

    def over(test: Callable[..., Any]) -> Callable[..., None]:
        takes = inspect.signature(test)
        nested = "subtests" in takes.parameters

        @functools.wraps(test)
        def table(*args: Any, subtests: pytest.Subtests, **fixtures: Any) -> None:
            if nested:
                fixtures["subtests"] = subtests
            for number, row in enumerate(rows):
                try:
                    test(*args, **dict(zip(known, row.values, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as failure:
                    with subtests.test(_name(row, ids, number)):
                        raise failure from None

        kept = [one for name, one in takes.parameters.items() if name not in {*known, "subtests"}]
        wants = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)
        table.__signature__ = takes.replace(parameters=[*kept, wants])  # type: ignore[attr-defined]
        return table

    return over


def _name(row: ParameterSet, ids: Callable[[Any], object] | Sequence[str] | None, number: int) -> str:
    if row.id is not None:
        return str(row.id)
    if callable(ids):
        return "-".join(str(ids(value)) for value in row.values)
    if ids is not None:
        return ids[number]
    return ", ".join(repr(value) for value in row.values)[:200]
