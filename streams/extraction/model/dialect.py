"""How one endpoint wants to be asked: what OpenAI-compatible servers refuse differs, and is found out by asking."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

Form: TypeAlias = Literal["json_schema", "json_object", "none"]

_NEXT: Final[dict[Form, Form]] = {"json_schema": "json_object", "json_object": "none"}
SERVER_ERRORS_BEFORE_BELIEVED: Final = 3
"""A refusal may be spelt 500 (llama_cpp.server does), but so is an outage: believed when seen in so many windows."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The parts of a request that servers differ about, beginning with what says most."""

    form: Form = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error that may mean that the endpoint does not speak a dialect."""

    status: int
    param: str | None
    message: str

    def names(self, *words: str) -> bool:
        """Return whether the error is about one of these parameters, by its `param` or its message."""
        return any(word == self.param or word in self.message for word in words)


class Negotiation:
    """Finds the first dialect that an endpoint accepts, and remembers it. One for each endpoint."""

    def __init__(self, first: Dialect | None = None) -> None:
        """Nothing is known yet; the first to be tried is the one that says most, unless told otherwise."""
        self._settled = first or Dialect()
        self._accepted: set[Dialect] = set()
        self._server_errors = 0

    @property
    def settled(self) -> Dialect:
        """The dialect to begin with."""
        return self._settled

    def after(self, dialect: Dialect, refusal: Refusal) -> Dialect | None:
        """Return the dialect to try instead, or None when the error is not, or no longer, about the dialect.

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
            return replace(dialect, form=lower)
        return None

    def accepted(self, dialect: Dialect, *, server_errors: bool) -> None:
        """Remember that the endpoint answered in this dialect; `server_errors`: after a 5xx to a better one."""
        self._accepted.add(dialect)
        if server_errors:
            self._server_errors += 1
            if self._settled in self._accepted or self._server_errors < SERVER_ERRORS_BEFORE_BELIEVED:
                return
        self._settled = dialect
