"""English statements about events: Luna's event types, with the feeling and the day that the words name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.dates.cues import day_past
from streams.extraction.rules.english.clauses import apart
from streams.extraction.rules.feelings import english_feeling
from streams.extraction.rules.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from streams.extraction.rules.english.clauses import Clause
    from streams.extraction.rules.sentences import Sentence

_US: Final = r"(?:(?:i|we|(?:he|she|my [\w-]+|[A-Z]\w+) and i)(?: (?:just|finally|also|had|have|actually)){0,8})"
_SOMEBODY: Final = r"(?:my [\w-]+(?: [\w-]+)?|he|she|[A-Z]\w+)"
_NO_GIFT: Final = (
    r"(?!(?:an? |the |some |his |her |my )?(?:[\w-]+ )?(?:advice|call|ride|lift|idea|look|hug|hard time|chance|break"
    r"|reason|email|text|message|link|headache|job|number|time|permission|answer|hint|tip|feedback|list|heads)\b)"
)
_FIGHT: Final = (
    rf"{_US} (?:had an?(?: \w+)? (?:fight|argument|row|quarrel)|got into an?(?: \w+)? (?:fight|argument)"
    r"|fought|argued|quarrel+ed)\b(?! (?:for|against|that)\b)"
)
_CONFESSION: Final = (
    rf"{_US} confessed (?:to|my (?:love|feelings))\b"
    rf"|{_SOMEBODY} confessed (?:to me|(?:his|her) (?:love|feelings))\b"
)
_MILESTONE: Final = (
    rf"{_US} (?:graduated|got (?:promoted|engaged|my (?:driver's |driving )?licen[sc]e|my degree|into [A-Z]\w+)"
    r"|passed my [\w' -]{3,30}(?:test|exam|exams|finals|defen[sc]e)|(?:ran|finished|published|won) my first\b.{3,}"
    r"|bought (?:my|our) first (?:house|home|car|apartment|flat)|had a baby)\b"
)
_GIFT: Final = (
    rf"{_SOMEBODY} (?:just )?(?:gave|bought|sent) me {_NO_GIFT}(?:an?|the|some|this|two|three|flowers|tickets)\b"
    rf"|{_US} (?:gave|bought|sent) (?:my [\w-]+|her|him|[A-Z]\w+) {_NO_GIFT}(?:an?|some|two|flowers|tickets)\b"
    rf"|{_US} (?:got|received) (?:an?|some) .{{3,40}} from (?:my|[A-Z])[\w -]+ (?:for|as)\b"
)
_EVENTS: Final = (
    ("fight", _FIGHT),
    ("makeup", rf"{_US} (?:made up(?! my)|reconciled|(?:are|got) back together)\b"),
    ("breakup", rf"(?:{_US}|{_SOMEBODY}) (?:broke up|split up)\b"),
    ("confession", _CONFESSION),
    ("first_kiss", rf"{_US} .*(?:\bkissed for the first time\b|\bfirst kiss\b)"),
    ("milestone", rf"{_US} (?:went on|had) (?:our|my|a) (?:very )?first date\b"),
    ("milestone", _MILESTONE),
    ("gift", _GIFT),
    (
        "date",
        rf"{_US} (?:(?:went on|had) (?:a|another|our)(?: \w+)?|went to [\w' -]{{3,40}} (?:for|on) (?:a|our)) date\b",
    ),
    ("anniversary", rf"(?:today|yesterday) (?:is|was) our\b.*anniversary\b|{_US} celebrated our\b.*anniversary\b"),
    ("personal_share", r"i have never told (?:anyone|anybody)\b"),
)
_TIME: Final = r"(?:(?:yesterday|today|last \w+|this \w+) )?"
_HAPPENED: Final = tuple((event, re.compile(rf"^{_TIME}(?:{said})", re.IGNORECASE)) for event, said in _EVENTS)
_NOT = re.compile(
    r"\b(?:not|never(?! told)|will|going to|want|wanted|hope|almost|nearly|always|often|usually|every|dream|"
    r"used to|planning|need|should|tomorrow|next)\b",
    re.IGNORECASE,
)
_WHERE = re.compile(r"^(?:in|at|by|on|near) (?:the |an? |our |my )?[\w' -]{2,40}$", re.IGNORECASE)
_FEELS = re.compile(
    r"^(?:today )?i (?:am|feel|am feeling) (?P<felt>(?:so|really|very|extremely|incredibly|deeply|super) \w+)"
    r" (?:because|that|about) (?!you\b).{3,}$",
    re.IGNORECASE,
)


def confided(sentence: Sentence, today: date) -> Iterator[Finding]:
    """Yield a strong feeling with what it is about."""
    for said in () if sentence.asks else map(apart, sentence.clauses):
        if (m := _FEELS.match(said)) and not _NOT.search(said) and english_feeling(m["felt"]):
            yield _event_finding("personal_share", said, today)


def events(clause: Clause, today: date) -> Iterator[Finding]:
    """Yield at most one event that a clause tells of. `today` is the day on which it was said."""
    said = f"{clause.when} {clause.text}" if clause.when and not clause.text.startswith(clause.when) else clause.text
    event = None if _NOT.search(said) else next((e for e, happened in _HAPPENED if happened.match(said)), None)
    if event is not None and (not clause.past or event == "anniversary"):
        where = clause.rest[:1] if " date" in said and clause.rest and _WHERE.match(clause.rest[0]) else ()
        left = clause.rest[len(where) :]
        reaction = next((part for part in left[:1] if english_feeling(part) and "you" not in part), None)
        yield _event_finding(event, ", ".join((clause.text, *where)), today, reaction)


def _event_finding(event: str, said: str, today: date, reaction: str | None = None) -> Finding:
    words = f"{said}, {reaction}" if reaction else said
    felt = english_feeling(words)
    return Finding(
        content=_of_the_user(words),
        kind="episodic",
        event_type=event,
        emotion=felt.emotion if felt else None,
        emotion_intensity=felt.intensity if felt else None,
        key_dialogue=(words,),
        occurred_on=day_past(said, today),
    )


def _of_the_user(words: str) -> str:
    """Say it of the user: `I gave my mom a scarf` is `User gave their mom a scarf`."""
    text = re.sub(r"\bI am\b", "I is", words)
    text = re.sub(r"\bI have\b", "I has", text)
    text = re.sub(r"^(?:I|we|We)\b", "User", re.sub(r"^(?:My|Our|my|our)\b", "User's", text))
    text = re.sub(r"\b(?:my|our)\b", "their" if text.startswith("User") else "user's", text)
    return re.sub(r"\b(?:I|we|me|us)\b", "user", text)
