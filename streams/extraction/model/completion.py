"""A completion: the answer of a chat endpoint, in whichever field of the response its text is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from streams.extraction.model.answer import clean, holds_answer

if TYPE_CHECKING:
    from collections.abc import Iterator

_THOUGHTS: Final = ("reasoning_content", "reasoning", "thinking")
_CUT_OFF: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_DEEPEST: Final = 4


@dataclass(frozen=True, slots=True)
class Completion:
    """The parts of a completion that are used."""

    text: str
    cut_off: bool
    tokens_in: int
    tokens_out: int
    model: str | None = None
    """The name of the model in the response."""


def read_completion(body: bytes) -> Completion | None:
    """Return the completion in a response; None if it holds no message. Raises ValueError if it is not JSON.

    Its text comes from the first field with a complete answer: the content, whole or in parts, the arguments of a call,
    the thoughts; otherwise from the first field that is not empty. Among several choices, the first one with any text
    counts. The pieces of a streamed response are joined.
    """
    documents = _documents(body)
    messages = [_first_message(document) for document in documents]
    places: dict[str, list[str]] = {"content": [], "call": [], "thoughts": []}
    for _, message in filter(None, messages):
        for place, text in _texts(message):
            places[place].append(text)
    if not any(messages):
        return None
    reasons = [reason for found in messages if found and isinstance(reason := found[0], str)]
    cut_off = bool(reasons) and reasons[-1].lower() in _CUT_OFF
    texts = [text for pieces in places.values() if (text := clean("".join(pieces)))]
    text = next(iter(texts), "")
    if len(texts) > 1:
        text = next((each for each in texts if holds_answer(each, cut_off=cut_off)), text)
    usages = [usage for document in documents if isinstance(usage := document.get("usage"), dict)]
    model = documents[0].get("model")
    return Completion(
        text=text,
        cut_off=cut_off,
        tokens_in=max((_count(usage, "prompt_tokens", "input_tokens") for usage in usages), default=0),
        tokens_out=max((_count(usage, "completion_tokens", "output_tokens") for usage in usages), default=0),
        model=model if isinstance(model, str) else None,
    )


def _documents(body: bytes) -> list[dict[str, object]]:
    """Return the JSON object of a body, or those of a stream's events. Raises ValueError."""
    text = body.decode("utf-8", "replace").strip("\ufeff \r\n\t")
    try:
        found = [json.loads(text)]
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    except ValueError:
        lines = (line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith(("data:", "{")))
        found = [json.loads(line) for line in lines if line and line != "[DONE]"]
        if not found:
            raise
    return [one for one in found if isinstance(one, dict)]


def _first_message(document: dict[str, object]) -> tuple[object, dict[str, object]] | None:
    """Return the finish reason and the message of the first choice with a text, or of the first choice."""
    choices = document.get("choices")
    if not isinstance(choices, list):
        message = document.get("message")
        found = message if isinstance(message, dict) else document
        ended = document.get("stop_reason") or document.get("done_reason") or document.get("status")
        return (ended, found) if any(found.get(name) for name in ("content", "output")) else None
    by_index = sorted((one for one in choices if isinstance(one, dict)), key=_index)
    messages = [
        (one.get("finish_reason"), message)
        for one in by_index
        if isinstance(message := one.get("message") or one.get("delta") or {"content": one.get("text")}, dict)
        and (isinstance(one.get("message"), dict) or message.get("content") is not None or "delta" in one)
    ]
    return next((one for one in messages if any(_texts(one[1]))), messages[0] if messages else None)


def _index(choice: dict[str, object]) -> int:
    index = choice.get("index")
    return index if isinstance(index, int) else 0


def _texts(message: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Yield each text of a message, preceded by its place."""
    for name in ("content", "output"):
        if text := _joined(message.get(name), _DEEPEST):
            yield "content", text
    calls = message.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    for function in (*functions, message.get("function_call")):
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if arguments:
            yield "call", arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    for name in _THOUGHTS:
        if text := _joined(message.get(name), _DEEPEST):
            yield "thoughts", text
            return


def _joined(value: object, depth: int) -> str:
    """Return the text of a content, with its parts joined except for thoughts."""
    if isinstance(value, str):
        return value
    if not depth:
        return ""
    if isinstance(value, list):
        return "".join(_joined(part, depth - 1) for part in value)
    if not isinstance(value, dict) or value.get("type") in ("thinking", "reasoning", "redacted_thinking"):
        return ""
    if "memories" in value or isinstance(value.get("input"), dict):
        return json.dumps(value.get("input") or value, ensure_ascii=False)
    return _joined(value.get("text") or value.get("content") or value.get("value"), depth - 1)


def _count(usage: dict[str, object], *names: str) -> int:
    counts = (usage.get(name) for name in names)
    return max((count for count in counts if isinstance(count, int)), default=0)
