"""Sentences and their clauses, without quotations, and the language of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from projections.text.scripts import HAN
from streams.extraction.rules.cues import cues_beside
from streams.extraction.rules.mixed import Language, is_mixed, runs

if TYPE_CHECKING:
    from collections.abc import Iterator

_CUES: Final = cues_beside(__file__)
_KANA = re.compile(r"[぀-ヿ가-힯]")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED = re.compile(r"“[^”]*”|「[^」]*」|『[^』]*』|\"[^\"\n]*\"|‘[^’]*’|(?<!\w)'[^'\n]*'(?!\w)|(?m:^\s*>.*$)")
# A full stop ends a sentence only before white space and not after an initial or a title ("St. Mary's", "J. Smith").
_SENTENCE = re.compile(
    r"[^。！？!?\n…～~]+?(?:[。！？!?…～~]+|\n+|"
    r"(?<!\bSt)(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\b[A-Z])\.{1,40}(?=\s|$)|$)"
)
_COMMA = re.compile(r"[，；：;]|,(?!\d{3}\b)|:(?=\s|$)|\s[-–—]+\s|——|\((?=\S)|\)|[（）]")
_SPACES = re.compile(r"\s+")

LONGEST_CLAUSE: Final = 200
"""The most characters of a clause. Nobody speaks of themselves for longer without punctuation."""

MOST_AFTER: Final = 6
"""The most clauses before a sentence that its words may refer to."""
_MOST_CLAUSES: Final = 40
"""The most clauses of a sentence. A longer one is read as several, because each rule looks at each clause."""
_MOST_BEFORE: Final = 6
"""The most clauses before a sentence that are kept with it, to find out whom it speaks of."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: its clauses in order, without the punctuation between them."""

    language: Language
    clauses: tuple[str, ...]
    asks: bool
    """Whether it ends with a question mark."""
    quotes: bool = False
    """Whether it contains a quotation or reported speech, so that it is not known whose words these are."""
    after: tuple[str, ...] = ()
    """The last clauses before it."""


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text in order. Japanese and Korean sentences are skipped."""
    # It is not known whose words follow `told`: "Bob said: I live in Oslo", 小明说：我住在北京, "Translate: …" and the
    # line below it.
    plain = _CUES["told"].sub(" \x00 ", _QUOTED.sub(" \x00 ", _CODE.sub("\n", text.replace("’", "'"))))
    before: tuple[str, ...] = ()
    for match in _SENTENCE.finditer(plain):
        raw = match.group()
        if _KANA.search(raw) or not raw.strip():
            continue
        clauses = tuple(
            clean
            for part in _COMMA.split(raw)
            if (clean := _SPACES.sub(" ", part.strip(" \t\r\n。！？!?….～~"))) and len(clean) <= LONGEST_CLAUSE
        )
        quotes = "\x00" in raw
        asks = raw.rstrip().endswith(("?", "？"))
        spoken: list[tuple[Language, tuple[str, ...]]] = [("zh" if HAN.search(raw) else "en", clauses)]
        if not quotes and is_mixed(raw):
            spoken = runs(clauses)
        for number, (language, said) in enumerate(spoken):
            asked = asks and number == len(spoken) - 1
            for first in range(0, len(said), _MOST_CLAUSES):
                part = said[first : first + _MOST_CLAUSES]
                yield Sentence(language, part, asks=asked, quotes=quotes, after=before)
                before = (before + part)[-_MOST_BEFORE:]
