"""The factory of embedders: it creates the embedder for a choice."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from projections.embedding.builtin import BuiltinEmbedder
from projections.embedding.choice import BUILTIN, ENDPOINT, EmbedderUnusable, read_choice
from projections.embedding.encoder_process import EncoderProcess
from projections.embedding.local import LocalEmbedder
from projections.embedding.onnx.folder import read_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from projections.embedding.choice import Choice
    from projections.embedding.embedder import ClosableEmbedder

_FASTEMBED_OPTIONS: Final = ("query", "passage", "folder", "cache")
_PACKAGES: Final = {"onnx": ("onnxruntime", "tokenizers"), "fastembed": ("fastembed",)}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The endpoint for models that are neither built in nor on this machine."""

    base_url: str
    api_key: str


def make_embedder(text: str, endpoint: Endpoint) -> ClosableEmbedder:
    """Return the embedder, which starts or connects at first use. Raises EmbedderUnusable."""
    choice = read_choice(text)
    if choice.kind == BUILTIN:
        return BuiltinEmbedder()
    if choice.kind == ENDPOINT:
        from projections.embedding.openai import OpenAIEmbedder  # noqa: PLC0415 - its client takes 7 MB

        return OpenAIEmbedder(base_url=endpoint.base_url, api_key=endpoint.api_key, model=choice.name)
    program = _fastembed_program(choice) if choice.kind == "fastembed" else {}
    for package in _PACKAGES[choice.kind]:
        if find_spec(package) is None:
            raise EmbedderUnusable(f"needs the package {package}: pip install 'mnemolog[{choice.kind}]'")
    return _onnx(choice) if choice.kind == "onnx" else _fastembed(choice, program)


def _onnx(choice: Choice) -> LocalEmbedder:
    path = Path(choice.name).expanduser()
    folder = read_folder(path, choice.options)
    name = f"onnx:{path.name}#{folder.fingerprint()}"
    program: dict[str, str | int] = {
        "kind": "onnx",
        "model": str(folder.model),
        "tokenizer": str(folder.tokenizer),
        "pooling": folder.pooling,
        "query_prefix": folder.query_prefix,
        "passage_prefix": folder.passage_prefix,
        "max_tokens": folder.max_tokens,
    }
    process = EncoderProcess(f"the encoder {path.name}", program)
    return LocalEmbedder(name, process, query_prefix=folder.query_prefix, passage_prefix=folder.passage_prefix)


def _fastembed_program(choice: Choice) -> dict[str, str | int]:
    """Return the argument of the encoder's process: the name and the location of files. Raises EmbedderUnusable."""
    if unknown := sorted(choice.options.keys() - set(_FASTEMBED_OPTIONS)):
        raise EmbedderUnusable(f"fastembed: has no option {unknown[0]!r}: there are {', '.join(_FASTEMBED_OPTIONS)}")
    places = {name: Path(choice.options[name]).expanduser() for name in ("folder", "cache") if choice.options.get(name)}
    if "folder" in places and not places["folder"].is_dir():
        raise EmbedderUnusable(f"{places['folder']} is no folder")
    return {"kind": "fastembed", "model": choice.name, **{name: str(path) for name, path in places.items()}}


def _fastembed(choice: Choice, program: Mapping[str, str | int]) -> LocalEmbedder:
    process = EncoderProcess(f"the encoder {choice.name}", program)
    query, passage = (choice.options.get(name, "") for name in ("query", "passage"))
    return LocalEmbedder(f"fastembed:{choice.name}", process, query_prefix=query, passage_prefix=passage)
