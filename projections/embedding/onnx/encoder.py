"""A sentence encoder in ONNX, run by onnxruntime. Only the encoder's process loads this module and its packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from projections.embedding.onnx.batch import mixes_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from projections.embedding.onnx.folder import OnnxFolder

_OF_A_TEXT: Final = "sentence_embedding"


class OnnxEncoder:
    """An encoder that turns texts into vectors of any length.

    A dynamically quantised model takes its scale from the whole batch, so that a text's vector would depend on the
    other texts: it computes each text alone. Other models compute a padded batch.
    """

    def __init__(self, folder: OnnxFolder, threads: int) -> None:
        """Load the model. Raises the errors of onnxruntime and tokenizers for files that they cannot read."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # one core belongs to the event loop
        self._session = onnxruntime.InferenceSession(str(folder.model), options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(folder.tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(folder.max_tokens)
        self._pad = next((i for name in ("[PAD]", "<pad>") if (i := self._tokenizer.token_to_id(name)) is not None), 0)
        self._pooling = folder.pooling
        self._inputs = [given.name for given in self._session.get_inputs()]
        outputs = [given.name for given in self._session.get_outputs()]
        self._output = _OF_A_TEXT if folder.pooling == "none" and _OF_A_TEXT in outputs else outputs[0]
        self._alone = False
        self._alone = mixes_texts(self.encode)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the model's vectors, shape (len(texts), dimensions), which are not of unit length."""
        if not texts:
            return np.empty((0, 0), np.float32)
        if self._alone:
            return np.concatenate([self._run([text]) for text in texts])
        return self._run(texts)

    def _run(self, texts: Sequence[str]) -> NDArray[np.float32]:
        read = self._tokenizer.encode_batch(list(texts))
        longest = max(1, *(len(text.ids) for text in read))
        ids = np.full((len(read), longest), self._pad, np.int64)
        mask = np.zeros_like(ids)
        types = np.zeros_like(ids)
        for row, text in enumerate(read):
            ids[row, : len(text.ids)] = text.ids
            types[row, : len(text.ids)] = text.type_ids
            mask[row, : max(1, len(text.ids))] = 1
        known = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": types,
            "position_ids": np.broadcast_to(np.arange(longest), ids.shape),
        }
        [found] = self._session.run([self._output], {name: known[name] for name in self._inputs})
        return _pooled(np.asarray(found, np.float32), mask, self._pooling)


def _pooled(found: NDArray[np.float32], mask: NDArray[np.int64], pooling: str) -> NDArray[np.float32]:
    """Return the vectors of texts from those of their tokens, shape (texts, tokens, dimensions)."""
    if found.ndim == 2:  # noqa: PLR2004 - (texts, dimensions)
        return found
    weights = mask[:, :, None].astype(np.float32)
    if pooling == "cls":
        first: NDArray[np.float32] = found[:, 0]
        return first
    if pooling == "mean":
        mean: NDArray[np.float32] = (found * weights).sum(axis=1) / weights.sum(axis=1)
        return mean
    if pooling == "max":
        greatest: NDArray[np.float32] = np.where(weights > 0, found, -np.inf).max(axis=1)
        return greatest
    if pooling == "last":
        last: NDArray[np.float32] = found[np.arange(len(found)), mask.sum(axis=1) - 1]
        return last
    raise ValueError("the model's output is a vector for each token: add ?pooling=cls, mean, max or last")
