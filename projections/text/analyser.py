"""The analyser: it splits a text into tokens, for both search engines and for the rules that compare texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from projections.text.english import STOP_WORDS, stem
from schemas.text import nfkc

if TYPE_CHECKING:
    from collections.abc import Iterator

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_KANA = "\u3041-\u3096\u309d\u309e\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
_CJK = _HAN + _KANA + _HANGUL

# `\w` leaves out the marks that Indic, Thai, Arabic and Hebrew words are spelt with.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u0900-\u0903\u093a-\u094f\u0951-\u0957"
    "\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u09d7\u0a01-\u0a03\u0a3c-\u0a4d\u0a70\u0a71\u0a81-\u0a83\u0abc-\u0acd"
    "\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd\u0bd7\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6"
    "\u0d00-\u0d03\u0d3b-\u0d4d\u0d57\u0dca-\u0ddf\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"
    "\u102b-\u103e\u17b4-\u17d3"
)
_LETTER = rf"(?:[^\W_{_CJK}]|[{_MARKS}])"
_RUNS = re.compile(rf"(?P<cjk>[{_CJK}]+)|(?P<word>{_LETTER}+(?:'{_LETTER}+)*)")
_IS_HAN = re.compile(f"[{_HAN}]")
_APOSTROPHES = str.maketrans("\u2019\u2018\u02bc\u00b4`", "'''''")


def fold(text: str) -> str:
    """Return the text in NFKC and case folded, so that equivalent spellings become equal."""
    return nfkc(nfkc(text).casefold())


def tokens(text: str) -> tuple[str, ...]:
    """Return the tokens of a text in order, with repeats; none contains white space.

    A word is a run of letters and digits of any script. A possessive 's is dropped, other apostrophes are removed
    (`don't` becomes `dont`), and an English word loses its inflection (`painting`, `painted`, `paints` become
    `paint`). A run of Chinese, Japanese or Korean characters gives its overlapping bigrams; a single character gives
    itself. Each Han character is also a token, because a word is often a single character: 猫 finds 一只猫.
    """
    found: list[str] = []
    # Before folding, because NFKC turns an acute accent into a space and a mark; after it, because it splits ŉ.
    for run in _RUNS.finditer(fold(text.translate(_APOSTROPHES)).translate(_APOSTROPHES)):
        if run["cjk"]:
            found.extend(_characters(run["cjk"]))
        else:
            found.append(stem(run["word"].removesuffix("'s").replace("'", "")))
    return tuple(found)


class TokensOf(Sequence[str]):
    """The tokens of a text, computed when they are first read: a long text takes about 30 ms."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self._tokens())

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        return self._tokens()[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tokens())

    def _tokens(self) -> tuple[str, ...]:
        if self._found is None:
            self._found = tokens(self._text)
        return self._found


def terms(query: str) -> tuple[str, ...]:
    """Return the distinct tokens of a query in order, without stop words unless it has nothing else."""
    different = tuple(dict.fromkeys(tokens(query)))
    return tuple(token for token in different if token not in STOP_WORDS) or different


def _characters(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    grams: list[str] = []
    for i, character in enumerate(run):
        if _IS_HAN.match(character):
            grams.append(character)
        if i + 1 < len(run):
            grams.append(run[i : i + 2])
    return grams
