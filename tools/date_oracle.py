"""Asks other libraries what the phrases of tests/data/dates mean, and writes their answers next to ours.

`oracle_zh.jsonl` gets jionlp's days (Apache-2.0), as `[first, last]`; `english.jsonl` gets the first day that each of
dateparser (BSD) and parsedatetime (Apache-2.0) finds; null means that it finds none. None of them is a dependency:
install the three in a virtual environment of their own, and run `TZ=UTC python tools/date_oracle.py` there. Our own
answers in the files stay. Where ours differs from jionlp's on purpose, the row says so, and why.
"""

from __future__ import annotations

import json
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parents[1] / "tests" / "data" / "dates"


def of_jionlp(phrase: str, at: datetime) -> list[str] | None:
    """Return the first and the last day of a phrase; None if jionlp finds none, or an open end."""
    try:
        times = import_module("jionlp").parse_time(phrase, time_base=at.timestamp())["time"]
    except ValueError:
        return None
    if not isinstance(times, list) or "inf" in times or "-inf" in times:
        return None
    return [time[:10] for time in times]


def of_dateparser(text: str, at: datetime) -> str | None:
    """Return the first day that dateparser finds in a text, None if it finds none."""
    search = import_module("dateparser.search")
    found = search.search_dates(text, languages=["en"], settings={"RELATIVE_BASE": at})
    return str(found[0][1].date()) if found else None


def of_parsedatetime(text: str, at: datetime) -> str | None:
    """Return the day that parsedatetime finds in a text, None if it finds none."""
    day, status = import_module("parsedatetime").Calendar().parseDT(text, sourceTime=at)
    return str(day.date()) if status else None


def fill(name: str, said: str, columns: dict[str, Callable[[str, datetime], Any]]) -> None:
    """Compute the columns of a table again from its column `said`, and write the table."""
    table = DATA / name
    rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row.update({column: ask(row[said], datetime.fromisoformat(row["at"])) for column, ask in columns.items()})
    table.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    fill("oracle_zh.jsonl", "phrase", {"jionlp": of_jionlp})
    fill("english.jsonl", "text", {"dateparser": of_dateparser, "parsedatetime": of_parsedatetime})
