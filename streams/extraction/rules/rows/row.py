"""Rows: what the rules know of a language, read from the TOML files in this folder.

In TOML a pattern needs no escapes, and may take as many lines as it needs: line ends are no part of it, and `{Name}`
stands for the part of that name. A row is a table: `[attribute.name]`, `[events.type.name]`, or, for a thing with its
groups `about` and `value`, `[about.attribute.name]`. It has

* `pattern`: what matches from the beginning. A group that is named for a key fills that key; any other group may be
  named in `value`, the value of the row's own key. `form`: another way to read its value; `tail`: what may follow a
  city.
* `on`, in words: where the row looks (`core`, the clause after subject and adverbs; `text`, the whole clause; `asked`,
  each clause, also a request; `said`, a clause that addresses the listener), and `raw` if it keeps particles at the
  end; whom the clause speaks of (`me`, `we`, `none`: no subject, `other`, `anyone`; `own`: with 我 in the clause);
  `past`: the past counts too; `hello`: only if the sentence greets; `stops`: no later row reads a clause that it
  matches.
* `unless`: what the clause must not contain; `before`: what the clause before must contain; `then`: what one of the
  next `reach` clauses must match; `then_not`: what no clause after it may match.
* `yes`: examples with the value that they give; `no`: examples that give none. One test reads them all.

`blockers` have a `scope`: the sentence, the rest of it, or the clause claims nothing. `whole` adds what the beginning
of a clause leaves out. `parts` are pieces of patterns; the engine looks for `cues` and `starts` by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from streams.extraction.rules.cues import compiled, tables_of

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

_FOLDER: Final = Path(__file__).parent
_SEARCHED: Final = frozenset({"unless", "before"})
_MATCHED: Final = frozenset({"pattern", "then", "then_not", "tail"})
_PLACES: Final = frozenset({"core", "text", "asked", "said"})
_WHOM: Final = frozenset({"me", "we", "none", "other", "own"})
_NO_KEYS: Final = frozenset({"parts", "cues", "starts", "blockers", "whole", "events", "about"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one kind of clause says: the key that it fills, or the event that it reports."""

    id: str
    key: str
    pattern: re.Pattern[str]
    on: str
    who: frozenset[str]
    raw: bool
    past: bool
    hello: bool
    stops: bool
    unless: re.Pattern[str] | None = None
    before: re.Pattern[str] | None = None
    then: re.Pattern[str] | None = None
    reach: int = 1
    then_not: re.Pattern[str] | None = None
    tail: re.Pattern[str] | None = None
    value: str | None = None
    form: str | None = None
    yes: dict[str, str] = field(default_factory=dict)
    no: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """A pattern whose scope then claims nothing, or one that adds what a clause leaves out."""

    id: str
    pattern: re.Pattern[str]
    scope: str = ""
    to: str = ""
    yes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The rows of one language."""

    is_chinese: bool
    cues: dict[str, re.Pattern[str]]
    blockers: tuple[Cue, ...]
    whole: tuple[Cue, ...]
    keys: tuple[Row, ...]
    events: tuple[Row, ...]
    things: tuple[Row, ...]


def _read(name: str) -> Language:
    tables: dict[str, Any] = {}
    for file in sorted(_FOLDER.glob(f"{name}*.toml")):
        for section, table in tables_of(file).items():
            tables.setdefault(section, {}).update(table)
    parts = tables["parts"]
    searched = partial(compiled, parts=parts)

    def matched(source: str) -> re.Pattern[str]:
        return compiled(f"^(?:{source})", parts)

    usual = frozenset({"me", "none"} if name == "chinese" else {"me"})

    def row(key: str, kind: str, table: dict[str, Any]) -> Row:
        read = dict.fromkeys(_SEARCHED, searched) | dict.fromkeys(_MATCHED, matched)
        fields: dict[str, Any] = {one: read[one](value) if one in read else value for one, value in table.items()}
        words = set(fields.pop("on", "").split())
        whom = frozenset(_WHOM if "anyone" in words else words & _WHOM) or usual
        fields |= {flag: flag in words for flag in ("raw", "past", "hello", "stops")}
        return Row(id=f"{key}.{kind}", key=key, on=next(iter(words & _PLACES), "core"), who=whom, **fields)

    def rows(tables: dict[str, Any]) -> tuple[Row, ...]:
        return tuple(row(key, kind, one) for key, table in tables.items() for kind, one in table.items())

    def cues(section: str, compiled: Callable[[str], re.Pattern[str]]) -> tuple[Cue, ...]:
        return tuple(
            Cue(id=kind, **one | {"pattern": compiled(one["pattern"])}) for kind, one in tables[section].items()
        )

    return Language(
        is_chinese=name == "chinese",
        cues={cue: searched(source) for cue, source in tables["cues"].items()}
        | {cue: matched(source) for cue, source in tables["starts"].items()},
        blockers=cues("blockers", searched),
        whole=cues("whole", matched),
        keys=rows({key: table for key, table in tables.items() if key not in _NO_KEYS}),
        events=rows(tables["events"]),
        things=rows(tables["about"]),
    )


ENGLISH: Final = _read("english")
CHINESE: Final = _read("chinese")
