"""JSON as models write it: the position of the document in an answer, and small errors of syntax.

A document may follow thoughts, be surrounded by prose or a fence, or precede end marks. The reader also accepts
numbers, words and quotation marks that JSON lacks, comments, and extra or missing commas. Its time is linear in the
length of the text.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DEEPEST: Final = 64
_TRIES: Final = 4
"""How many times its own length a text with unbalanced brackets is read at most."""
_STRICT: Final = json.JSONDecoder(strict=False)
_BRACKET: Final = re.compile(r"[{\[]")
_BETWEEN: Final = re.compile(r"(?:[\s,;\ufeff]|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_WORD: Final = re.compile(r"[^\s,:;{}\[\]\"'“”‘’`/]+")
_STRINGS: Final = {
    opening: re.compile(rf"([^\\{closing}]*(?:\\.[^\\{closing}]*)*){closing}", re.DOTALL)
    for opening, closing in (('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("`", "`"))
}
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}
_WORDS: Final = {"true": True, "false": False, "null": None, "none": None, "undefined": None}
_ABOUT_THOUGHT: Final = r"(?:think|thought|reason|reflect|analys|scratch)"
_THOUGHT_ENDS: Final = re.compile(
    rf"(?:</|\[/|<\|/|[◁＜]/|<\|end_of_|<\|end_)(?:\w{{1,12}}:)?{_ABOUT_THOUGHT}\w{{0,12}}\|?[>\]▷＞]"
    r"|<\|channel\|>final[^<]{0,40}<\|message\|>|<channel\|>|<unused95>",
    re.IGNORECASE,
)
_THOUGHT_BEGINS: Final = re.compile(
    rf"(?:<\|start\|>assistant)?(?:[<\[◁＜]\|?(?:begin_of_)?(?:\w{{1,12}}:)?{_ABOUT_THOUGHT}\w{{0,12}}\|?[>\]▷＞]"
    r"|<\|channel\|>(?:analysis|commentary)|<\|channel>|<unused94>)",
    re.IGNORECASE,
)


class Found(NamedTuple):
    """A complete document and its end; `is_apart` means that no incomplete document precedes it."""

    document: object
    end: int
    is_apart: bool


def find_documents(text: str, fits: Callable[[Found], bool], *, cut_off: bool = False) -> list[Found]:
    """Return the documents of an answer that fit, in order.

    They are those after the thoughts. From an answer that is only thoughts it is the last one, unless the thoughts were
    `cut_off` after it.
    """
    try:
        whole = Found(_STRICT.decode(text.strip("\ufeff \n\r\t")), len(text), is_apart=True)
    except (ValueError, RecursionError):
        pass
    else:
        return [whole] if fits(whole) else []
    marks = [mark.end() for mark in _THOUGHT_ENDS.finditer(text)]
    is_thought = not marks and _THOUGHT_BEGINS.match(text.lstrip()) is not None
    behind = marks[-1] if marks else 0
    if not is_thought and (said := list(filter(fits, _documents(text, behind)))):
        return said
    last = list(filter(fits, _documents(text)))[-1:] if marks or is_thought else []
    if not last or last[0].end > behind > 0:  # the mark is inside one of its texts
        return last
    is_all = not text[behind:].strip() if marks else not cut_off or not text[last[0].end :].strip()
    return last if is_all else []


def without_thoughts(text: str) -> str:
    """Return the part of a text after the last mark that ends thoughts."""
    ends = [mark.end() for mark in _THOUGHT_ENDS.finditer(text)]
    return text[ends[-1] :].lstrip() if ends else text


def _documents(text: str, place: int = 0) -> Iterator[Found]:
    budget = _TRIES * len(text)
    is_apart = True
    while budget > 0 and (bracket := _BRACKET.search(text, place)):
        reader = _Reader(text, bracket.start())
        try:
            document = reader.value(_DEEPEST)
        except ValueError:
            is_apart = False
            budget -= reader.place - bracket.start()
            place = bracket.start() + 1
        else:
            place = reader.place
            yield Found(document, place, is_apart)


class _Reader:
    """A reader of one value; `place` is the end of the value, or the position of an error."""

    def __init__(self, text: str, place: int) -> None:
        self._text, self.place = text, place

    def value(self, depth: int) -> object:
        """Return the value that begins here. Raises ValueError."""
        if not depth:
            raise ValueError("too deep")
        match self._text[self.place : self.place + 1]:
            case "{":
                return self._members(depth - 1)
            case "[":
                return self._items(depth - 1)
            case quote if quote in _STRINGS:
                return self._string(quote)
            case _:
                return _meant(self._word())

    def _members(self, depth: int) -> dict[str, object]:
        members: dict[str, object] = {}
        self.place += 1
        while not self._closes("}"):
            quote = self._text[self.place : self.place + 1]
            name = self._string(quote) if quote in _STRINGS else self._word()
            self._pass_over()
            if self._text[self.place : self.place + 1] != ":":
                raise ValueError("no colon")
            self.place += 1
            self._pass_over()
            members[name] = self.value(depth)
        return members

    def _items(self, depth: int) -> list[object]:
        items: list[object] = []
        self.place += 1
        while not self._closes("]"):
            items.append(self.value(depth))
        return items

    def _closes(self, bracket: str) -> bool:
        self._pass_over()
        if self._text[self.place : self.place + 1] != bracket:
            return False
        self.place += 1
        return True

    def _pass_over(self) -> None:
        if between := _BETWEEN.match(self._text, self.place):
            self.place = between.end()

    def _string(self, quote: str) -> str:
        found = _STRINGS[quote].match(self._text, self.place + 1) if quote else None
        if found is None:
            self.place = len(self._text)
            raise ValueError("no end of a text")
        self.place = found.end()
        if "\\" not in found[1]:
            return found[1]
        spelt = _ESCAPE.sub(_unescaped, found[1])
        return spelt.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # joins surrogate pairs

    def _word(self) -> str:
        found = _WORD.match(self._text, self.place)
        if found is None:
            raise ValueError("no value")
        self.place = found.end()
        return found[0]


def _unescaped(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else _ESCAPED.get(escape[2], escape[2])


def _meant(word: str) -> object:
    """Return the value of a word without quotation marks: a number, a constant of JSON or Python, or the word."""
    lower = word.lower()
    if lower in _WORDS:
        return _WORDS[lower]
    for number in (int, float):
        with suppress(ValueError):
            return number(word)
    return word
