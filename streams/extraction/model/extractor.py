"""The extractor that uses a language model behind any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import httpx2
import openai
import orjson

from projections.refusal import MOST_WORDS, read_refusal, told_error
from streams.extraction.model.answer import UnusableAnswerError, clean, read_answer
from streams.extraction.model.completion import Completion, read_completion
from streams.extraction.model.dialect import Dialect, Negotiation
from streams.extraction.model.document import without_thoughts
from streams.extraction.model.fitting import Fitting, joined
from streams.extraction.model.grounding import grounded
from streams.extraction.model.http_client import HttpClient, answered
from streams.extraction.model.patience import LONGEST_SECONDS, Patience
from streams.extraction.model.prompts import PROMPT_HASH, SCHEMA, repair, schema_of, without_system
from streams.extraction.model.spacing import Spacing
from streams.extraction.protocol import Extraction, Outage, Rejected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from projections.refusal import Refusal
    from streams.extraction.model.fitting import Part
    from streams.extraction.model.prompts import Message
    from streams.extraction.protocol import ExtractorError, Window

Outcome: TypeAlias = Literal["ok", "repair", "rejected", "outage"]

OPENAI_URL: Final = "https://api.openai.com/v1"
MAX_REASON: Final = 200
"""The most characters of a reason."""

# Codes that a reason may name: OpenAI's own words, never a server's free text, which may quote the conversation.
_TOLD_CODES: Final = frozenset(
    {
        *("invalid_api_key", "model_not_found", "insufficient_quota", "rate_limit_exceeded"),
        *("context_length_exceeded", "content_filter", "content_policy_violation", "billing_hard_limit_reached"),
    }
)
# The statuses with which servers refuse an unknown parameter; routers answer 404 if no model accepts it.
_DIALECT_STATUSES: Final = frozenset({400, 404, 415, 422, 500, 501})
_MOST_ANSWERS: Final = 3
"""The most answers to a question: the first one, its repair, and one in any form."""
_MOST_SECONDS_BELIEVED: Final = 60.0
"""The longest `Retry-After` that is respected: an endpoint that says "tomorrow" may answer in a minute."""
_SUCCESSES: Final = range(200, 300)
_JSON: Final = {"Content-Type": "application/json"}
_ALIVE_SECONDS: Final = 10.0
"""How long an endpoint may take to list its models, which needs no work by a model."""


class _TooLongError(Exception):
    """The endpoint's context cannot hold the question."""


class _LateError(Exception):
    """The endpoint did not answer in time."""


class _RefusedError(Exception):
    """The endpoint answers with an error, by its status or inside an answer with another status."""

    def __init__(self, refusal: Refusal, code: str | None, headers: Mapping[str, str]) -> None:
        super().__init__(refusal.status)
        self.refusal, self.code, self.headers = refusal, code, headers


class ModelExtractor:
    """An extractor that asks a model about each window, and again if its answer is unusable. Close it with `aclose`."""

    def __init__(
        self,
        base_url: str | None,
        api_key: str,
        model: str,
        *,
        temperature: float,
        max_tokens: int,
        timeout_seconds: float,
        longest_seconds: float = LONGEST_SECONDS,
        context_tokens: int | None = None,
        observe: Callable[[Outcome], None] | None = None,
    ) -> None:
        """Connect to nothing yet. `base_url=None` means OpenAI's own; an empty key is for endpoints that need none.

        `timeout_seconds` initially bounds each request from first to last byte; after time-outs the bound grows, up to
        `longest_seconds`. `context_tokens` bounds question and answer; None means that it is learned. `observe` is
        called with the outcome of each request: `ok`, `repair` (unusable, asked again), `rejected`, `outage`. Raises
        ValueError if the key is not printable ASCII.
        """
        if not api_key.isascii() or not api_key.isprintable():
            raise ValueError("the model's API key must be printable ASCII: check MNEMOLOG_LLM_API_KEY")
        self._http = HttpClient(base_url or OPENAI_URL, timeout_seconds)
        self._client = openai.AsyncOpenAI(
            base_url=base_url or OPENAI_URL,
            api_key=api_key or "none",
            timeout=timeout_seconds,
            max_retries=0,
            http_client=self._http,
        )
        self._url = f"{str(self._client.base_url).rstrip('/')}/chat/completions"
        self._model = model
        self._host = self._client.base_url.netloc.decode("ascii", "replace").rpartition("@")[2]
        self._temperature = temperature
        self._fitting = Fitting(context_tokens, max_tokens)
        self._patience = Patience(timeout_seconds, longest_seconds)
        self._observe = observe or (lambda _outcome: None)
        self._spacing = Spacing()
        self._negotiation = Negotiation()
        self._free = Negotiation(Dialect(form="none"))
        """The negotiation of `write`, whose answers may have any form."""

    @property
    def model(self) -> str:
        """The model's name."""
        return self._model

    @property
    def prompt_hash(self) -> str:
        """The hash of prompt template and schema, the same for all windows."""
        return PROMPT_HASH

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def extract(self, window: Window) -> Extraction:
        """Return the proposals for a window. Raises Outage or Rejected, nothing else.

        A window that exceeds the model's context is asked about in parts. The reason of a Rejected begins with
        `cut off`, `not JSON`, `wrong shape`, `timed out` or `refused`, followed by a colon.
        """
        waiting = deque(self._fitting.parts(window))
        found: list[Extraction] = []
        while waiting:
            part = waiting.popleft()
            try:
                found.append(await self._extract(part))
            except _TooLongError as error:
                smaller = self._fitting.halves(part)
                if not smaller:
                    self._observe("rejected")
                    raise Rejected(f"refused: {error}") from error
                waiting.extendleft(reversed(smaller))
            except Rejected as rejected:
                rejected.tokens_in += sum(one.tokens_in for one in found)
                rejected.tokens_out += sum(one.tokens_out for one in found)
                raise
        return Extraction(
            proposals=tuple(proposal for one in found for proposal in one.proposals),
            answer=joined([one.answer for one in found]),
            tokens_in=sum(one.tokens_in for one in found),
            tokens_out=sum(one.tokens_out for one in found),
            dropped=tuple(reason for one in found for reason in one.dropped),
            shown=tuple(dict.fromkeys(memory_id for one in found for memory_id in one.shown)),
        )

    async def _extract(self, part: Part) -> Extraction:
        """Return the proposals for a part, which cite the pieces of the whole. Also raises _TooLongError.

        If two answers are unusable, the requested form may be the reason: the third may have any form.
        """
        schema = schema_of(part.window)
        kept: Dialect | None = None
        completion = await self._ask(part.question, schema=schema)
        for attempt in range(_MOST_ANSWERS):
            try:
                return self._read(completion, part)
            except UnusableAnswerError as error:
                unusable = error
            settled = self._negotiation.settled
            is_last = attempt == _MOST_ANSWERS - 1 or (attempt == 1 and settled.form == "none")
            if is_last:
                break
            self._observe("repair")
            question, dialect = repair(part.question, completion.text, str(unusable)), None
            if attempt == 1:
                question, dialect, kept = part.question, replace(settled, form="none"), settled
            try:
                completion = await self._ask(question, completion, schema=schema, dialect=dialect)
            except _TooLongError:  # only the repair, which is longer by an answer, does not fit: do not divide
                break
        if kept is not None:
            self._negotiation.keep_to(kept)
        self._observe("rejected")
        raise Rejected(str(unusable), completion.text, completion.tokens_in, completion.tokens_out) from unusable

    async def write(self, prompt: str) -> str:
        """Return the model's answer to a prompt, without its thoughts. Raises Outage or Rejected, nothing else."""
        try:
            completion = await self._ask([{"role": "user", "content": prompt}], negotiation=self._free)
        except _TooLongError as error:
            self._observe("rejected")
            raise Rejected(f"refused: {error}") from error
        self._observe("ok")
        return without_thoughts(completion.text)

    def _read(self, completion: Completion, part: Part) -> Extraction:
        answer = grounded(read_answer(completion.text, part.window, cut_off=completion.cut_off), part.window)
        self._observe("ok")
        return Extraction(
            proposals=tuple(part.of_the_whole(proposal) for proposal in answer.proposals),
            answer=completion.text,
            tokens_in=completion.tokens_in,
            tokens_out=completion.tokens_out,
            dropped=answer.dropped,
            shown=tuple(known.memory_id for known in part.window.known),
        )

    async def _ask(
        self,
        question: Sequence[Message],
        before: Completion | None = None,
        negotiation: Negotiation | None = None,
        schema: Mapping[str, object] = SCHEMA,
        dialect: Dialect | None = None,
    ) -> Completion:
        """Return the completion; its tokens include those of the one `before`.

        The default dialect is the settled one. Raises Outage or Rejected, after reporting it to `observe`, or
        _TooLongError.
        """
        try:
            completion = await self._in_time(question, negotiation or self._negotiation, schema, dialect)
        except Outage:
            self._observe("outage")
            raise
        except Rejected as refused:
            self._observe("rejected")
            if before is None:
                raise
            raise Rejected(refused.reason, before.text, before.tokens_in, before.tokens_out) from refused
        if before is None:
            return completion
        tokens_in, tokens_out = completion.tokens_in + before.tokens_in, completion.tokens_out + before.tokens_out
        return replace(completion, tokens_in=tokens_in, tokens_out=tokens_out)

    async def _in_time(
        self,
        question: Sequence[Message],
        negotiation: Negotiation,
        schema: Mapping[str, object],
        dialect: Dialect | None,
    ) -> Completion:
        """Return the completion. A question that repeatedly times out is rejected if the endpoint is alive."""
        loop = asyncio.get_running_loop()
        asked, given, began = str(question[-1]["content"]), self._patience.seconds, loop.time()
        try:
            completion = await self._negotiate(question, negotiation, schema, dialect or negotiation.settled)
        except _LateError as error:
            reason = f"no answer from the model within {given:g} s"
            if self._patience.timed_out(asked, given) and await self._is_alive():
                self._patience.forget(asked)
                raise Rejected(f"timed out: {reason}") from error
            raise Outage(reason) from error
        self._patience.answered(asked, loop.time() - began)
        return completion

    async def _is_alive(self) -> bool:
        """Return whether the endpoint answers at all: if not, it is down rather than slow."""
        try:
            await self._client.models.list(timeout=_ALIVE_SECONDS)
        except openai.APIStatusError:
            return True
        except (openai.OpenAIError, ValueError):
            return False
        return True

    async def _negotiate(
        self, question: Sequence[Message], negotiation: Negotiation, schema: Mapping[str, object], dialect: Dialect
    ) -> Completion:
        server_errors = False
        while True:
            try:
                completion = await self._request(question, dialect, schema)
            except _RefusedError as error:
                refusal, reason = error.refusal, _reason(error, self._host)
                if refusal.is_too_long:
                    raise _TooLongError(reason) from error
                is_about = refusal.status in _DIALECT_STATUSES and not refusal.is_money
                other = negotiation.after(dialect, refusal) if is_about else None
                if other is None:
                    raise _failure(error, reason) from error
                server_errors = server_errors or refusal.status >= 500  # noqa: PLR2004 - HTTP's server errors
                dialect = other
            else:
                negotiation.accepted(dialect, server_errors=server_errors, model=completion.model)
                return completion

    async def _request(self, question: Sequence[Message], dialect: Dialect, schema: Mapping[str, object]) -> Completion:
        seconds = self._patience.seconds
        messages = question if dialect.system else without_system(question)
        body: dict[str, object] = {"model": self._model, "messages": messages}
        if dialect.limit:
            body[dialect.limit] = self._fitting.answer_tokens(question)
        if dialect.temperature:
            body["temperature"] = self._temperature
        if dialect.form == "json_schema":
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "memories", "schema": schema}}
        elif dialect.form == "json_object":
            body["response_format"] = {"type": "json_object"}
        await self._spacing.wait()
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(seconds):
                content = await self._post(orjson.dumps(body), seconds)
        except openai.APIStatusError as error:
            refusal = read_refusal(error.status_code, error.response.content)
            raise _RefusedError(refusal, error.code or error.type, error.response.headers) from error
        except (TimeoutError, openai.APITimeoutError, httpx2.TimeoutException) as error:
            raise _LateError from error
        except (httpx2.RequestError, openai.OpenAIError) as error:
            why = (isinstance(error, openai.OpenAIError) and error.__cause__) or error
            raise Outage(_bounded(f"the model at {self._host} cannot be reached: {type(why).__name__}")) from error
        self._spacing.answered(asyncio.get_running_loop().time() - began)
        return _completion(content, self._host)

    async def _post(self, body: bytes, seconds: float) -> bytes:
        """Return the answer to a question. Raises openai.OpenAIError and httpx2.RequestError.

        The `openai` client sends the first question and interprets unsuccessful answers. Later questions reuse the
        first request's headers directly, because the client would only repeat the same work for each.
        """
        answer = await self._http.again("POST", self._url, body, seconds)
        if answer is not None and answer.status in _SUCCESSES:
            return answer.content
        with answered(answer):
            # The client's own method for completions would examine each field of each message.
            response = await self._client.post(
                self._url,
                cast_to=httpx2.Response,
                content=body,
                options={"timeout": seconds, "headers": _JSON, "security": {"bearer_auth": True}},
            )
        return response.content


def _completion(body: bytes, host: str) -> Completion:
    """Return the completion in a response.

    Raises _RefusedError if the response reports an error, and Outage if it holds no completion: something else answers
    at this URL, or the server is broken.
    """
    try:
        completion = read_completion(body)
    except ValueError as error:
        reason = f"{host} does not answer with JSON: is LLM_BASE_URL right, with its /v1?"
        raise Outage(reason, answer=_beginning(body)) from error
    if completion is not None:
        return completion
    if refusal := told_error(body):
        raise _RefusedError(refusal, None, {})
    reason = _bounded(f"{host} answers without a message: is it a chat completions endpoint?")
    raise Outage(reason, answer=_beginning(body))


def _failure(error: _RefusedError, reason: str) -> ExtractorError:
    """Return the exception for a status. The server's message is left out, because it may quote the conversation."""
    if error.refusal.passes:
        return Outage(reason, _retry_after(error.headers), error.refusal.words)
    return Rejected(f"refused: {reason}")


def _reason(error: _RefusedError, host: str) -> str:
    code = f" ({error.code})" if error.code in _TOLD_CODES else ""
    status = error.refusal.status
    moved = ", a redirect, which is not followed" if 300 <= status < 400 else ""  # noqa: PLR2004 - HTTP's redirects
    return _bounded(f"{host} answers {status}{code}{moved}")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait, from a number or from a date minus the response's own, so that no clock is read."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            wait = parsedate_to_datetime(value) - parsedate_to_datetime(headers.get("date", ""))
        except (ValueError, TypeError):
            return None
        seconds = wait.total_seconds()
    return min(_MOST_SECONDS_BELIEVED, max(0.0, seconds)) if math.isfinite(seconds) else None


def _beginning(body: bytes) -> str:
    return body[:MOST_WORDS].decode("utf-8", "replace")


def _bounded(reason: str) -> str:
    return clean(reason)[:MAX_REASON]
