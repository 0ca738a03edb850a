"""Judgement: whether a model's entry surely stems from the lines that it cites, in any language.

The built-in encoder and its heads measure how near two texts are and what a sentence states; numbers, names and
negation are compared as they are written. An entry whose lines state nothing that lasts is dropped. A doubtful entry is
kept, unconfirmed and with less importance, until it is met again: a good model may conclude what no line says in these
words.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from unicode_rbnf import RbnfEngine

from projections.text.scripts import is_read, script_of
from streams.extraction.model.wording import is_english, letters, terms
from streams.extraction.rules.cues import cues_beside

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from projections.embedding.embedder import Vectors
    from projections.embedding.heads import Heads
    from streams.extraction.protocol import Extraction, Piece, Proposal, Window

_CUES: Final = cues_beside(__file__)
_SENTENCES: Final = re.compile(r"[^。！？!?；;\n.]+(?:\.(?=\w)[^。！？!?；;\n.]+){0,50}[。！？!?；;.]{0,3}")
_QUOTED: Final = re.compile(
    r"«[^»]{8,2000}»|“[^”]{8,2000}”|\"[^\"]{8,2000}\"|「[^」]{4,2000}」|『[^』]{4,2000}』|(?<!\w)'[^']{8,2000}'"
)
"""A quotation: the line shows it, and its speaker does not say it."""
_CLAUSES: Final = re.compile(r"[,，;；:：]")
_NAME: Final = re.compile(r"(?<=[\w,;:] )[A-Z][\w'’-]{2,40}")
"""A capitalised word inside a sentence."""
_MONTH: Final = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b", re.IGNORECASE
)
_WEEKDAY: Final = re.compile(r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?")
_DATE: Final = re.compile(
    rf"\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH.pattern}(?:,? \d{{4}})?|{_MONTH.pattern} \d{{1,2}}(?:,? \d{{4}})?"
    r"|\d{4}-\d\d(?:-\d\d)?|(?:\d{4}年)?\d{1,2}月\d{1,2}[日号]",
    re.IGNORECASE,
)
"""A day or month. A model or our own rules may have computed it, so its numbers need not stand in a line."""

NEAR: Final = 0.15
"""The least cosine of an entry and a line that it stems from. Good answers have 0.14 to 0.77, most bad ones less."""
OWN: Final = 0.5
"""The least score for `own` of a sentence that fills a slot of its speaker."""
LASTING: Final = 0.3
"""The least score for `lasting` of a sentence that supports an entry without doubt."""
NOTHING: Final = 0.1
"""A line states nothing if all its sentences score less than this for `kept`."""
DOUBTED: Final = 0.5
"""The factor by which an unconfirmed entry loses importance."""
OF_ANOTHER: Final = "its line does not say so of the speaker"
SHORT: Final = 40
"""The most characters of an answer that says little without its question."""

_LANGUAGES: Final = {
    "LATIN": (
        *("en", "de", "fr", "es", "pt", "it", "nl", "pl", "tr", "vi", "fi", "sw"),
        *("sv", "da", "no", "cs", "hu", "ro", "hr", "id"),
    ),
    "CYRILLIC": ("ru", "uk", "bg"),
    "THAI": ("th",),
    "HANGUL": ("ko",),
    "ARABIC": ("ar",),
    "CJK": ("zh", "ja"),
    "HEBREW": ("he",),
    "GREEK": ("el",),
    "DEVANAGARI": ("hi",),
}
"""The languages in which a number may be spelt out, by the script of its line."""
LARGEST_SPELT: Final = 9_999


@dataclass(frozen=True, slots=True)
class _Line:
    """A cited line with its sentences: the user's, or one of the assistant's that the user confirmed."""

    piece: Piece
    texts: tuple[str, ...]
    asked: bool = False
    """Whether it is a short answer to the assistant; its texts then end with the question and the answer."""


async def judged(
    window: Window,
    extraction: Extraction,
    embed: Callable[[Sequence[str]], Awaitable[Vectors]],
    heads: Heads,
) -> Extraction:
    """Return a conversation's extraction without the entries that lack evidence, and with doubtful ones unconfirmed.

    `embed` is the built-in encoder's. `dropped` has the reason for each of them. Raises EmbedderUnavailable.
    """
    if window.source_type != "chat" or not extraction.proposals:
        return extraction
    lines = [_lines(window, proposal) for proposal in extraction.proposals]
    texts = [
        text
        for proposal, cited in zip(extraction.proposals, lines, strict=True)
        for text in (proposal.content, *(text for line in cited for text in line.texts))
    ]
    distinct = list(dict.fromkeys(texts))
    vectors = dict(zip(distinct, await embed(distinct), strict=True))
    kept: list[Proposal] = []
    notes = list(extraction.dropped)
    for number, (proposal, cited) in enumerate(zip(extraction.proposals, lines, strict=True), 1):
        evidence = _Evidence(window, proposal, cited, vectors, heads)
        if evidence.states_nothing:
            notes.append(f"memory {number}: its lines state nothing that lasts")
        elif doubt := next(evidence.doubts(), None):
            unsure = doubted(proposal)
            kept.append(replace(unsure, attribute=None, value=None, becomes=None) if doubt == OF_ANOTHER else unsure)
            notes.append(f"memory {number} is not confirmed: {doubt}")
        else:
            kept.append(proposal)
    return replace(extraction, proposals=tuple(kept), dropped=tuple(notes))


def doubted(proposal: Proposal) -> Proposal:
    """Return an entry as unconfirmed, with half its importance; one that is unconfirmed already stays as it is."""
    if not proposal.confirmed:
        return proposal
    return replace(proposal, confirmed=False, importance=proposal.importance * DOUBTED)


def denies(text: str) -> bool:
    """Return whether a text has a word of negation."""
    return _CUES["no"].search(text) is not None


def confirms(answer: str) -> bool:
    """Return whether an answer begins with a yes, and the rest of its first SHORT characters denies nothing."""
    rest = answer[:SHORT]
    while yes := _CUES["yes"].match(rest):
        rest = rest[yes.end() :]
    return len(rest) < len(answer[:SHORT]) and not denies(rest)


def _lines(window: Window, proposal: Proposal) -> list[_Line]:
    """Return the cited lines that an entry may stem from: the user's, and the assistant's that the user confirmed.

    A short answer of the user's comes with the assistant's question before it.
    """
    found = []
    for index in proposal.sources:
        piece = window.pieces[index]
        before = window.pieces[index - 1] if index else None
        if piece.speaker == "user":
            texts = _sentences(piece.text)
            asked = before is not None and before.speaker == "assistant" and len(piece.text) <= SHORT
            if asked and before is not None:
                texts = (*texts, f"{_last_sentence(before.text)} {piece.text}")
            found.append(_Line(piece, texts, asked))
        elif index + 1 < len(window.pieces):
            answer = window.pieces[index + 1]
            is_cited = index + 1 in proposal.sources and len(answer.text) <= SHORT and not denies(answer.text)
            if answer.speaker == "user" and (is_cited or confirms(answer.text)):
                found.append(_Line(piece, _sentences(piece.text)))
    return found


def _sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a line and the whole line, without quotations; a line that is all quoted stays whole."""
    own = _QUOTED.sub(" ", text)
    said = own if any(map(str.isalnum, own)) else text
    parts = tuple(part.strip() for part in _SENTENCES.findall(said) if part.strip())
    return parts if len(parts) == 1 else (*parts, said)


def _last_sentence(text: str) -> str:
    sentences: list[str] = [part.strip() for part in _SENTENCES.findall(text) if part.strip()]
    return sentences[-1] if sentences else text


class _Evidence:
    """The evidence for one entry."""

    def __init__(
        self,
        window: Window,
        proposal: Proposal,
        lines: list[_Line],
        vectors: dict[str, Vectors],
        heads: Heads,
    ) -> None:
        self._proposal = proposal
        self._lines = lines
        self._cited = " \n".join(line.piece.text for line in lines)
        self._window = " \n".join(f"{piece.name or ''} {piece.text}" for piece in window.pieces)
        self._days = "".join(f" {piece.occurred_at:%Y}" for piece in window.pieces)
        self._texts = [text for line in lines for text in line.texts]
        asked = [line.piece.text for line in lines if line.asked]
        self._is_answer = bool(asked) or any(line.piece.speaker == "assistant" for line in lines)
        self._answers = asked
        if self._texts:
            said = np.stack([vectors[text] for text in self._texts])
            self._near = said @ vectors[proposal.content]
            self._lasting = heads.scores("lasting", said)
            self._kept = heads.scores("kept", said)
            self._own = heads.scores("own", said)

    @property
    def states_nothing(self) -> bool:
        """Whether the entry has no lines, or only lines that the encoder reads and that state nothing."""
        if not self._texts:
            return True
        return not self._is_answer and is_read(self._cited) and float(self._kept.max()) < NOTHING

    def doubts(self) -> Iterator[str]:
        """Yield the reasons why the entry may not stem from its lines."""
        content = self._proposal.content
        if self._has_unsaid_number(content):
            yield "a number in it stands in no line"
        if self._has_unsaid_name(content):
            yield "a name in it stands in no line"
        if not is_read(self._cited):
            if not self._shares_a_word(content):
                yield "its language is not read, and it shares no name or number with its lines"
            return
        nearest = int(self._near.argmax())
        clause = _clause(self._texts[nearest], content)
        denied = denies(clause) or any(denies(_CLAUSES.split(answer)[0]) for answer in self._answers)
        if denied and not (denies(content) or _CUES["denies_by_itself"].search(content)):
            yield "its line denies it"
        if float(self._near[nearest]) < NEAR and not self._shares_a_word(content):
            yield "it is not near what its lines say"
        if self._is_answer:
            return
        if float(self._lasting[nearest]) < LASTING:
            yield "its line states nothing that lasts"
        is_of_user = not self._proposal.about and not self._proposal.speaker
        fills = self._proposal.attribute or self._proposal.becomes
        if fills and is_of_user and float(self._own[nearest]) < OWN:
            yield OF_ANOTHER

    def _has_unsaid_number(self, content: str) -> bool:
        said = _numbers(f"{self._window} {self._days}")
        unsaid = _numbers(_DATE.sub(" ", content)) - said
        script, spelt = script_of(self._cited), letters(self._cited)
        return any(not any(word in spelt for word in _spellings(number, script)) for number in unsaid)

    def _has_unsaid_name(self, content: str) -> bool:
        """Return whether a name in the entry stands nowhere in the window; names in another script are not compared."""
        script = script_of(self._cited)
        said = _plain(self._window)
        name = _CUES["german_name"] if _is_german(content) else _NAME
        no_name = [_MONTH, *(() if is_english(self._cited) else (_WEEKDAY,))]
        written = name.findall(content) if script == "LATIN" else []
        names = [one for one in written if not any(word.fullmatch(one) for word in no_name)]
        value = self._proposal.value or ""
        if self._proposal.attribute in _OF_NAMES and script_of(value) == script:
            names.append(value)
        return any(_plain(name)[:_STEM] not in said for name in names)

    def _shares_a_word(self, content: str) -> bool:
        """Return whether a name or number of the entry stands in its lines."""
        said = _plain(" ".join(self._texts))
        words = [*_NAME.findall(content), self._proposal.value or ""]
        return any(len(letters(word)) > 1 and _plain(word) in said for word in words) or bool(
            _numbers(content) & _numbers(" ".join(self._texts))
        )


_STEM: Final = 4
"""How many first letters of a name its cases and spellings share."""
_OF_NAMES: Final = frozenset({"user_name", "city", "employer", "pet_names", "family", "friends"})


def _plain(text: str) -> str:
    """Return the letters and digits of a text without diacritics."""
    return letters("".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))).replace(
        "đ", "d"
    )


def _is_german(text: str) -> bool:
    return _CUES["german"].search(text) is not None and not is_english(text)


def _numbers(text: str) -> set[str]:
    """Return the numbers of a text, in digits; those in Chinese numerals too."""
    return {term for term in terms(unicodedata.normalize("NFKC", text)) if term.isdecimal()}


@lru_cache(maxsize=1024)
def _spellings(number: str, script: str) -> tuple[str, ...]:
    """Return a number spelt out in each language of a script, letters only; none for one above LARGEST_SPELT."""
    if int(number) > LARGEST_SPELT:
        return ()
    engines = map(RbnfEngine.for_language, _LANGUAGES.get(script, ()))
    words = (word for engine in engines for word in engine.format_number(int(number)).text_by_ruleset.values())
    return tuple(dict.fromkeys(filter(None, map(letters, words))))


def _clause(text: str, content: str) -> str:
    """Return the clause of a sentence that shares the most terms with an entry; a sentence of one clause as it is."""
    clauses = [clause for clause in _CLAUSES.split(text) if clause.strip()]
    wanted = terms(content)
    return max(clauses, key=lambda clause: len(terms(clause) & wanted)) if len(clauses) > 1 else text
