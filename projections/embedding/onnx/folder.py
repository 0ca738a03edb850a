"""A folder with a sentence encoder in ONNX, described by its configuration files and the setting's options."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from projections.embedding.choice import EmbedderUnusable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

OPTIONS: Final = ("pooling", "query", "passage", "max_tokens")
_POOLINGS: Final = ("cls", "mean", "max", "last", "none")
_MODES: Final = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
}
_KNOWN_MODULES: Final = ("Transformer", "Pooling", "Normalize")
_MOST_TOKENS: Final = 8_192
_DEFAULT_TOKENS: Final = 512


@dataclass(frozen=True, slots=True)
class OnnxFolder:
    """The properties that are needed to run the model. Lengths are in tokens, including special ones."""

    model: Path
    tokenizer: Path
    pooling: str
    """How the vectors of tokens become the text's: cls, mean, max or last; none if the model's output is the text's."""
    query_prefix: str
    passage_prefix: str
    max_tokens: int

    def fingerprint(self) -> str:
        """Return 12 hex digits that depend on the weights and options of the model, but not on its path.

        It reads the whole model: a tenth of a second for 100 MB. Raises EmbedderUnusable.
        """
        said = (self.pooling, self.query_prefix, self.passage_prefix, self.max_tokens)
        found = hashlib.blake2b(orjson.dumps(said), digest_size=6)
        beside = sorted(self.model.parent.glob(f"{self.model.name}_data*"))  # the weights of models over 2 GB
        for file in (self.model, *beside, self.tokenizer):
            try:
                with file.open("rb") as opened:
                    found.update(hashlib.file_digest(opened, hashlib.blake2b).digest())
            except OSError as error:
                raise EmbedderUnusable(f"{file} cannot be read: {error.strerror}") from error
        return found.hexdigest()


def read_folder(folder: Path, options: Mapping[str, str]) -> OnnxFolder:
    """Read the files of a folder; `options` take precedence. Raises EmbedderUnusable, which says what to add."""
    if unknown := sorted(options.keys() - set(OPTIONS)):
        raise EmbedderUnusable(f"has no option {unknown[0]!r}: there are {', '.join(OPTIONS)}")
    if not folder.is_dir():
        raise EmbedderUnusable(f"{folder} is no folder")
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise EmbedderUnusable(f"{folder} has no tokenizer.json")
    prompts = _read(folder / "config_sentence_transformers.json").get("prompts") or {}
    return OnnxFolder(
        model=_model(folder),
        tokenizer=tokenizer,
        pooling=_pooling(folder, options.get("pooling")),
        query_prefix=options.get("query", _first(prompts, "query")),
        passage_prefix=options.get("passage", _first(prompts, "passage", "document")),
        max_tokens=_max_tokens(folder, options.get("max_tokens")),
    )


def _model(folder: Path) -> Path:
    for place in (folder, folder / "onnx"):
        if (place / "model.onnx").is_file():
            return place / "model.onnx"
        found = sorted(place.glob("*.onnx"))
        if len(found) == 1:
            return found[0]
        if found:
            raise EmbedderUnusable(
                f"{place} has {len(found)} models: leave one, or call the one that is meant model.onnx"
            )
    raise EmbedderUnusable(f"{folder} has no model.onnx")


def _pooling(folder: Path, option: str | None) -> str:
    if option is not None:
        if option not in _POOLINGS:
            raise EmbedderUnusable(f"pooling={option!r} must be one of {', '.join(_POOLINGS)}")
        return option
    modules = _read(folder / "modules.json", [])
    kinds = {str(module.get("type", "")).rpartition(".")[2]: module.get("path", "") for module in modules}
    if unknown := sorted(kinds.keys() - set(_KNOWN_MODULES)):
        raise EmbedderUnusable(f"{folder} has a layer {unknown[0]} outside its ONNX model, which cannot be run")
    said = _read(folder / kinds.get("Pooling", "1_Pooling") / "config.json")
    modes = {mode for key, mode in _MODES.items() if said.get(key)} | {said.get("pooling_mode")} & set(_POOLINGS)
    if len(modes) != 1:
        raise EmbedderUnusable(
            f"{folder} does not say in 1_Pooling/config.json how it pools: add ?pooling=cls, mean, max or last, or "
            "none where its output is one vector for each text"
        )
    return str(modes.pop())


def _max_tokens(folder: Path, option: str | None) -> int:
    if option is not None:
        if not option.isdecimal() or not 1 < int(option) <= _MOST_TOKENS:
            raise EmbedderUnusable(f"max_tokens={option!r} must be a number from 2 to {_MOST_TOKENS}")
        return int(option)
    said = (
        _read(folder / "sentence_bert_config.json").get("max_seq_length"),
        _read(folder / "tokenizer_config.json").get("model_max_length"),
        _read(folder / "config.json").get("max_position_embeddings"),
    )
    # A tokenizer without a limit has 1e30.
    lengths = [int(length) for length in said if isinstance(length, int | float) and 1 < length <= _MOST_TOKENS]
    return min(lengths, default=_DEFAULT_TOKENS)


def _first(prompts: Mapping[str, Any], *names: str) -> str:
    return next((str(prompts[name]) for name in names if prompts.get(name)), "")


def _read(file: Path, default: Any = None) -> Any:  # noqa: ANN401 - any JSON
    """Return a file's JSON, or the default if there is no file. Raises EmbedderUnusable."""
    empty: Any = {} if default is None else default
    try:
        found = orjson.loads(file.read_bytes())
    except FileNotFoundError:
        return empty
    except (OSError, ValueError) as error:
        raise EmbedderUnusable(f"{file} cannot be read") from error
    if not isinstance(found, type(empty)):
        raise EmbedderUnusable(f"{file} holds no {'list' if default is not None else 'object'}")
    return found
