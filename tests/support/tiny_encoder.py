"""A sentence encoder of a few kilobytes in a real ONNX folder: a table of characters, whose reader pools the rows.

The model's file is assembled here, as a protocol buffer of ten fields; `tokenizers` makes the tokenizer.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from tokenizers.processors import TemplateProcessing

if TYPE_CHECKING:
    from pathlib import Path

_CHARACTERS: Final = [chr(code) for code in range(32, 127)] + list(
    "我喜欢喝咖啡二〇六年的账单今天去公园他她在北京工作爱吃苹果"
)
_SPECIAL: Final = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
_FLOAT, _INT64 = 1, 7


def write_encoder(
    folder: Path, *, dimensions: int = 24, seed: int = 1, quantised: bool = False, pooling: str | None = "mean"
) -> Path:
    """Write model.onnx, tokenizer.json and, unless `pooling` is None, 1_Pooling/config.json; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {word: n for n, word in enumerate([*_SPECIAL, *dict.fromkeys(_CHARACTERS)])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))  # noqa: S106 - a word's token
    tokenizer.pre_tokenizer = Split(Regex("."), "isolated")
    ends = [(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.save(str(folder / "tokenizer.json"))
    table = np.random.default_rng(seed).normal(size=(len(vocabulary), dimensions)).astype("<f4")
    (folder / "model.onnx").write_bytes(_model(table, quantised=quantised))
    if pooling is not None:
        (folder / "1_Pooling").mkdir(exist_ok=True)
        modes = {
            f"pooling_mode_{mode}": mode.startswith(pooling) for mode in ("cls_token", "mean_tokens", "max_tokens")
        }
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(modes), encoding="utf-8")
    return folder


def _model(table: np.ndarray, *, quantised: bool) -> bytes:
    """Return a ModelProto: Gather(table, input_ids), rounded to eight bits and back if it is `quantised`."""
    looked_up = "rounded" if quantised else "last_hidden_state"
    nodes = [_node("Gather", ["table", "input_ids"], [looked_up])]
    if quantised:
        eighths = ["small", "scale", "zero"]
        nodes += [
            _node("DynamicQuantizeLinear", [looked_up], eighths),
            _node("DequantizeLinear", eighths, ["last_hidden_state"]),
        ]
    weights = b"".join(_number(1, size) for size in table.shape) + _number(2, _FLOAT) + _text(8, "table")
    graph = b"".join(_bytes(1, node) for node in nodes) + _text(2, "tiny")
    graph += _bytes(5, weights + _bytes(9, table.tobytes()))
    for name in ("input_ids", "attention_mask"):
        graph += _bytes(11, _value(name, _INT64, ["texts", "tokens"]))
    graph += _bytes(12, _value("last_hidden_state", _FLOAT, ["texts", "tokens", "dimensions"]))
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _number(2, 13))


def _node(operator: str, inputs: list[str], outputs: list[str]) -> bytes:
    return b"".join([*(_text(1, name) for name in inputs), *(_text(2, name) for name in outputs), _text(4, operator)])


def _value(name: str, element: int, axes: list[str]) -> bytes:
    shape = b"".join(_bytes(1, _text(2, axis)) for axis in axes)
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, element) + _bytes(2, shape)))


def _number(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _text(field: int, content: str) -> bytes:
    return _bytes(field, content.encode())


def _varint(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])
