"""The choice of an embedder, in the syntax of the setting EMBEDDING_MODEL.

builtin
onnx:/path/of/a/folder?pooling=cls&query=query:%20
fastembed:BAAI/bge-small-en-v1.5?folder=/path/of/its/files
text-embedding-3-small           anything else is a model behind an OpenAI-compatible endpoint

Every command reads the settings, so this module loads nothing that computes or connects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote

if TYPE_CHECKING:
    from collections.abc import Mapping

BUILTIN: Final = "builtin"
ENDPOINT: Final = "endpoint"
_OF_A_LANGUAGE: Final = re.compile(r"[a-z]{2}=")
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


def read_choice(text: str) -> Choice:
    """Return the encoder that a text names. Raises EmbedderUnusable."""
    if _OF_A_LANGUAGE.match(text):
        raise EmbedderUnusable("names an encoder for one language, and one encoder serves all: leave out the language")
    kind, colon, rest = text.partition(":")
    if text == BUILTIN:
        return Choice(BUILTIN, BUILTIN)
    if not colon or kind not in _KINDS:
        return Choice(ENDPOINT, text)
    name, _, options = rest.partition("?")
    if not name:
        raise EmbedderUnusable(f"{kind}: must be followed by {'a folder' if kind == 'onnx' else 'the name of a model'}")
    return Choice(kind, unquote(name) if kind == "onnx" else name, dict(parse_qsl(options, keep_blank_values=True)))
