"""The embedder behind any OpenAI-compatible endpoint: POST {base_url}/embeddings."""

from __future__ import annotations

import asyncio
import binascii
import logging
from base64 import b64decode
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

import aiohttp
import numpy as np
import orjson

from projections.embedding.embedder import EmbedderFailed, EmbedderRefused, EmbedderUnavailable, unit_vectors
from projections.embedding.long_texts import beginning
from projections.embedding.shared_requests import FEW_TEXTS, SharedRequests
from projections.http_session import read_bounded, session_with
from projections.refusal import MOST_WORDS, read_refusal, told_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.embedding.embedder import Vectors
    from projections.refusal import Refusal

log = logging.getLogger("mnemolog")

_BATCH_TEXTS: Final = 64
_MOST_NUMBERS: Final = 32_768
"""The longest vector: a longer answer is not a vector."""
_MOST_ALONE: Final = 3
"""After this many texts are refused one by one and none is accepted, all are taken to be refused."""

_NAMES: Final = ("embedding", "vector", "values", "float", "base64")
_PLAIN_ALPHABET: Final = str.maketrans("-_", "+/")
_AT_TEXTS: Final = frozenset({*range(500, 600)} - {503})
"""The statuses for which a text may be the reason."""

_Format: TypeAlias = Literal["base64", "float"] | None
_FORMATS: Final[tuple[_Format, ...]] = ("base64", "float", None)
"""The formats in the order in which they are tried; None requests no format."""


class OpenAIEmbedder:
    """An embedder that sends one request for each batch of 64 texts, and leaves repeats to the caller.

    Calls with few texts at the same moment share a request.

    Vectors are requested in base64, which takes a quarter of the bytes of numbers and is read quickly. If that is
    refused, now or later, numbers are requested, then no format. Refused batches are divided, so that only the texts to
    blame are refused, and an endpoint that accepts fewer texts gets smaller batches from then on.
    """

    def __init__(self, *, base_url: str, api_key: str, model: str, timeout_seconds: float = 30.0) -> None:
        """`base_url` ends before `/embeddings`, for example http://127.0.0.1:8080/v1. It connects at first use.

        `timeout_seconds` bounds each request from first to last byte.
        """
        self._model = model
        self._url = f"{base_url.rstrip('/')}/embeddings"
        self._headers = {"Content-Type": "application/json"}
        if urlsplit(self._url).username is None:  # otherwise those of the URL count
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._timeout_seconds = timeout_seconds
        self._session: aiohttp.ClientSession | None = None  # made in the loop that uses it
        self._host = urlsplit(self._url).netloc.rpartition("@")[2]
        self._format: _Format = "base64"
        self._most_texts = _BATCH_TEXTS
        self._dimensions = 0
        self._shared = SharedRequests(self._vectors_of)

    @property
    def model(self) -> str:
        """The model's name, which accompanies every vector."""
        return self._model

    @property
    def dimensions(self) -> int:
        """The length of the vectors in the last answer; 0 before the first answer."""
        return self._dimensions

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:  # noqa: ARG002 - endpoints have no priorities
        """Return float32 unit vectors, shape (len(texts), dimensions); (0, 0) for no texts before the first answer.

        Raises EmbedderUnavailable without a connection or an answer in time, for a passing state (`Refusal.passes`),
        and for an answer without vectors. Raises EmbedderRefused for any other 4xx; it names the texts.
        """
        if 0 < len(texts) <= FEW_TEXTS:
            return await self._shared.ask(texts)
        return await self._vectors_of(texts)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def _vectors_of(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of any number of texts. Raises EmbedderUnavailable and EmbedderRefused."""
        if not texts:
            return np.empty((0, self._dimensions), dtype=np.float32)
        # Endpoints refuse an empty string, and a lone surrogate cannot be encoded in UTF-8.
        given = [beginning(text)[0].encode("utf-8", "replace").decode() or " " for text in texts]
        division = _Division()
        begin = 0
        while begin < len(given):
            batch = given[begin : begin + self._most_texts]
            await self._divided(batch, begin, division)
            begin += len(batch)
        if division.why is not None:
            raise EmbedderRefused(str(division.why), frozenset(division.refused), division.why.answer)
        rows = [division.vectors[place] for place in range(len(texts))]
        if len({len(row) for row in rows}) > 1:
            raise EmbedderUnavailable(f"{self._model} answers vectors of different lengths")
        return np.stack(rows)

    async def _divided(self, texts: list[str], begin: int, division: _Division) -> None:
        """Request the vectors of a batch; if it is refused, those of its halves, unless that is hopeless."""
        try:
            vectors = await self._ask(texts, division)
        except EmbedderRefused as error:
            if len(texts) == 1 or division.is_hopeless:
                division.refused += range(begin, begin + len(texts))
                division.why = error
                return
        else:
            division.vectors.update(enumerate(vectors, begin))
            return
        half, refused = len(texts) // 2, len(division.refused)
        await self._divided(texts[:half], begin, division)
        await self._divided(texts[half:], begin + half, division)
        if len(division.refused) == refused:  # the number of texts was the reason
            self._most_texts = min(self._most_texts, len(texts) - half)

    async def _ask(self, texts: list[str], division: _Division) -> Vectors:
        """Return the vectors of texts. Other formats are tried if the current one is refused, but only once a call."""
        try:
            return await self._in_format(texts, self._format)
        except (EmbedderRefused, EmbedderFailed) as error:
            refused = error
        if division.is_format_tried:
            raise refused
        division.is_format_tried = True
        first = self._format
        others = [form for form in _FORMATS if form != first]
        for other in others if isinstance(refused, EmbedderRefused) else others[:1]:
            try:
                vectors = await self._in_format(texts, other)
            except (EmbedderRefused, EmbedderFailed):
                continue
            self._format = other
            return vectors
        raise refused

    async def _in_format(self, texts: list[str], form: _Format) -> Vectors:
        asked: dict[str, object] = {"model": self._model, "input": texts}
        if form is not None:
            asked["encoding_format"] = form
        content = await self._post(orjson.dumps(asked))
        try:
            vectors = unit_vectors(_rows(content, len(texts)))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            why = error if isinstance(error, _NoVectorsError) else "what is no table of finite numbers"
            reason = f"the embedding endpoint {self._host} answers no vectors: {why}"
            raise EmbedderFailed(reason, content[:MOST_WORDS].decode("utf-8", "replace")) from error
        if vectors.shape[1] > _MOST_NUMBERS:
            raise EmbedderFailed(f"the embedding endpoint {self._host} answers vectors of {vectors.shape[1]:,} numbers")
        if self._dimensions not in (0, vectors.shape[1]):
            log.warning(
                "%s answered vectors of %d numbers and answers %d now: what was remembered before is found by its "
                "words only; name the model that it was, or reembed by one of another name",
                self._model,
                self._dimensions,
                vectors.shape[1],
            )
        self._dimensions = vectors.shape[1]
        return vectors

    async def _post(self, asked: bytes) -> bytes:
        if self._session is None:
            self._session = session_with(self._url, self._timeout_seconds, self._headers)
        try:
            async with (
                asyncio.timeout(self._timeout_seconds),
                self._session.post(self._url, data=asked, allow_redirects=False) as answer,
            ):
                status, content = answer.status, await read_bounded(answer)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            is_away = isinstance(error, (aiohttp.ClientConnectorError, TimeoutError))
            kind = EmbedderUnavailable if is_away else EmbedderFailed
            raise kind(f"the embedding endpoint {self._host} gives no answer: {_why(error)}") from error
        if status == 200:  # noqa: PLR2004 - HTTP's success
            if refusal := told_error(content):
                raise self._refused(refusal)
            return content
        raise self._refused(read_refusal(status, content))

    def _refused(self, refusal: Refusal) -> Exception:
        # The message of the endpoint is left out, because it may quote the texts.
        reason = f"the embedding endpoint {self._host} answers {refusal.status}"
        if not refusal.passes or refusal.is_too_long:
            return EmbedderRefused(reason, answer=refusal.words)
        kind = EmbedderFailed if refusal.status in _AT_TEXTS else EmbedderUnavailable
        return kind(reason, refusal.words)


class _NoVectorsError(ValueError):
    """An answer holds no vectors; the message gives the reason."""


class _Division:
    """The results for the texts of one call, by their indexes."""

    def __init__(self) -> None:
        self.vectors: dict[int, Vectors] = {}
        self.refused: list[int] = []
        self.why: EmbedderRefused | None = None
        self.is_format_tried = False

    @property
    def is_hopeless(self) -> bool:
        """Whether there have been only refusals."""
        return len(self.refused) >= _MOST_ALONE and not self.vectors


def _rows(answer: bytes, wanted: int) -> list[Any]:
    """Return the vectors in an answer, which may be any JSON or none. Raises ValueError, TypeError."""
    try:
        document = orjson.loads(answer.removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        raise _NoVectorsError("what is no JSON, or holds numbers that JSON lacks") from error
    items = document.get("data", document.get("embeddings")) if isinstance(document, dict) else document
    if not isinstance(items, list) or not items:
        raise _NoVectorsError("it has no list of them")
    if len(items) < wanted or (len(items) > wanted > 1):
        raise _NoVectorsError(f"{len(items)} for {wanted} texts")
    return [_row(item) for item in _in_order(items)[:wanted]]


def _in_order(items: list[Any]) -> list[Any]:
    """Return items sorted by their indices, which may start at any number; in their order if no item has an index.

    A single missing index is inferred from the others. Raises _NoVectorsError if the indices are inconsistent.
    """
    indices = [_index(item) for item in items]
    known = sorted(index for index in indices if index is not None)
    if len(known) >= len(items) - 1:
        first = known[0] if len(known) == len(items) else 0
        lacking = set(range(first, first + len(items))) - set(known)
        if len(lacking) != len(items) - len(known):
            raise _NoVectorsError("two of them have one index, or one is left out")
        places = [next(iter(lacking)) if index is None else index for index in indices]
        return [items[n] for n in sorted(range(len(items)), key=places.__getitem__)]
    if known and any(index not in (None, n) for n, index in enumerate(indices)):
        raise _NoVectorsError("only some of them have an index")
    return items


def _index(item: Any) -> int | None:  # noqa: ANN401 - any JSON
    index = item.get("index") if isinstance(item, dict) else None
    return None if index is None else int(index)


def _row(item: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a vector as given, or decoded from base64. Raises ValueError."""
    vector = next((item[name] for name in _NAMES if item.get(name)), None) if isinstance(item, dict) else item
    if isinstance(vector, dict):
        return _row(vector)
    if isinstance(vector, list) and len(vector) == 1 and isinstance(vector[0], list):
        return vector[0]
    if isinstance(vector, str):
        return orjson.loads(vector) if vector.lstrip().startswith("[") else _spelt(vector)
    if vector is None:
        raise _NoVectorsError("an item without one")
    if isinstance(vector, list) and any(number is None for number in vector):
        raise _NoVectorsError("null for a number")
    return vector


def _spelt(text: str) -> Any:  # noqa: ANN401 - an array
    """Decode little-endian float32 in base64, in either alphabet, with or without padding. Raises ValueError."""
    plain = text.strip().rstrip("=").translate(_PLAIN_ALPHABET)
    try:
        content = b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error as error:
        raise _NoVectorsError("a text that is no base64") from error
    if len(content) % 4:
        raise _NoVectorsError("base64 of what are no numbers of 32 bits")
    return np.frombuffer(content, "<f4")


def _why(error: Exception) -> str:
    """Return the reason why an endpoint gave no answer, without its URL, which may contain a secret."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            return "its name is not known"
        case aiohttp.ClientConnectorError():
            return "it cannot be reached"
        case TimeoutError():
            return "it took too long"
        case aiohttp.ServerDisconnectedError():
            return "it closed the connection"
        case ValueError() if not isinstance(error, aiohttp.InvalidURL):
            return str(error)
        case _:
            return type(error).__name__
