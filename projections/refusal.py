"""The refusal of an endpoint: whether its reason is a passing state or the request itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import orjson

MOST_WORDS: Final = 2_000
"""How many characters of a refusal are read."""
_DEEPEST: Final = 6

_OF_LENGTH: Final = frozenset({400, 413, 422, 500})
_STATUSES: Final = frozenset({401, 402, 403, 404, 405, 407, 408, 425, 429})
_MONEY: Final = re.compile(
    r"insufficient|credits?\b(?! card)|balance|billing|payment|quota|arrear|overdue|spend(?:ing)? (?:limit|cap)"
    r"|usage limit|budget|subscription|free (?:tier|trial)|account .{0,40}(?:suspended|disabled|deactivated|inactive)"
    r"|余额|欠费",
    re.IGNORECASE,
)
_TOO_LONG: Final = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context|context (?:length|size|window)"
    r"|exceeds? the (?:available )?context|too many tokens"
    r"|(?:prompt|input|text|request|sequence)s? (?:is |are )?too (?:long|large)"
    r"|reduce the length|physical batch size|max_model_len|maximum (?:sequence|input) length",
    re.IGNORECASE,
)
_PASSES: Final = re.compile(
    # Keys and rights.
    r"api.?key|unauthori[sz]ed|authenticat|access denied|invalid token|token (?:is |has )?expired|location is not supp"
    # A model that is not there yet.
    r"|model_?not_?found|no models? (?:is |are )?(?:loaded|available)|not (?:been )?(?:pulled|downloaded|deployed)"
    r"|pulling|model [^\n]{0,80}(?:not found|not exist|not loaded|loading|starting)"
    r"|loading (?:the )?model|warming|cold start"
    # Too much at once.
    r"|rate.?limit|too many requests|throttl|overload|at capacity|server (?:is )?busy|try again later|temporar"
    r"|out of memory|maintenance|unavailable|timed? ?out",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The status and all words of an error, whatever its shape."""

    status: int
    words: str

    @property
    def is_a_state(self) -> bool:
        """Whether, by its status alone, an operator or time can resolve it: the request is not the reason."""
        return self.status in _STATUSES or not 400 <= self.status < 500  # noqa: PLR2004 - HTTP's client errors

    @property
    def is_too_long(self) -> bool:
        """Whether it says that the request is too long, for which some servers use a 500."""
        return self.status in _OF_LENGTH and _TOO_LONG.search(self.words) is not None

    @property
    def is_money(self) -> bool:
        """Whether it says that money or a quota has run out."""
        return _MONEY.search(self.words) is not None

    @property
    def passes(self) -> bool:
        """Whether an operator or time can resolve it: a model that is still missing, a key, money, and so on."""
        return self.is_a_state or self.is_money or _PASSES.search(self.words) is not None


def read_refusal(status: int, body: bytes) -> Refusal:
    """Return the refusal in a body; from JSON, its words are all texts and numbers, one a line."""
    try:
        words = "\n".join(_texts(orjson.loads(body[: 64 * MOST_WORDS]), _DEEPEST))
    except ValueError:
        words = body[: 4 * MOST_WORDS].decode("utf-8", "replace")
    return Refusal(status, words[:MOST_WORDS])


def told_error(body: bytes) -> Refusal | None:
    """Return the error that an answer with status 200 reports instead of a result; None if it reports none."""
    if b'"error"' not in body[:MOST_WORDS]:  # a result may be long, and is read elsewhere
        return None
    try:
        document = orjson.loads(body)
    except ValueError:
        return None
    error = document.get("error") if isinstance(document, dict) else None
    if not error:
        return None
    code = error.get("code") if isinstance(error, dict) else None
    told = code if isinstance(code, int) and code in range(400, 600) else 503
    return Refusal(told, "\n".join(_texts(error, _DEEPEST))[:MOST_WORDS])


def _texts(value: object, depth: int) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, bool) or value is None or not depth:
        return []
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [text for one in inner for text in _texts(one, depth - 1)]
    return [str(value)]
