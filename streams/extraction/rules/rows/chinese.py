"""Chinese clauses: which of them leave out 我, and whom a clause without a subject speaks of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.rows.clauses import MOST_BESIDE, Clause, Subject, is_blocked, names_another, said_whole
from streams.extraction.rules.rows.row import CHINESE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.sentences import Sentence

_CUES: Final = CHINESE.cues
_OWN: Final = re.compile(r"我|咱|俺|本人")
_NO_HEIR: Final = re.compile(r"[你您谁这那大咱]")
_SHORT: Final = 5
"""The most characters of a word that precedes the clause: 哈哈, 本人女."""


def claims(sentence: Sentence) -> Iterator[Clause]:
    """Yield the clauses in which the user claims something, without questions, suppositions, hearsay and doubts.

    A clause without a subject has the subject of the clause before it; another person stays the subject even in the
    next sentence. After a supposition or reported speech, the rest of the sentence is no claim; a sentence that calls
    itself a joke has none.
    """
    if any(is_blocked(CHINESE, "sentence", said) for said in sentence.clauses):
        return
    heir = _heir(sentence.after)
    is_mine = is_asked = False
    parts = [part for said in sentence.clauses for part in _CUES["join"].split(said) if part]
    for place, said in enumerate(parts):
        text = _CUES["as_I"].sub("我", _CUES["remember"].sub("", _plain(said)))
        if is_blocked(CHINESE, "rest", text):
            return
        before = (*sentence.after, *parts[:place])
        subject = _subject(text, heir)
        # 剧里女主单身，住在纽约: what continues a clause about somebody else, or a request, is not about the user.
        goes_on = not is_asked and (not place or is_mine or len(parts[place - 1]) <= _SHORT)
        if goes_on and subject in ("me", "none") and not _OWN.search(text) and not _tells_nothing(text, before):
            whole = said_whole(CHINESE, text)
            subject, text = "me" if whole != text else subject, whole
        if is_asked and subject == "none":  # 起个店名，卖手工饺子的: it describes the request
            subject = "other"
        is_mine = subject == "me"
        is_asked = is_asked or is_blocked(CHINESE, "request", text)
        # 我知道他喜欢旅游，喜欢画画: what follows without a subject may be about him.
        heir = "other" if subject in ("me", "none") and _introduces(text) else subject
        asks = sentence.asks and place == len(parts) - 1
        if asks or any(is_blocked(CHINESE, scope, text) for scope in ("clause", "request")):
            continue
        adverbs = _CUES["adverbs"].match(text)
        cut = adverbs.end() if adverbs else 0
        yield Clause(
            text=text,
            core=text[cut:],
            subject=subject,
            is_past=_CUES["past"].search(text) is not None,
            rest=tuple(parts[place + 1 : place + 1 + MOST_BESIDE]),
            greets=any(map(_CUES["hello"].match, before[-1:])),
            has_own_subject=_OWN.search(text[:cut]) is not None and (not place or _OWN.search(said) is not None),
            before=before,
        )


def _plain(said: str) -> str:
    return _CUES["filler"].sub("", said)


def _tells_nothing(text: str, before: tuple[str, ...]) -> bool:
    return names_another(CHINESE, before) or _CUES["no_life"].search(text) is not None


def _introduces(text: str) -> bool:
    """Return whether a clause introduces somebody whom the next one, if it has no subject, may be about."""
    return _CUES["they_are"].match(text) is not None or any(_CUES[cue].search(text) for cue in ("somebody", "has"))


def _heir(before: tuple[str, ...]) -> Subject:
    """Return the subject that a sentence inherits: 我儿子三岁了。喜欢恐龙 is about the son."""
    heir: Subject = "none"
    for said in before:
        text = _plain(said)
        # The listener or a thing is no subject of the next sentence (你真好。这个不错。那当然。).
        if not _NO_HEIR.match(text):
            heir = _subject(text, heir)
    return heir if heir == "other" else "none"


def _subject(text: str, heir: Subject) -> Subject:
    if _CUES["me"].match(text):
        return "me"
    if _CUES["we"].match(text):
        return "we"
    return "other" if _CUES["other"].match(text) else heir
