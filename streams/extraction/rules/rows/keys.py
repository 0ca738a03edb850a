"""Keys: the slots of the user's profile that a clause or a request fills, by the first row that fits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from projections.dates.cues import since
from streams.extraction.rules.finding import KEYS, Finding, profile
from streams.extraction.rules.rows.clauses import Clause
from streams.extraction.rules.rows.things import without_particles
from streams.extraction.rules.rows.values import Groups, account, being, values_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from streams.extraction.rules.rows.row import Language, Row
    from streams.extraction.rules.sentences import Sentence

_TASTES: Final = ("likes", "dislikes")
_LASTS: Final = ("city", "employer", "occupation", "relationship_status")


def keys_of(language: Language, clause: Clause, today: date) -> Iterator[Finding]:
    """Yield the keys of a clause. The first row that fills a key counts; later rows are for other clauses."""
    filled: set[str] = set()
    for row in language.keys:
        if row.key in filled or row.on == "asked" or not (groups := matched(language, row, clause)):
            continue
        found = [one for one in _filled(language, row, clause, groups) if one.attribute not in filled]
        for one in found:
            begun = since(clause.text, today) if one.attribute in _LASTS else None
            yield replace(one, since=begun) if begun else one
        filled.update(one.attribute for one in found if one.attribute)
        if row.stops:
            return


def keys_asked(language: Language, sentence: Sentence) -> Iterator[Finding]:
    """Yield the keys that the clauses of a sentence fill even if they are requests or claim nothing."""
    styles: list[str] = []
    for text in sentence.clauses:
        clause = Clause(text=text, core=text, subject="me", is_past=False)
        for row in language.keys:
            asked = row.pattern.match(text) if row.on == "asked" else None
            for one in _filled(language, row, clause, asked.groupdict()) if asked else ():
                if one.attribute == "communication_style":
                    styles.append(one.value or "")
                else:
                    yield one
    if styles:  # the slot holds one value, the newest
        mark = "，" if language.is_chinese else ", "
        yield profile("communication_style", mark.join(styles), is_chinese=language.is_chinese)


def matched(language: Language, row: Row, clause: Clause) -> Groups:
    """Return what the groups of a row match, here and in the clauses after it; {} if the row does not fit."""
    whom = {clause.subject, "own"} if clause.has_own_subject else {clause.subject}
    if row.who.isdisjoint(whom) or (clause.is_past and not row.past) or (row.hello and not clause.greets):
        return {}
    said = clause.text if row.on == "text" else clause.core
    found = row.pattern.match(without_particles(said) if language.is_chinese and not row.raw else said)
    if found is None or (row.unless and row.unless.search(clause.text)):
        return {}
    if row.then_not and any(map(row.then_not.match, clause.rest)):
        return {}
    if row.before and not any(map(row.before.search, clause.before[-1:])):
        return {}
    if row.then is None:
        return {"": found.group(), **found.groupdict()}
    rest = clause.rest[: row.reach]
    behind = map(row.then.match, map(without_particles, rest) if language.is_chinese else rest)
    after = next(filter(None, behind), None)
    return {"": found.group(), **found.groupdict(), **after.groupdict()} if after else {}


def _filled(language: Language, row: Row, clause: Clause, groups: Groups) -> list[Finding]:
    """Return the keys that a row fills; none if one of its words cannot be a value."""
    in_chinese = language.is_chinese
    if row.form in ("being", "account"):
        return (being if row.form == "being" else account)(groups, is_chinese=in_chinese)
    words = [(name.rstrip("0123456789"), said) for name, said in groups.items() if said]
    pairs = [(key, said) for key, said in words if key in KEYS]
    if row.value is not None or row.form == "day":
        pairs.append((row.key, (row.value or "-").format_map({name: said or "" for name, said in groups.items()})))
    found: list[Finding] = []
    for key, said in pairs:
        values = values_of(key, said, row, clause, is_chinese=in_chinese)
        if not values:
            return []
        told = (
            said if in_chinese and len(values) == 1 and key in _TASTES else ""
        )  # 喜欢喝茶: the verb stays with the thing
        found += [profile(key, value, told=told, is_chinese=in_chinese) for value in values]
    return found
