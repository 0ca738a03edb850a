"""Dialects: OpenAI-compatible servers refuse different parts of a request, which only requests can find out."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from projections.refusal import Refusal

Form: TypeAlias = Literal["json_schema", "json_object", "none"]
Limit: TypeAlias = Literal["max_tokens", "max_completion_tokens"]

_NEXT: Final[dict[Form, Form]] = {"json_schema": "json_object", "json_object": "none"}
_OF_THE_REQUEST: Final = (400, 422)
SERVER_ERRORS_BEFORE_BELIEVED: Final = 3
"""The number of windows after which a 500 counts as a refusal (llama_cpp.server) and no longer as an outage."""
_MOST_MODELS: Final = 8
"""The most model names in the answers of one endpoint, as from a router, that are taken for changes of the model."""

_TEMPERATURE: Final = re.compile(r"temperature|sampling param|\btop_p\b", re.IGNORECASE)
_LIMIT: Final = re.compile(
    r"max_(?:completion_|output_|new_)?tokens|maximum (?:number of )?(?:output|completion) tok", re.IGNORECASE
)
_SYSTEM: Final = re.compile(
    r"\b(?:system|developer)\b.{0,40}\b(?:role|message|prompt|instruction)|\broles?\b.{0,80}\b(?:system|alternat|support)"
    r"|\b(?:only|invalid|unexpected|unknown|unsupported)\b.{0,40}\broles?\b|first message",
    re.IGNORECASE,
)
_FORM: Final = re.compile(
    r"response.?format|json.?(?:schema|object|mode)|structured.?output|\bschema|grammar|guided|constrained|\bstrict\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """The parts of a request in which servers differ; the defaults request the most."""

    form: Form = "json_schema"
    limit: Limit | None = "max_tokens"
    temperature: bool = True
    system: bool = True
    """Whether the rules are a separate message; otherwise they precede the text of the first user message."""


PLAINEST: Final = Dialect(form="none", limit=None, temperature=False, system=False)


class Negotiation:
    """The search for the best dialect that an endpoint accepts, one for each endpoint."""

    def __init__(self, first: Dialect | None = None) -> None:
        """Begin with `first`, by default the dialect that requests the most."""
        self._first = first or Dialect()
        self._settled = self._first
        self._accepted: set[Dialect] = set()
        self._server_errors = 0
        self._models: list[str] = []

    @property
    def settled(self) -> Dialect:
        """The dialect to begin with."""
        return self._settled

    def after(self, dialect: Dialect, refusal: Refusal) -> Dialect | None:
        """Return the dialect to try next, or None if the error is not about the dialect.

        The part that the error names is left out. If it names none and the dialect was accepted before, only the
        plainest dialect can show whether the model behind the name has changed.
        """
        other = _without_what_it_names(dialect, refusal.words)
        if other is not None:
            is_plain = 400 <= refusal.status < 500  # noqa: PLR2004 - the range of HTTP's client errors
            if is_plain and dialect == self._settled:
                self._settled = other  # an answer may take long, so a clear refusal is believed at once
            return other
        if refusal.status in _OF_THE_REQUEST and refusal.passes:
            return None
        lower = _NEXT.get(dialect.form)
        if lower and dialect not in self._accepted:
            return replace(dialect, form=lower)
        return PLAINEST if refusal.status in _OF_THE_REQUEST and dialect != PLAINEST else None

    def accepted(self, dialect: Dialect, *, server_errors: bool, model: str | None = None) -> None:
        """Settle on a dialect in which the endpoint answered; `server_errors` means that a better one got a 5xx.

        The search starts again if only the plainest dialect is accepted where a better one was before, or if `model` is
        a new name.
        """
        if (dialect == PLAINEST != self._settled and self._settled in self._accepted) or self._is_another(model):
            self._settled, self._server_errors = self._first, 0
            self._accepted.clear()
            return
        self._accepted.add(dialect)
        if server_errors:
            self._server_errors += 1
            if self._settled in self._accepted or self._server_errors < SERVER_ERRORS_BEFORE_BELIEVED:
                return
        self._settled = dialect

    def keep_to(self, dialect: Dialect) -> None:
        """Return to an earlier dialect, because the answers in the later one were no better."""
        self._settled = dialect

    def _is_another(self, model: str | None) -> bool:
        if model is None or model in self._models:
            return False
        self._models.append(model)
        return 1 < len(self._models) <= _MOST_MODELS


def _without_what_it_names(dialect: Dialect, words: str) -> Dialect | None:
    """Return a dialect without the part that an error names; None if it names no part of this dialect."""
    if dialect.temperature and _TEMPERATURE.search(words):
        return replace(dialect, temperature=False)
    if dialect.limit and _LIMIT.search(words):
        wants = dialect.limit == "max_tokens" and "max_completion_tokens" in words
        return replace(dialect, limit="max_completion_tokens" if wants else None)
    if dialect.form != "none" and _FORM.search(words):
        return replace(dialect, form=_NEXT[dialect.form])
    if dialect.system and _SYSTEM.search(words):
        return replace(dialect, system=False)
    return None
