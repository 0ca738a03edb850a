"""Events: Luna's event types, with the feeling, the words and the day that a clause reports.

A sentence that does nothing but address the listener is an event too (我爱你, forgive me); 我爱你的歌 and 妈妈我爱你
are none. What somebody else said, suppositions and questions are left out; only a confession or an attempt to make up
may be a question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from projections.dates.cues import day_past
from streams.extraction.rules.feelings import STRONG, chinese_feeling, english_feeling
from streams.extraction.rules.finding import SHARED, Finding
from streams.extraction.rules.rows.english import apart

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from streams.extraction.rules.feelings import Feeling
    from streams.extraction.rules.rows.clauses import Clause
    from streams.extraction.rules.rows.row import Language
    from streams.extraction.rules.sentences import Sentence

_LONGEST: Final = 120


def confided(language: Language, sentence: Sentence, today: date) -> Iterator[Finding]:
    """Yield a whole Chinese sentence as an event, if the user says in it that nobody else knows this."""
    if language.is_chinese and not sentence.asks and any(map(language.cues["confides"].search, sentence.clauses)):
        yield _event(language, SHARED, sentence.clauses, today)


def events_of(language: Language, clause: Clause, today: date) -> Iterator[Finding]:
    """Yield at most one event that a clause reports, with the place and the feeling that the next clauses add."""
    cues, text = language.cues, clause.text
    if cues["no_event"].search(text) or (cues["confides"].search(text) and language.is_chinese):
        return
    row = next((one for one in language.events if one.on != "said" and one.pattern.match(text)), None)
    if row is not None and (row.past or not clause.is_past):
        is_date = cues["date"].search(text) is not None
        where = clause.rest[:1] if is_date and clause.rest and cues["where"].match(clause.rest[0]) else ()
        felt = clause.rest[len(where) : len(where) + 1]
        reaction = felt if felt and _feeling(language, felt[0]) and not cues["of_you"].search(felt[0]) else ()
        yield _event(language, row.key, (text, *where, *reaction), today)
    elif row is None and not clause.is_past and (feels := cues["feels"].match(text)):
        feeling = _feeling(language, feels["felt"])
        because = clause.rest[:1] if clause.rest and clause.rest[0].startswith("因为") else ()
        if feeling and (not language.is_chinese or feeling.intensity >= STRONG or because):
            yield _event(language, SHARED, (text, *because), today)


def addressed(language: Language, sentence: Sentence, today: date) -> Iterator[Finding]:
    """Yield at most one event: a sentence that addresses the listener, with all its words."""
    cues = language.cues
    clauses = sentence.clauses if language.is_chinese else tuple(map(apart, sentence.clauses))
    words = _joined(language, clauses)
    if len(words) > _LONGEST or cues["not_mine"].search(words):
        return
    told = [
        (row.key, said) for row in language.events if row.on == "said" for said in clauses if row.pattern.match(said)
    ]
    if any(map(cues["sorry"].search, clauses)):
        told = [("makeup", said) for said in clauses if cues["pardon"].match(said)] + told
    if told and not (sentence.asks and told[0][0] not in ("confession", "makeup")):
        yield _event(language, told[0][0], clauses, today, told[0][1])


def _event(language: Language, event: str, clauses: tuple[str, ...], today: date, dated: str | None = None) -> Finding:
    words = _joined(language, clauses)
    felt = _feeling(language, words)
    return Finding(
        content=words,
        kind="episodic",
        event_type=event,
        emotion=felt.emotion if felt else None,
        emotion_intensity=felt.intensity if felt else None,
        key_dialogue=(words,),
        occurred_on=day_past(words if dated is None else dated, today),
    )


def _joined(language: Language, clauses: tuple[str, ...]) -> str:
    return ("，" if language.is_chinese else ", ").join(clauses)


def _feeling(language: Language, text: str) -> Feeling | None:
    return chinese_feeling(text) if language.is_chinese else english_feeling(text)
