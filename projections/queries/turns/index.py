"""An index in memory of the words of users' turns, screenshots and articles, to find the words of a query in them.

A turn is searched together with the previous turn of its session, because an answer is often understood, and found,
only through its question. Nothing is stored: the first search reads a user's words from the shard, and each later one
reads the turns that have arrived since.
"""

from __future__ import annotations

import asyncio
from array import array
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from projections.index.embedded.bm25 import Bm25, RowsOfTokens
from projections.shard.turn_statistics import USER_ROLE
from projections.text.analyser import tokens
from projections.text.forms import forms_of
from projections.text.measure import language_of
from projections.user_cache import UserCache
from schemas.inputs.decoding import effective_time
from schemas.instant import microseconds
from schemas.topics import ARTICLES, CONVERSATIONS, SCREENSHOTS
from schemas.vocabulary.words import SHOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from projections.index.embedded.bm25 import Mask, Scores
    from projections.partitions.held import Held
    from projections.queries.turns.vectors import UserMeanings
    from projections.shard.rows.published_turns import Turn
    from projections.shard.shard import Shard
    from schemas.identity import Owner

    Rows: TypeAlias = NDArray[np.intp]
    Times: TypeAlias = NDArray[np.int64]
    Forms: TypeAlias = NDArray[np.uint16]
    Scored: TypeAlias = NDArray[np.float64]

MAX_TURNS: Final = 10_000
"""The number of a user's newest turns that are searched."""
MAX_CHARACTERS: Final = 2_000
"""How many characters of a turn are read."""
MAX_BYTES: Final = 256 << 20
"""The most memory for the words of all users; the least recently searched are dropped first."""
SMALL_BYTES: Final = 32 << 20
"""The same for users with few turns, whose words can be read again quickly."""
ANSWER_SHARE: Final = 0.9
"""The greatest match of a turn that only the previous turn finds, as a share of that turn's match: the turn with the
words precedes its answer."""
SHOWN_TOPICS: Final = (SCREENSHOTS.name, ARTICLES.name)
_AT_ONCE: Final = 25
"""How many turns are read before other tasks may run: three milliseconds of work."""
UNKNOWN: Final = 0.5
"""The probability of lasting value for a turn about which nothing is known."""
MAX_TOLD: Final = 500
"""The most turns of a user whose texts are cached after they were found."""
_BYTES_OF_A_TURN: Final = 1_500
_WITHDRAWN: Final = 8
"""How many rows before a request not to keep something may be withdrawn by it."""
_BYTES_OF_A_ROW: Final = 255
_BYTES_OF_A_USER: Final = 5_000
"""The measured size of the arrays and dicts of a user with few turns."""
_LANGUAGE_CHARACTERS: Final = 200
"""How many characters of a text determine its language."""
_NONE: Final = -1
_numbers: Final = count()


@dataclass(frozen=True, slots=True)
class RankedTurn:
    """A turn that a search found, with its scores. The score and both matches are 0 to 1."""

    row: int
    event_id: str
    score: float
    words: float
    meaning: float


@dataclass(frozen=True, slots=True)
class TurnMatches:
    """The match of each of a user's turns with a query: 0 to 1; the best turn has 1, a turn without the words 0."""

    words: UserWords
    scores: Scores
    answered: Scores
    """The greater of a turn's own match and that of the answer to it."""
    shares: Scores
    """The share of the weight of the query's words that occurs in each visible turn or its question, 0 to 1."""
    visible: Mask
    """Which turns are known to the asking agent and not later than the instant of the query."""

    def best(self, most: int) -> list[str]:
        """Return the ids of at most `most` turns with the words, the best match first."""
        rows = np.flatnonzero(self.scores > 0)
        scores = self.scores[rows]
        if len(rows) > most:
            kept = scores >= np.partition(scores, len(rows) - most)[len(rows) - most]
            rows, scores = rows[kept], scores[kept]
        return [self.words.event_ids[row] for row in rows[np.lexsort((rows, -scores))[:most]].tolist()]

    def places(self, event_ids: Sequence[str]) -> list[int]:
        """Return the rows of the given turns, screenshots and articles that are indexed here."""
        rows = (self.words.place(event_id) for event_id in event_ids)
        return [row for row in rows if row is not None and row < len(self.shares)]

    def ranked(self, score: Callable[[Rows, Scores], Scored], meant: Scores | None = None) -> Iterator[RankedTurn]:
        """Yield the turns that match by words or meaning, the best score first, then the newest.

        `score` takes rows and their matches. `meant` is the match of each row by meaning; the better of both counts.
        """
        found = self.scores if meant is None else np.maximum(self.scores, meant)
        rows = np.flatnonzero(found > 0)
        scores = score(rows, found[rows])
        for place in np.lexsort((rows, -self.words.times()[rows], -scores)).tolist():
            row = rows[place]
            meaning = 0.0 if meant is None else float(meant[row])
            yield RankedTurn(
                int(row), self.words.event_ids[row], float(scores[place]), float(self.scores[row]), meaning
            )


@dataclass(slots=True)
class UserWords:
    """One user's turns as rows, in the order of the log."""

    shard: Shard
    removals: int
    """The shard's count of removals when the first turn was read."""
    reached: int
    """The offset of the last turn that was read."""
    reached_shown: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SHOWN_TOPICS, _NONE))
    """The offset of the last screenshot and of the last article that was read."""
    read_to: dict[str, int] = field(default_factory=dict)
    """By topic, the offset up to which the shard was folded when the user's records were last read."""
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    event_ids: list[str] = field(default_factory=list)
    by_user: array[int] = field(default_factory=lambda: array("B"))
    answers: array[int] = field(default_factory=lambda: array("q"))
    """Each row's next turn in its session."""
    _languages: array[int] = field(default_factory=lambda: array("B"))
    _sessions: array[int] = field(default_factory=lambda: array("I"))
    _agents: array[int] = field(default_factory=lambda: array("I"))
    _times: array[int] = field(default_factory=lambda: array("q"))
    _forms: array[int] = field(default_factory=lambda: array("H"))
    _codes: dict[str | None, int] = field(default_factory=lambda: {None: 0})
    _language_codes: dict[str | None, int] = field(default_factory=lambda: {None: 0})
    _session_codes: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    """The row of each turn, without screenshots and articles."""
    _places: dict[str, int] = field(default_factory=dict)
    """The row of each turn, screenshot and article."""
    _before: array[int] = field(default_factory=lambda: array("q"))
    """Each row's previous turn in its session."""
    _last: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    """The row and the tokens of the last turn of each session."""
    _own: RowsOfTokens = field(default_factory=RowsOfTokens)
    """The words of each turn without those of the previous turn."""
    _bm25: Bm25 = field(default_factory=Bm25)
    number: int = field(default_factory=_numbers.__next__)
    """A unique number: after a removal, a new object with a new number replaces this one."""
    meanings: UserMeanings | None = None
    """The vectors of the turns, as far as they have been computed."""
    unmade: set[int] = field(default_factory=set)
    """The user's rows that lack a vector, or whose vector lacks the reply."""
    doubtful: set[int] = field(default_factory=set)
    """Rows that a later turn may have asked not to keep, until they are checked."""
    _told: dict[int, tuple[int, Turn | None]] = field(default_factory=dict)
    """The kept turns of requested rows, with the length of their session then: a later turn may withdraw them."""
    _withheld: set[int] = field(default_factory=set)
    """The sessions in which the user has asked not to keep something."""
    _is_whole: bool = False
    """Whether the oldest turns are included: an earlier request may apply to a turn."""
    _lengths: dict[int, int] = field(default_factory=dict)
    """The number of rows of each session."""
    _told_bytes: int = 0

    def __post_init__(self) -> None:
        self._is_whole = self.reached == _NONE

    @property
    def nbytes(self) -> int:
        """An estimate of the memory in use, in bytes."""
        vectors = 0 if self.meanings is None else self.meanings.nbytes
        rows = _BYTES_OF_A_ROW * len(self.event_ids)
        return _BYTES_OF_A_USER + self._bm25.nbytes + self._own.nbytes + rows + vectors + self._told_bytes

    @property
    def is_current(self) -> bool:
        """Whether the shard has removed nothing since the first turn was read."""
        return self.removals == self.shard.observations.removals

    def row(self, event_id: str) -> int | None:
        """Return the row of a turn; None if it is not indexed."""
        return self.rows.get(event_id)

    def place(self, event_id: str) -> int | None:
        """Return the row of a turn, a screenshot or an article; None if it is not indexed."""
        return self._places.get(event_id)

    def answered(self, row: int) -> int | None:
        """Return the previous row in the session of a row; None if there is none."""
        return None if self._before[row] == _NONE else self._before[row]

    def add(self, turn: Turn) -> None:
        """Add the next turn of the log."""
        message = turn.message
        row = len(self.event_ids)
        own = words_of(turn)
        before, words = self._last.get(message.session_id, (_NONE, ()))
        by_user = message.role == USER_ROLE
        if before != _NONE:
            self.answers[before] = row
            if not by_user and self.by_user[before]:
                self.unmade.add(before)
        if by_user:
            self.unmade.add(row)
        if turn.withholds:
            self.doubtful.update(self._user_rows_before(before))
        self._last[message.session_id] = (row, own)
        self._before.append(before)
        if message.role not in SHOWN:  # only the words of turns affect the ranking of memories
            self.rows[message.envelope.event_id] = row
        self._places[message.envelope.event_id] = row
        self.event_ids.append(message.envelope.event_id)
        self.by_user.append(by_user)
        self.answers.append(_NONE)
        language = spoken(message.content)
        self._languages.append(self._language_codes.setdefault(language, len(self._language_codes)))
        session = self._session_codes.setdefault(message.session_id, len(self._session_codes))
        self._sessions.append(session)
        self._lengths[session] = self._lengths.get(session, 0) + 1
        if turn.withholds:
            self._withheld.add(session)
        self._agents.append(self._codes.setdefault(message.envelope.agent_id, len(self._codes)))
        self._times.append(microseconds(effective_time(message, turn.recorded_at)))
        self._forms.append(forms_of(message.content[:MAX_CHARACTERS]))
        self._bm25.add((*words, *own))
        self._own.add(own)

    def told(self, owner: Owner, row: int) -> Turn | None:
        """Return the kept part of a row's turn; None if nothing is kept."""
        length = self._lengths[self._sessions[row]]
        known = self._told.get(row)
        if known is not None and known[0] == length:
            return known[1]
        turns, event_id = self.shard.turns, self.event_ids[row]
        is_plain = self._is_whole and self._sessions[row] not in self._withheld
        turn = turns.turn(owner, event_id) if is_plain else turns.kept(owner, event_id)
        if len(self._told) >= MAX_TOLD:
            self._told.clear()
            self._told_bytes = 0
        if known is None:
            self._told_bytes += _BYTES_OF_A_TURN + (0 if turn is None else 2 * len(turn.message.content))
        self._told[row] = length, turn
        return turn

    def _user_rows_before(self, row: int) -> Iterator[int]:
        """Yield the user's rows in a session, backwards from one row and within a limit."""
        for _ in range(_WITHDRAWN):
            if row == _NONE:
                return
            if self.by_user[row]:
                yield row
            row = self._before[row]

    def times(self) -> Times:
        """Return the effective time of each row, in microseconds."""
        return np.frombuffer(self._times, dtype=np.int64)

    def users(self) -> Mask:
        """Return which rows the user said."""
        return np.frombuffer(self.by_user, dtype=np.bool_)

    def lasting(self) -> Scored:
        """Return the probability that each row is of lasting value, 0 to 1; UNKNOWN without a suitable vector."""
        found = np.full(len(self.event_ids), UNKNOWN)
        if self.meanings is not None:
            self.meanings.write_lasting(found)
        return found

    def named(self, literals: Sequence[str]) -> Mask:
        """Return which rows contain every word of the literals of a query."""
        return self._own.holding_all([token for literal in literals for token in tokens(literal)])

    def forms(self) -> Forms:
        """Return the forms that each row contains, one bit each."""
        return np.frombuffer(self._forms, dtype=np.uint16)

    def sessions(self) -> NDArray[np.uint32]:
        """Return the number of each row's session."""
        return np.frombuffer(self._sessions, dtype=np.uint32)

    def in_other_languages(self, language: str) -> Mask:
        """Return which of the user's rows are in another language; texts without letters are excluded."""
        codes = np.frombuffer(self._languages, dtype=np.uint8)
        own = self._language_codes.get(language, len(self._language_codes))
        others: Mask = self.users() & (codes != own) & (codes != self._language_codes[None])
        return others

    def before(self, event_id: str) -> str | None:
        """Return the previous turn in a turn's session, with which it is searched; None if there is none."""
        row = self.rows.get(event_id)
        return None if row is None or self._before[row] == _NONE else self.event_ids[self._before[row]]

    def rarity(self, token: str) -> float:
        """Return the weight of a token in a query: the rarer the token, the greater."""
        return self._bm25.weight(token)

    def matches(self, query: Sequence[str], agent_id: str | None, until: datetime) -> TurnMatches:
        """Return the matches of the turns that an agent knows and that are not later than an instant."""
        scores, before = self._bm25.scores(query), np.frombuffer(self._before, dtype=np.int64)
        shares = self._shares(query, before)
        answers = np.flatnonzero(~self._own.holding(query) & (before != _NONE))
        scores[answers] = np.minimum(scores[answers], ANSWER_SHARE * scores[before[answers]])
        visible = self.visible(agent_id, until)
        scores[~visible] = shares[~visible] = 0.0
        if (best := float(scores.max(initial=0.0))) > 0.0:
            scores /= best
        next_turns = np.frombuffer(self.answers, dtype=np.int64)
        answered = np.where(next_turns == _NONE, scores, np.maximum(scores, scores[next_turns]))
        return TurnMatches(self, scores, answered, shares, visible)

    def _shares(self, query: Sequence[str], before: Times) -> Scores:
        """Return the share of the weight of a query's words that occurs in each row or its question.

        The previous row counts only if another speaker said it: consecutive turns of one speaker count separately.
        """
        weights = {token: self.rarity(token) for token in dict.fromkeys(query)}
        answers = (before != _NONE) & (self.users() != self.users()[before])
        held = np.zeros(len(before), dtype=np.float64)
        for token, weight in weights.items():
            rows = self._own.holding((token,))
            held += weight * (rows | (rows[before] & answers))
        return (held / (sum(weights.values()) or 1.0)).astype(np.float32)

    def visible(self, agent_id: str | None, until: datetime) -> Mask:
        """Return which rows an agent knows and are not later than an instant."""
        visible = self.times() <= microseconds(until)
        if agent_id is not None:
            agents = np.frombuffer(self._agents, dtype=np.uint32)
            visible &= (agents == self._codes.get(agent_id, len(self._codes))) | (agents == self._codes[None])
        return visible


class TurnIndex:
    """A cache of the words of the users that were searched last."""

    def __init__(self) -> None:
        self._users: UserCache[Owner, UserWords] = UserCache(SMALL_BYTES, MAX_BYTES)

    async def matches(self, held: Held, query: Sequence[str], agent_id: str | None, until: datetime) -> TurnMatches:
        """Return how a user's turns match, up to the last that is folded. Raises NotHeld."""
        return (await self.current(held)).matches(query, agent_id, until)

    async def current(self, held: Held) -> UserWords:
        """Return a user's words, up to the last turn that is folded. Raises NotHeld."""
        while True:
            words = self._of(held)
            async with words.reading:
                await self._read_on(held.owner, words)
                self.count(held.owner, words)
                if words.is_current and words.shard is held.shard:
                    return words

    @property
    def nbytes(self) -> int:
        """An estimate of the memory in use, in bytes."""
        return self._users.nbytes

    def has(self, held: Held) -> bool:
        """Return whether a user's words are in memory, and may be so still."""
        words = self._users.peek(held.owner)
        return words is not None and words.is_current and words.shard is held.shard

    async def newest(self, held: Held, count: int) -> UserWords:
        """Return the words of a user's newest turns alone, at most so many, without keeping them. Raises NotHeld."""
        shard = held.shard
        words = UserWords(shard, shard.observations.removals, shard.turns.offset_of_newest(held.owner, count))
        words.read_to.update((topic, shard.offset(topic)) for topic in SHOWN_TOPICS)
        await self._read_on(held.owner, words)
        return words

    def _of(self, held: Held) -> UserWords:
        shard = held.shard
        words = self._users.get(held.owner)
        if words is None or words.shard is not shard or not words.is_current:
            words = UserWords(shard, shard.observations.removals, shard.turns.offset_of_newest(held.owner, MAX_TURNS))
            self._users.put(held.owner, words, words.nbytes)
        return words

    async def _read_on(self, owner: Owner, words: UserWords) -> None:
        """Add the turns that have been folded since the last read."""
        for topic, turns in _parts(owner, words):
            for offset, turn in turns:
                words.add(turn)
                if turn.message.role in SHOWN:
                    words.reached_shown[topic] = offset
                else:
                    words.reached = offset
            self.count(owner, words)
            if len(turns) == _AT_ONCE:
                await asyncio.sleep(0)

    def count(self, owner: Owner, words: UserWords) -> None:
        """Update the memory account of a user whose words or vectors have grown."""
        if self._users.peek(owner) is words:
            self._users.resize(owner, words.nbytes)


def spoken(text: str) -> str | None:
    """Return the language of the beginning of a text, as `language_of` does; None if it has no letters."""
    beginning = text[:_LANGUAGE_CHARACTERS]
    return language_of(beginning) if any(map(str.isalpha, beginning)) else None


def said_by(turn: Turn) -> str:
    """Return the words of a turn, after the speaker's name if it is known."""
    message = turn.message
    return f"{message.name}: {message.content}" if message.name else message.content


def words_of(turn: Turn) -> tuple[str, ...]:
    """Return the searchable tokens of a turn."""
    return tokens(said_by(turn)[:MAX_CHARACTERS])


def source_of(turn: Turn) -> str:
    """Return the provenance of a turn: chat, photo or inferred."""
    return SHOWN.get(turn.message.role, "chat")


def _parts(owner: Owner, words: UserWords) -> Iterator[tuple[str, list[tuple[int, Turn]]]]:
    """Yield what was folded since, by topic; a topic of which nothing was folded is not asked for."""
    published, read_to = words.shard.turns, words.read_to
    if (folded := words.shard.offset(CONVERSATIONS.name)) != read_to.get(CONVERSATIONS.name):
        while words.is_current and (turns := published.after(owner, words.reached, _AT_ONCE)):
            yield CONVERSATIONS.name, turns
        read_to[CONVERSATIONS.name] = folded
    for topic in SHOWN_TOPICS:
        if (folded := words.shard.offset(topic)) == read_to.get(topic):
            continue
        while words.is_current and (shown := published.shown_after(owner, topic, words.reached_shown[topic], _AT_ONCE)):
            yield topic, shown
        read_to[topic] = folded
