"""Facts about things: the amount that a clause states of a thing ("my rent is 800"), and the day of an appointment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.dates.reader import expressions
from streams.extraction.rules.finding import Finding
from streams.extraction.rules.rows.keys import matched

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from streams.extraction.rules.rows.clauses import Clause
    from streams.extraction.rules.rows.row import Language

_DATE: Final = "date"
_CATEGORIES: Final = {"price": "finance", "amount": "fact", _DATE: "schedule"}
_FROM: Final = re.compile(r"(?:\bfrom |从)$", re.IGNORECASE)
_SPELT: Final = (
    (re.compile(r"\b(?:my|our|the) ", re.IGNORECASE), ""),
    (
        re.compile(r"^(?:appointment (?:with|at) )?(dentist|doctor|gp|vet|optician)\b.*", re.IGNORECASE),
        r"\1 appointment",
    ),
    (re.compile(r"\bdosage\b", re.IGNORECASE), "dose"),
    (re.compile(r"^(?:看?牙医?)$"), "看牙医"),
    (re.compile(r"^[和跟](.{1,8}?)(?:的|有个?|约了)?(?:会议|会面|会|面谈|开会|见面|约|饭局)$"), r"和\1的会"),
)
"""Different words for the same thing, and the words with which it is kept."""


def things_of(language: Language, clause: Clause, today: date) -> Iterator[Finding]:
    """Yield what a clause says about a thing, by the first row that fits; appointments count from today on."""
    for row in language.things:
        groups = {name.rstrip("0123456789"): said for name, said in matched(language, row, clause).items() if said}
        if "about" not in groups:
            continue
        about, value, day = groups["about"] or "", groups.get("value"), None
        if row.key == _DATE:
            named = expressions(clause.text, today, "coming")
            days = (one.first for one in named if one.is_day and not _FROM.search(clause.text[: one.start]))
            day = next((one for one in days if one >= today), None)
            value = day.isoformat() if day else None
        if value is None:
            continue
        for pattern, spelt in _SPELT:
            about = pattern.sub(spelt, about)
        yield Finding(
            content="",
            category=_CATEGORIES[row.key],
            attribute=row.key,
            value=value.rstrip(",."),
            about=about[:1].lower() + about[1:],
            occurred_on=day,
        )
        return
