"""The choice of an embedder, in the syntax of the setting EMBEDDING_MODEL.

builtin
onnx:/path/of/a/folder?pooling=cls&query=query:%20
fastembed:BAAI/bge-small-en-v1.5?folder=/path/of/its/files
en=onnx:/a,zh=onnx:/b            one for each language, the built-in one for the rest and between languages
text-embedding-3-small           anything else is a model behind an OpenAI-compatible endpoint

Every command reads the settings, so this module loads nothing that computes or connects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote

from projections.embedding.anchors import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

BUILTIN: Final = "builtin"
ENDPOINT: Final = "endpoint"
_LANGUAGE: Final = re.compile(r"([a-z]{2})=(.+)")
_KINDS: Final = ("onnx", "fastembed")


class EmbedderUnusable(ValueError):
    """The configured embedder is unusable: the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One encoder. `kind` is builtin, onnx, fastembed or endpoint."""

    kind: str
    name: str
    """The folder, or the model's name."""
    options: Mapping[str, str] = field(default_factory=dict)


def read_choice(text: str) -> dict[str, Choice]:
    """Return the encoders by language; `""` means every language. Raises EmbedderUnusable."""
    if not _LANGUAGE.match(text):
        return {"": _one(text)}
    found: dict[str, Choice] = {}
    for part in text.split(","):
        match = _LANGUAGE.fullmatch(part.strip())
        if match is None or match[1] not in LANGUAGES:
            raise EmbedderUnusable(f"{part.strip()!r} must begin with a language, {' or '.join(LANGUAGES)}, and =")
        if match[1] in found:
            raise EmbedderUnusable(f"names two encoders for {match[1]}")
        found[match[1]] = _one(match[2])
        if found[match[1]].kind == BUILTIN:
            raise EmbedderUnusable(f"{match[1]}=builtin: the built-in encoder takes what is left already")
    return found


def _one(text: str) -> Choice:
    kind, colon, rest = text.partition(":")
    if text == BUILTIN:
        return Choice(BUILTIN, BUILTIN)
    if not colon or kind not in _KINDS:
        return Choice(ENDPOINT, text)
    name, _, options = rest.partition("?")
    if not name:
        raise EmbedderUnusable(f"{kind}: must be followed by {'a folder' if kind == 'onnx' else 'the name of a model'}")
    return Choice(kind, unquote(name) if kind == "onnx" else name, dict(parse_qsl(options, keep_blank_values=True)))
