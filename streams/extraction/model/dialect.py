"""Dialects: OpenAI-compatible servers refuse different parameters, and which is found out by asking."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

Form: TypeAlias = Literal["json_schema", "json_object", "none"]

_NEXT: Final[dict[Form, Form]] = {"json_schema": "json_object", "json_object": "none"}
SERVER_ERRORS_BEFORE_BELIEVED: Final = 3
"""A 500 may be a refusal (llama_cpp.server) or an outage: it counts as a refusal after so many windows."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The parts of a request that servers differ about; the defaults ask for most."""

    form: Form = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error that may mean that the endpoint does not accept a dialect."""

    status: int
    param: str | None
    message: str

    def names(self, *words: str) -> bool:
        """Return whether the error names one of these parameters, in its `param` or its message."""
        return any(word == self.param or word in self.message for word in words)


class Negotiation:
    """Finds the best dialect that an endpoint accepts, and keeps to it. One for each endpoint."""

    def __init__(self, first: Dialect | None = None) -> None:
        """Begin with `first`, by default the dialect that asks for most."""
        self._settled = first or Dialect()
        self._accepted: set[Dialect] = set()
        self._server_errors = 0

    @property
    def settled(self) -> Dialect:
        """The dialect to begin with."""
        return self._settled

    def after(self, dialect: Dialect, refusal: Refusal) -> Dialect | None:
        """Return the dialect to try next, or None when the error is not about the dialect.

        A dialect that was accepted before is given up only for an error that names one of its parameters.
        """
        if 400 <= refusal.status < 500:  # noqa: PLR2004 - the range of HTTP's client errors
            if dialect.limit == "max_tokens" and refusal.names("max_completion_tokens"):
                return replace(dialect, limit="max_completion_tokens")
            if dialect.temperature and refusal.param == "temperature":
                return replace(dialect, temperature=False)
        lower = _NEXT.get(dialect.form)
        named = refusal.names("response_format", "json_schema", "json_object")
        if lower and (named or dialect not in self._accepted):
            other = replace(dialect, form=lower)
            if named and refusal.status < 500 and dialect == self._settled:  # noqa: PLR2004 - as above
                self._settled = other  # an answer may be long in coming: what was said so plainly is believed at once
            return other
        return None

    def accepted(self, dialect: Dialect, *, server_errors: bool) -> None:
        """Keep to a dialect in which the endpoint answered; `server_errors`: a better one had got a 5xx."""
        self._accepted.add(dialect)
        if server_errors:
            self._server_errors += 1
            if self._settled in self._accepted or self._server_errors < SERVER_ERRORS_BEFORE_BELIEVED:
                return
        self._settled = dialect
