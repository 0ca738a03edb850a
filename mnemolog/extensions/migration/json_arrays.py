"""Arrays in JSON files of any size, read one element at a time, without loading the rest."""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from mnemolog.extensions.migration.rows import Unreadable

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterator

CHUNK_BYTES: Final = 1 << 16
MAX_ELEMENT_CHARACTERS: Final = 1 << 24
MAX_DEPTH: Final = 32
"""The most nested objects in which an array is searched for."""
_DECODER: Final = json.JSONDecoder()
_NUMBERS_GO_ON: Final = frozenset(("", ".", "e", "E", "+", "-"))
"""The text that may follow an incomplete value: the end of the buffer, or a part of a number."""
_STRUCTURE: Final = re.compile(r'["{}\[\]]')
_STRING_END: Final = re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL)


class NoArray(Unreadable):
    """The file is an object without a list under the keys; the message names them."""


def elements(name: str, stream: BinaryIO, keys: Collection[str], within: Collection[str] = ()) -> Iterator[Any]:
    """Yield the elements of the array that is the file, or that is under one of the keys of its object.

    Objects under the keys `within` are searched as well. Raises Unreadable, or NoArray if there is no array.
    """
    reader = _Reader(name, stream)
    if reader.peek() == "[":
        yield from reader.array()
    else:
        yield from reader.arrays_under(keys, within)
        if not reader.found:
            raise NoArray(f"{name} has no list under {' or '.join(keys)}")


def nested(name: str, stream: BinaryIO, key: str) -> Iterator[tuple[tuple[dict[str, Any], ...], Any]]:
    """Yield the elements of all arrays under a key, at any depth, each with the objects around it.

    These objects, the outermost first, contain the members that precede the array, without arrays; the same applies to
    objects in them. Raises Unreadable.
    """
    yield from _Reader(name, stream).nested(key, ())


class _Reader:
    """Reads JSON from a stream from left to right; keeps only the text that it has not passed yet."""

    def __init__(self, name: str, stream: BinaryIO) -> None:
        self._name = name
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._ahead, self._at, self._passed = "", 0, 0
        self.found = False
        """Whether an array was found under one of the keys."""

    def array(self) -> Iterator[Any]:
        """Yield the elements of the next value, an array."""
        self._expect("[")
        if self._take("]"):
            return
        while True:
            yield self.value()
            if not self._take(","):
                self._expect("]")
                return

    def arrays_under(self, keys: Collection[str], within: Collection[str]) -> Iterator[Any]:
        """Yield the elements of the arrays under some keys of the next value, an object."""
        self._expect("{")
        if self._take("}"):
            return
        while True:
            key = self.value()
            self._expect(":")
            if key in keys and self.peek() == "[":
                self.found = True
                yield from self.array()
            elif key in within and self.peek() == "{":
                yield from self.arrays_under(keys, within)
            else:
                self._skip()
            if not self._take(","):
                self._expect("}")
                return

    def nested(
        self, key: str, around: tuple[dict[str, Any], ...]
    ) -> Generator[tuple[tuple[dict[str, Any], ...], Any], None, dict[str, Any]]:
        """Yield the elements of all arrays under a key in the next value; return the other members of an object."""
        members: dict[str, Any] = {}
        kind = self.peek()
        if kind not in ("[", "{") or len(around) > MAX_DEPTH:
            self._skip()
            return members
        self._expect(kind)
        end = "]" if kind == "[" else "}"
        within = (*around, members) if kind == "{" else around
        is_over = self._take(end)
        while not is_over:
            name = self.value() if kind == "{" else ""
            if kind == "{":
                self._expect(":")
            if name == key and self.peek() == "[":
                for element in self.array():
                    yield within, element
            elif self.peek() in ("[", "{"):
                members[name] = yield from self.nested(key, within)
            elif kind == "{":
                members[name] = self.value()
            else:
                self._skip()
            is_over = not self._take(",")
            if is_over:
                self._expect(end)
        return members

    def value(self) -> Any:  # noqa: ANN401 - any JSON
        """Return the next value."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._ahead, self._at)
            except (ValueError, RecursionError) as error:  # ValueError: a number of thousands of digits
                if not isinstance(error, json.JSONDecodeError) or not self._more():
                    raise self._wrong(str(error)) from error
                continue
            if self._ahead[end : end + 1] not in _NUMBERS_GO_ON or not self._more():
                self._at = end
                return value

    def peek(self) -> str:
        """Return the next character that is not white space; the empty text at the end."""
        while True:
            while self._at < len(self._ahead):
                if not self._ahead[self._at].isspace():
                    return self._ahead[self._at]
                self._at += 1
            if not self._more():
                return ""

    def _take(self, character: str) -> bool:
        if self.peek() != character:
            return False
        self._at += 1
        return True

    def _expect(self, character: str) -> None:
        if not self._take(character):
            raise self._wrong(f"expected {character!r}, found {self.peek() or 'the end'!r}")

    def _skip(self) -> None:
        """Skip a value of any size."""
        if self.peek() not in "[{":
            self.value()
            return
        depth = 0
        while True:
            found = _STRUCTURE.search(self._ahead, self._at)
            if found is None:
                self._at = len(self._ahead)
                if not self._more():
                    raise self._wrong("it ends within a value")
                continue
            self._at = found.end()
            if found[0] == '"':
                self._pass_string()
                continue
            depth += 1 if found[0] in "[{" else -1
            if depth == 0:
                return

    def _pass_string(self) -> None:
        while (end := _STRING_END.match(self._ahead, self._at)) is None:
            if not self._more():
                raise self._wrong("it ends within a text")
        self._at = end.end()

    def _more(self) -> bool:
        """Read on, and drop the text that was passed; return False at the end."""
        self._passed += self._at
        self._ahead, self._at = self._ahead[self._at :], 0
        if len(self._ahead) > MAX_ELEMENT_CHARACTERS:
            raise self._wrong(f"one value has more than {MAX_ELEMENT_CHARACTERS} characters")
        part = self._stream.read(max(CHUNK_BYTES, len(self._ahead)))
        try:
            self._ahead += self._decoder.decode(part, final=not part)
        except UnicodeDecodeError as error:
            raise self._wrong(str(error)) from error
        return bool(part)

    def _wrong(self, why: str) -> Unreadable:
        return Unreadable(
            f"{self._name} is not the JSON that was expected, at character {self._passed + self._at}: {why}"
        )
