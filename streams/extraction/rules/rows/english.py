"""English clauses: contractions are written out, and what a clause leaves out is added."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.rows.clauses import MOST_BESIDE, Clause, Subject, is_blocked, names_another, said_whole
from streams.extraction.rules.rows.row import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.sentences import Sentence

_CUES: Final = ENGLISH.cues
_ENDS: Final = (("m", "am"), ("re", "are"), ("ve", "have"), ("ll", "will"), ("d", "would"))
_APART: Final = (
    (re.compile(r"\bcan't\b|\bcannot\b|\bcant\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"\b(do|does|did|is|are|was|were|have|has|had|could|would|should)n'?t\b", re.IGNORECASE), r"\1 not"),
    (re.compile(r"\bim\b|\bI'm\b", re.IGNORECASE), "I am"),
    (re.compile(r"\bive\b", re.IGNORECASE), "I have"),
    *(
        (re.compile(rf"\b(I|you|s?he|it|we|they|that|who)'{end}\b", re.IGNORECASE), rf"\1 {full}")
        for end, full in _ENDS
    ),
    (re.compile(r"\bgonna\b", re.IGNORECASE), "going to"),
    (re.compile(r"\bwanna\b", re.IGNORECASE), "want to"),
    (re.compile(r"\b[Mm]e and (my [\w-]+|[A-Z]\w+) (?=(?:broke|split|have|are|got|moved)\b)"), r"\1 and I "),
)
_INNER: Final = re.compile(
    r"^(?P<verb>am|are|have been|have|got|was|can|will)(?: (?:now|currently|just|recently|finally|newly|happily|still"
    r"|already|actually|also|officially|really|very|quite|pretty|rather|fairly|super|so|totally|a bit(?! of)|a little"
    r"|kind of|incredibly|naturally))+(?= (?!much\b|many\b|bit\b))"
)
"""Adverbs after an auxiliary verb."""
_WORD: Final = 8
"""The most characters of a word that precedes the clause: `32, living in Cork`."""


def apart(text: str) -> str:
    """Return a text with contractions written out: `I'm` becomes `I am`."""
    for pattern, full in _APART:
        text = pattern.sub(full, text)
    return text


def claims(sentence: Sentence) -> Iterator[Clause]:
    """Yield the clauses that claim something, without questions, suppositions, hearsay and requests.

    A clause that begins with a verb has the subject of the clause before it. After a supposition or reported speech,
    the rest of the sentence is no claim of the user's.
    """
    parts = parts_of(sentence)
    greets = any(map(_CUES["hello"].match, parts))
    subject: Subject = "other"
    is_shared = False
    for place, said in enumerate(parts):
        text = _plain(said)
        if is_blocked(ENGLISH, "rest", text):
            return
        before = (*map(apart, sentence.after), *parts[:place])
        when = _CUES["when"].match(text)
        body = text[when.end() :] if when else text
        if m := _CUES["I"].match(body):
            subject = "me"
        elif m := _CUES["we"].match(body):
            subject = "we"
        elif subject == "other" or is_shared or (m := _CUES["again"].match(body)) is None:
            m = _CUES["news"].match(body)
            goes_on = not place or (subject == "me" and not is_shared) or len(parts[place - 1]) <= _WORD
            if m is None and not when and goes_on and not _is_of_somebody((*before, text)):
                text = body = _whole(text)
                m = _CUES["I"].match(body)
            subject = "me" if m else "other"
        # "I love how you use it and teach": the subject of the next verb is not certain.
        is_shared = _CUES["somebody"].search(text) is not None
        asks = is_blocked(ENGLISH, "clause", text) and not when
        if asks or is_blocked(ENGLISH, "nearly", text) or (sentence.asks and place == len(parts) - 1):
            continue
        if (subject == "other" and is_blocked(ENGLISH, "request", text)) or (
            when and is_blocked(ENGLISH, "fiction", when["when"].strip())
        ):
            continue
        yield Clause(
            text=text,
            core=_INNER.sub(r"\g<verb>", body[m.end() :] if m else body),
            subject=subject,
            is_past=_CUES["past"].search(text) is not None,
            rest=tuple(map(apart, parts[place + 1 : place + 1 + MOST_BESIDE])),
            greets=greets,
            before=before,
        )


def _whole(text: str) -> str:
    low = text[:1].lower() + text[1:]
    whole = said_whole(ENGLISH, low)
    return text if whole == low else whole


def _plain(said: str) -> str:
    """Return a clause without words that only connect or greet."""
    return _CUES["trailer"].sub("", _CUES["remember"].sub("", _CUES["filler"].sub("", said)))


def parts_of(sentence: Sentence) -> list[str]:
    """Return the clauses of a sentence, cut where a new subject or a new verb begins; none if it is sarcastic."""
    parts = [
        part.strip()
        for said in sentence.clauses
        for part in _CUES["join"].split(_CUES["polite"].sub("", apart(said.lower() if said.isupper() else said)))
        if part and part.strip()
    ]
    if any(is_blocked(ENGLISH, "sentence", part) for part in parts):
        return []
    joined: list[str] = []
    for part in parts:  # "my dad and I do not speak": the verb has both as its subject
        if joined and _CUES["company"].match(joined[-1]) and part[:2].lower() == "i ":
            joined[-1] = f"{joined[-1]} and {part}"
        else:
            joined.append(part)
    return joined


def _is_of_somebody(texts: tuple[str, ...]) -> bool:
    return any(map(_CUES["somebody"].search, texts)) or names_another(ENGLISH, texts[:-1])
