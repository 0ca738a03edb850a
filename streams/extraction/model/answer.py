"""A model's answer: read strictly as a whole, leniently entry by entry."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast, get_args

from projections.profile.attribute_values import fault_of
from schemas.text import plain_words, stands_in
from schemas.visible_text import visible
from schemas.vocabulary.words import Category
from streams.extraction.event_importance import episode_importance, newest_intimacy
from streams.extraction.evidence.speakers import others_of, user_name_of
from streams.extraction.model.document import find_documents, without_thoughts
from streams.extraction.protocol import Proposal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schemas.vocabulary.words import Kind
    from streams.extraction.model.document import Found
    from streams.extraction.protocol import Window

MAX_ENTRIES: Final = 200
MAX_CONTENT: Final = 6_000
"""The most characters of a content, as many as a window holds: a longer one repeats itself, and is cut."""
MAX_VALUE: Final = 500
MAX_WORD: Final = 64
MAX_NAME: Final = 120
MAX_QUOTES: Final = 10
MAX_QUOTE: Final = 500
DEFAULT_IMPORTANCE: Final = 0.5

Fault: TypeAlias = Literal["cut off", "not JSON", "wrong shape"]

_WRAPPED: Final = 3
"""How many levels of objects with one member, lists of one item and texts may wrap an answer."""
_NEXT_ENTRY: Final = re.compile(r"[\s,]*")
_LINE_NUMBER: Final = re.compile(r"\[?(\d{1,6})\]?", re.ASCII)
_KNOWN_NUMBER: Final = re.compile(r"[\[(]?K ?(\d{1,6})[\])]?", re.ASCII | re.IGNORECASE)
_APART: Final = re.compile(r"[,;，、；]")
_USER_WORDS: Final = frozenset({"", "user", "the user", "users", "用户", "我", "me", "myself", "i", "null", "none"})
"""The words by which a model says that an entry is about the user."""
_DAY: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ].*)?", re.ASCII | re.DOTALL)
# Characters that UTF-8 or a terminal cannot represent; tabs and line breaks stay.
_UNSPEAKABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Answer:
    """A usable answer: the proposals of its valid entries, and the reason for each dropped entry."""

    proposals: tuple[Proposal, ...]
    dropped: tuple[str, ...]


class UnusableAnswerError(Exception):
    """The answer as a whole is unusable: ask once more and give the reason. The message begins with its `fault`."""

    def __init__(self, fault: Fault, detail: str) -> None:
        """Take the fault, one of three values that a metric can count, and the detail for the model."""
        super().__init__(f"{fault}: {detail}")
        self.fault = fault


class _BadEntryError(Exception):
    """One entry is unusable; the others are not affected."""


def read_answer(text: str, window: Window, *, cut_off: bool = False) -> Answer:
    """Return the proposals of an answer to a window, with every default filled in.

    Accepts `{"memories": [...]}` and a bare array, wherever `find_documents` finds them.
    `cut_off` means that the model stopped at its token limit: an incomplete answer is then usable only if it repeats
    itself, up to the repetition. Entries after the first 200 are dropped. Raises UnusableAnswerError.
    """
    proposals: list[Proposal] = []
    dropped: list[str] = []
    others = others_of(window)
    try:
        entries = _entries(text, cut_off=cut_off)
    except UnusableAnswerError:
        entries = _before_circling(text) if cut_off else []
        if not cut_off:
            raise
        if not entries:
            raise UnusableAnswerError("cut off", "the answer ended at the token limit") from None
        dropped.append(f"entry {len(entries) + 1}: from here on the answer repeats itself up to the token limit")
    for number, entry in enumerate(entries[:MAX_ENTRIES], 1):
        try:
            proposal, not_shown = _proposal(entry, window, others)
        except _BadEntryError as error:
            dropped.append(f"entry {number}: {error}")
            continue
        proposals.append(proposal)
        dropped.extend(f"memory {number}: K{wrong} was not shown" for wrong in not_shown)
    dropped.extend(f"entry {number}: more than {MAX_ENTRIES}" for number in range(MAX_ENTRIES + 1, len(entries) + 1))
    return Answer(tuple(proposals), tuple(dropped))


def clean(text: str) -> str:
    """Return the text with U+FFFD for control characters and for characters that UTF-8 cannot encode."""
    return _UNSPEAKABLE.sub("\ufffd", text)


def _before_circling(text: str) -> list[object]:
    """Return the entries of a cut-off answer up to its first repetition; [] if it does not repeat itself.

    Small models may loop, writing the same entry until they are stopped. The entries before the loop are complete.
    """
    array = text.find("[", text.find('"memories"'))
    entries: list[object] = []
    decoder = json.JSONDecoder()
    place = array + 1
    while array >= 0 and place < len(text) and len(entries) < MAX_ENTRIES:
        try:
            entry, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return []
        if entry in entries:
            return entries
        entries.append(entry)
        between = _NEXT_ENTRY.match(text, place)
        place = between.end() if between else place
    return []


def holds_answer(text: str, *, cut_off: bool = False) -> bool:
    """Return whether a text contains a complete answer."""
    try:
        _entries(text, cut_off=cut_off)
    except UnusableAnswerError:
        return False
    return True


def _entries(text: str, *, cut_off: bool) -> list[object]:
    """Return the entries of the answer in a text. Raises UnusableAnswerError."""
    if not text.strip():
        raise UnusableAnswerError("not JSON", "the answer is empty")
    is_json = False

    def fits(found: Found) -> bool:
        nonlocal is_json
        is_json = is_json or found.is_apart
        return _listed(found.document, bare=found.is_apart) is not None

    documents = [found.document for found in find_documents(text, fits, cut_off=cut_off)]
    if documents:
        named = (document for document in documents if _listed(document, bare=False) is not None)
        entries = _listed(next(named, documents[0]), bare=True) or []
        if entries and not any(isinstance(entry, dict) for entry in entries):
            raise UnusableAnswerError("wrong shape", "each entry of memories must be an object")
        return entries
    if is_json:
        raise UnusableAnswerError("wrong shape", 'expected an object {"memories": [...]}')
    raise UnusableAnswerError("not JSON", _why_not_json(without_thoughts(text).strip()))


def _listed(document: object, *, bare: bool, depth: int = _WRAPPED) -> list[object] | None:
    """Return the entries that a document lists; None if it is not an answer.

    With `bare`, a list counts as an answer. Wrappers around an answer, and an answer encoded as a text, are opened.
    """
    if isinstance(document, str) and depth:
        with suppress(ValueError, RecursionError):
            return _listed(json.loads(document, strict=False), bare=bare, depth=depth - 1)
    if isinstance(document, list):
        inner = _listed(document[0], bare=False, depth=depth - 1) if len(document) == 1 and depth else None
        return document if inner is None and bare else inner
    if isinstance(document, dict) and "memories" in document:
        return _listed(document["memories"], bare=True, depth=depth)
    if isinstance(document, dict) and len(document) == 1 and depth:
        return _listed(next(iter(document.values())), bare=False, depth=depth - 1)
    return None


def _why_not_json(text: str) -> str:
    try:
        json.loads(text)
    except ValueError as error:
        return str(error)
    except RecursionError:
        return "it is nested too deep"
    return "no object is found in it" if text else "the model answered with its thoughts only"


def _proposal(entry: object, window: Window, others: Mapping[int, str]) -> tuple[Proposal, list[int]]:
    """Return a proposal, and the numbers of known memories that it names although they were not shown."""
    if not isinstance(entry, dict):
        raise _BadEntryError("it is not an object")
    fields = cast("Mapping[str, object]", entry)
    content = _text(fields.get("content"), MAX_CONTENT)
    if content is None:
        raise _BadEntryError("content is not a text, or empty")
    kind: Kind = "episodic" if _word(fields.get("kind")) == "episodic" else "semantic"
    category = _word(fields.get("category")) or "fact"
    sources = _sources(fields.get("sources"), window)
    event_type = _word(fields.get("event_type"))
    intensity = _number(fields.get("emotion_intensity"))
    importance = _importance(fields.get("importance"))
    if importance is None and kind == "episodic":
        importance = episode_importance(event_type, intensity, newest_intimacy(sources, window))
    becomes, value = _word(fields.get("becomes")), _value(fields.get("value"))
    attribute = becomes or _word(fields.get("attribute"))
    fills = attribute is not None and value is not None and fault_of(attribute, value) is None
    replaced, ended = _numbers(fields.get("replaces")), _numbers(fields.get("ends"))
    shown = {number: known.memory_id for number, known in enumerate(window.known, 1)}
    speaker = _speaker(fields.get("speaker"), sources, window, others)
    about = _about(fields.get("about"), window)
    proposal = Proposal(
        content=content,
        kind=kind,
        category=category if category in get_args(Category) else "fact",
        memory_type="long_term" if _word(fields.get("memory_type")) == "long_term" else "short_term",
        importance=DEFAULT_IMPORTANCE if importance is None else importance,
        attribute=attribute if fills and not becomes else None,
        value=value if fills else None,
        event_type=event_type,
        emotion=_text(fields.get("emotion"), MAX_WORD),
        emotion_intensity=intensity,
        key_dialogue=_quotes(fields.get("key_dialogue")),
        occurred_on=_day(fields.get("occurred_on")),
        sources=sources,
        about=None if about is not None and about == speaker else about,
        speaker=speaker,
        replaces=tuple(shown[number] for number in replaced if number in shown),
        ends=tuple(shown[number] for number in ended if number in shown and number not in replaced),
        becomes=becomes if fills else None,
    )
    return proposal, [number for number in dict.fromkeys((*replaced, *ended)) if number not in shown]


def _about(value: object, window: Window) -> str | None:
    """Return the subject of an entry; None if it is the user."""
    about = _text(value, MAX_WORD)
    if about is None or plain_words(about) in _USER_WORDS:
        return None
    name = user_name_of(window.known)
    return None if name is not None and plain_words(name) == plain_words(about) else about


def _speaker(value: object, sources: tuple[int, ...], window: Window, others: Mapping[int, str]) -> str | None:
    """Return the speaker of an entry other than the user: the one in the answer, if valid, else that of its lines.

    A speaker in the answer is valid if he or she speaks in the window or is named in the entry's lines. A name is spelt
    as in its turns.
    """
    said = _text(value, MAX_NAME)
    if said is not None:
        name = next((name for name in others.values() if plain_words(name) == plain_words(said)), None)
        if name is not None:
            return name
        quoted = any(stands_in(plain_words(said), plain_words(window.pieces[i].text)) for i in sources)
        own = {plain_words(p.name or "") for i, p in enumerate(window.pieces) if i not in others} | _USER_WORDS
        own |= {"assistant", plain_words(user_name_of(window.known) or "")}
        if quoted and plain_words(said) not in own:
            return said
    speakers = {others.get(i) for i in sources if window.pieces[i].speaker == "user"}
    return speakers.pop() if len(speakers) == 1 else None


def _numbers(value: object) -> list[int]:
    """Return the numbers of known memories in `[1, 2]`, `2.0`, `"K2"` or `"K1, K2"`, each once."""
    items = value if isinstance(value, list) else [value]
    parts = (part for item in items for part in (_APART.split(item) if isinstance(item, str) else [item]))
    found = (_line_number(_KNOWN_NUMBER.sub(r"\1", part.strip()) if isinstance(part, str) else part) for part in parts)
    return list(dict.fromkeys(number for number in found if number is not None))


def _text(value: object, limit: int) -> str | None:
    return (visible(clean(value)).strip()[:limit].rstrip() or None) if isinstance(value, str) else None


def _word(value: object) -> str | None:
    text = _text(value, MAX_WORD)
    return text.lower() if text else None


def _number(value: object) -> float | None:
    """Return a number clamped to 0 to 1; None for other values, including true, NaN and infinity."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # An integer may be too large for a float; here it can be clamped first.
    number = float(max(-1, min(value, 2))) if isinstance(value, int) else value
    return min(1.0, max(0.0, number)) if math.isfinite(number) else None


def _importance(value: object) -> float | None:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    number = _number(value)
    if number is None:
        raise _BadEntryError("importance is not a number")
    return number


def _value(value: object) -> str | None:
    """Return an attribute's value as text. Models also write numbers (ages), lists, and objects (important dates)."""
    if isinstance(value, dict):
        return _text(", ".join(f"{name}: {item}" for name, item in value.items()), MAX_VALUE)
    if isinstance(value, list):
        return _text(", ".join(str(item) for item in value if isinstance(item, str | int | float)), MAX_VALUE)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _text(json.dumps(value), MAX_VALUE)
    return _text(value, MAX_VALUE)


def _quotes(value: object) -> tuple[str, ...]:
    entries = value if isinstance(value, list) else [value]
    quotes = (_text(quote, MAX_QUOTE) for quote in entries)
    return tuple(quote for quote in quotes if quote)[:MAX_QUOTES]


def _day(value: object) -> date | None:
    match = _DAY.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    try:
        return date.fromisoformat(match[1])
    except ValueError:  # the 30th of February
        return None


def _sources(value: object, window: Window) -> tuple[int, ...]:
    """Return the indexes of the cited pieces, in the answer's order; without citations, those of all user turns."""
    cited = (_line_number(item) for item in (value if isinstance(value, list) else [value]))
    pieces = dict.fromkeys(number - 1 for number in cited if number and 1 <= number <= len(window.pieces))
    user_turns = (index for index, piece in enumerate(window.pieces) if piece.speaker == "user")
    return tuple(pieces) or tuple(user_turns) or tuple(range(len(window.pieces)))


def _line_number(value: object) -> int | None:
    if isinstance(value, str):
        match = _LINE_NUMBER.fullmatch(value.strip())
        return int(match[1]) if match else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if isinstance(value, int) or value.is_integer() else None
