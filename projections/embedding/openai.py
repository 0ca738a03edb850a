"""The embedder behind any OpenAI-compatible endpoint: POST {base_url}/embeddings."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING

import numpy as np
import openai

from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable, unit_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.embedding.embedder import Vectors

_BATCH_TEXTS = 64
_WAITED_OUT = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)
"""Besides 5xx: what an operator or time can mend without a change of the texts."""


class OpenAIEmbedder:
    """Asks once for each batch of 64 texts and never again by itself: the caller knows whether and when to."""

    def __init__(self, *, base_url: str, api_key: str, model: str, timeout_seconds: float = 30.0) -> None:
        """`base_url` ends before `/embeddings`, for example http://127.0.0.1:8080/v1. Connects at first use."""
        self._model = model
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key=api_key, timeout=timeout_seconds, max_retries=0)
        self._host = self._client.base_url.netloc.decode("ascii", "replace").rpartition("@")[2]
        self._dimensions = 0

    @property
    def model(self) -> str:
        """The model's name; travels with every vector."""
        return self._model

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:  # noqa: ARG002 - each call is a request of its own
        """Return float32 unit vectors, shape (len(texts), dimensions); (0, 0) for no texts before the first answer.

        Raises EmbedderUnavailable: no connection, no answer in time, 401, 403, 408, 429, 5xx, or an answer that holds
        no vectors. Raises EmbedderRefused for any other 4xx.
        """
        batches = [texts[start : start + _BATCH_TEXTS] for start in range(0, len(texts), _BATCH_TEXTS)]
        answers = [await self._ask(batch) for batch in batches]
        if not answers:
            return np.empty((0, self._dimensions), dtype=np.float32)
        if len({answer.shape[1] for answer in answers}) > 1:
            raise EmbedderUnavailable(f"{self._model} answers vectors of different lengths")
        return np.concatenate(answers)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _ask(self, texts: Sequence[str]) -> Vectors:
        # Endpoints refuse an empty string, and a lone surrogate cannot be spelt in UTF-8. Floats, because not every
        # server knows the base64 that the client asks for by default.
        given = [text.encode("utf-8", "replace").decode() or " " for text in texts]
        try:
            answer = await self._client.embeddings.create(model=self._model, input=given, encoding_format="float")
        except openai.APIStatusError as error:
            if error.status_code in _WAITED_OUT or error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise EmbedderUnavailable(f"the embedding endpoint {self._host} answers {error.status_code}") from error
            # its message is left out: it may quote the texts
            raise EmbedderRefused(f"the embedding endpoint {self._host} answers {error.status_code}") from error
        except (openai.OpenAIError, json.JSONDecodeError) as error:
            raise EmbedderUnavailable(
                f"the embedding endpoint {self._host} gives no answer: {type(error.__cause__ or error).__name__}"
            ) from error
        return self._vectors(answer, len(texts))

    def _vectors(self, answer: object, wanted: int) -> Vectors:
        """Check what came: the client builds its value from any JSON, or hands on the text of a page that is none."""
        try:
            by_index = {item.index: item.embedding for item in answer.data}  # type: ignore[attr-defined]
            vectors = unit_vectors([by_index[index] for index in range(wanted)])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise EmbedderUnavailable(f"the embedding endpoint {self._host} answers no vectors") from error
        self._dimensions = vectors.shape[1]
        return vectors
