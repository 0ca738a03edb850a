"""The embedder behind any OpenAI-compatible endpoint: POST {base_url}/embeddings."""

from __future__ import annotations

import binascii
from base64 import b64decode
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

import aiohttp
import numpy as np
import orjson

from projections.embedding.embedder import EmbedderFailed, EmbedderRefused, EmbedderUnavailable, unit_vectors
from projections.embedding.long_texts import beginning
from projections.embedding.shared_requests import FEW_TEXTS, SharedRequests
from projections.http_session import session_with

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.embedding.embedder import Vectors

_BATCH_TEXTS: Final = 64
_WAITED_OUT: Final = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.SERVICE_UNAVAILABLE,
    }
)
"""What an operator or time can mend, whatever the texts are. Of any other 5xx a text may be the reason."""


class OpenAIEmbedder:
    """Asks once for each batch of 64 texts and never again by itself: the caller knows whether and when to.

    Few texts of several callers that come at the same moment share a request.

    Vectors are asked for in base64, a quarter of the bytes of numbers, and read in no time. An endpoint that
    refuses this is asked again for numbers, and from then on for nothing else; one that ignores it is understood.
    """

    def __init__(self, *, base_url: str, api_key: str, model: str, timeout_seconds: float = 30.0) -> None:
        """`base_url` ends before `/embeddings`, for example http://127.0.0.1:8080/v1. Connects at first use."""
        self._model = model
        self._url = f"{base_url.rstrip('/')}/embeddings"
        self._headers = {"Content-Type": "application/json"}
        if urlsplit(self._url).username is None:  # else what the URL says counts
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._timeout_seconds = timeout_seconds
        self._session: aiohttp.ClientSession | None = None  # made in the loop that uses it
        self._host = urlsplit(self._url).netloc.rpartition("@")[2]
        self._format: Literal["base64", "float"] = "base64"
        self._is_format_known = False
        self._dimensions = 0
        self._shared = SharedRequests(self._ask)

    @property
    def model(self) -> str:
        """The model's name; travels with every vector."""
        return self._model

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:  # noqa: ARG002 - an endpoint knows no haste
        """Return float32 unit vectors, shape (len(texts), dimensions); (0, 0) for no texts before the first answer.

        Raises EmbedderUnavailable: no connection, no answer in time, 401, 403, 408, 429, 5xx, or an answer that holds
        no vectors. Raises EmbedderRefused for any other 4xx.
        """
        if 0 < len(texts) <= FEW_TEXTS:
            return await self._shared.ask(texts)
        batches = [texts[start : start + _BATCH_TEXTS] for start in range(0, len(texts), _BATCH_TEXTS)]
        answers = [await self._ask(batch) for batch in batches]
        if not answers:
            return np.empty((0, self._dimensions), dtype=np.float32)
        if len({answer.shape[1] for answer in answers}) > 1:
            raise EmbedderUnavailable(f"{self._model} answers vectors of different lengths")
        return np.concatenate(answers)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def _ask(self, texts: Sequence[str]) -> Vectors:
        # Endpoints refuse an empty string, and a lone surrogate cannot be spelt in UTF-8.
        given = [beginning(text)[0].encode("utf-8", "replace").decode() or " " for text in texts]
        try:
            answer = await self._post(given)
        except EmbedderRefused:
            if self._is_format_known:
                raise
            # The texts or the format: whoever takes numbers has refused the format.
            self._format = "float"
            try:
                answer = await self._post(given)
            except EmbedderRefused:
                self._format = "base64"
                raise
        vectors = self._vectors(answer, len(texts))
        self._is_format_known = True
        return vectors

    async def _post(self, texts: list[str]) -> bytes:
        asked = {"model": self._model, "input": texts, "encoding_format": self._format}
        if self._session is None:
            self._session = session_with(self._url, self._timeout_seconds, self._headers)
        try:
            async with self._session.post(self._url, data=orjson.dumps(asked)) as answer:
                status, content = answer.status, await answer.read()
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            is_away = isinstance(error, (aiohttp.ClientConnectorError, TimeoutError))
            kind = EmbedderUnavailable if is_away else EmbedderFailed
            raise kind(f"the embedding endpoint {self._host} gives no answer: {_why(error)}") from error
        if status in _WAITED_OUT:
            raise EmbedderUnavailable(f"the embedding endpoint {self._host} answers {status}")
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise EmbedderFailed(f"the embedding endpoint {self._host} answers {status}")
        if status >= HTTPStatus.BAD_REQUEST:
            # its message is left out: it may quote the texts
            raise EmbedderRefused(f"the embedding endpoint {self._host} answers {status}")
        return content

    def _vectors(self, answer: bytes, wanted: int) -> Vectors:
        """Check what came, which may be any JSON, or a page that is none. Raises EmbedderFailed."""
        try:
            items = orjson.loads(answer)["data"]
            by_index = {item["index"]: _row(item["embedding"]) for item in items}
            vectors = unit_vectors([by_index[index] for index in range(wanted)])
            is_clear = wanted == 1 or len(items) == wanted  # else nobody can say which vector is whose
        except (KeyError, TypeError, ValueError) as error:
            raise EmbedderFailed(f"the embedding endpoint {self._host} answers no vectors") from error
        if not is_clear:
            raise EmbedderFailed(f"the embedding endpoint {self._host} answers more vectors than texts")
        self._dimensions = vectors.shape[1]
        return vectors


def _why(error: Exception) -> str:
    """Return why an endpoint gave no answer, without its URL, which may hold a secret."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            return "its name is not known"
        case aiohttp.ClientConnectorError():
            return "it cannot be reached"
        case TimeoutError():
            return "it took too long"
        case aiohttp.ServerDisconnectedError():
            return "it closed the connection"
        case _:
            return type(error).__name__


def _row(embedding: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a vector as it came, or what its base64 spells: little-endian float32. Raises ValueError."""
    if not isinstance(embedding, str):
        return embedding
    try:
        return np.frombuffer(b64decode(embedding, validate=True), "<f4")
    except binascii.Error as error:
        raise ValueError("no base64") from error
