"""A sentence encoder that fastembed knows by name. Only the encoder's process loads its package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from projections.embedding.onnx.batch import mixes_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.embedding.embedder import Vectors

_BATCH: Final = 16


class FastembedEncoder:
    """An encoder that turns texts into vectors; each alone if the model mixes texts, like OnnxEncoder."""

    def __init__(self, model: str, threads: int, *, folder: str = "", cache: str = "") -> None:
        """Load the model from `folder`, else from `cache` (by default FASTEMBED_CACHE_PATH), else download it there.

        Raises ValueError, whose message says what to do.
        """
        from fastembed import TextEmbedding  # noqa: PLC0415 - an extra: this module can be imported without it

        found: dict[str, Any] = {"specific_model_path": folder} if folder else {}
        try:
            self._model = TextEmbedding(model, threads=threads, cache_dir=cache or None, **found)
        except ValueError as error:
            if "from any source" not in str(error):  # fastembed's own message, for example about an unknown name
                raise
            detail = (
                f"fastembed has no {model} in its cache and cannot download it: copy its files to a folder here, and "
                f"name that (fastembed:{model}?folder=/path, or onnx:/path)"
            )
            raise ValueError(detail) from error
        self._batch = _BATCH
        if mixes_texts(self.encode):
            self._batch = 1

    def encode(self, texts: Sequence[str]) -> list[Vectors]:
        """Return a vector for each text."""
        return list(self._model.embed(texts, batch_size=self._batch))
