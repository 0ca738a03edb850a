"""Pieces: the parts of at most 6,000 characters into which observations are divided for extraction."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from schemas.messages.observations import ArticleInferred, ScreenshotAnalysed, SessionEnded, TurnRecorded

if TYPE_CHECKING:
    from schemas.messages.observations import Observation

MAX_PIECE_CHARACTERS: Final = 6_000
"""Evatar's limit on a model's input; a longer text continues in the next piece."""
_SENTENCE_END: Final = re.compile(r"[。！？!?\n]|[.;；](?=\s)")
_SPACE: Final = re.compile(r"\s|[，、,]")
EXTRACTED_ROLES: Final = ("user", "assistant")


def text_of(message: Observation) -> str:
    """Return the text of an observation, as the extractor reads it."""
    match message:
        case TurnRecorded():
            return message.content
        case ScreenshotAnalysed():
            parts = (message.title, message.summary, message.text)
            return "\n".join(p for p in parts if p)
        case ArticleInferred():
            return "\n".join(p for p in (message.title, message.content) if p)
        case SessionEnded():
            return ""


def image_of(message: Observation) -> bytes | str | None:
    """Return the image that a screenshot carries instead of text: its bytes, or its URL."""
    if not isinstance(message, ScreenshotAnalysed):
        return None
    return message.image if message.image is not None else message.image_url


def is_extractable(message: Observation) -> bool:
    """Return whether anything is extracted: from user and assistant turns, relevant screenshots, and articles.

    A turn to be remembered verbatim (`infer` is False) is remembered only if the user said it.
    """
    match message:
        case TurnRecorded():
            roles = EXTRACTED_ROLES if message.infer else ("user",)
            return message.role in roles and bool(message.content.strip())
        case ScreenshotAnalysed():
            return message.relevance != "low" and (bool(text_of(message).strip()) or image_of(message) is not None)
        case ArticleInferred():
            return bool(text_of(message).strip())
        case SessionEnded():
            return False


def piece_count(message: Observation) -> int:
    """Return the number of an observation's pieces."""
    return len(piece_texts(message))


def piece_texts(message: Observation) -> list[str]:
    """Return the texts of an observation's pieces; together they are its text.

    A piece ends after the last sentence or line that ends in its last quarter, else after the last white space there,
    else at its full length: a name that is cut in two would be remembered as another name.
    """
    text, texts = text_of(message), []
    while len(text) > MAX_PIECE_CHARACTERS:
        end = _end_of_piece(text)
        texts.append(text[:end])
        text = text[end:]
    return [*texts, text]


def _end_of_piece(text: str) -> int:
    begin = MAX_PIECE_CHARACTERS * 3 // 4
    for boundary in (_SENTENCE_END, _SPACE):
        ends = [match.end() for match in boundary.finditer(text, begin, MAX_PIECE_CHARACTERS)]
        if ends:
            return ends[-1]
    return MAX_PIECE_CHARACTERS
