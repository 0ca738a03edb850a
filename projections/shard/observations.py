"""The fold of the input topics and the inbox into a shard: the first record of each observation, and its answers.

Repeats of an observation are kept too: when retention removes the first record from the log, a repeat replaces it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from projections.shard.observation_lookup import Seen
from projections.shard.tables import name_of
from projections.shard.turn_statistics import remove_statistics, restore_statistics, statistics_row
from projections.shard.turn_vectors import remove_turn_vectors
from projections.state.lifetime import sql_instant
from schemas import codec
from schemas.inputs.decoding import claimed, digest_of, observation_of_record
from schemas.inputs.input_events import InvalidEvent
from schemas.inputs.pieces import is_extractable, piece_count
from schemas.log import Position
from schemas.messages.inbox import EXTRACTIONS, CandidatesExtracted, ExtractionRejected, ModelTokens
from schemas.messages.observations import ArticleInferred, ScreenshotAnalysed, TurnRecorded
from schemas.vocabulary.words import ARTICLE, SCREENSHOT

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence

    from projections.shard.erased_users import ErasedUsers
    from projections.shard.observation_lookup import ObservationLookup
    from projections.shard.turn_statistics import TurnStatistics
    from schemas.identity import Owner
    from schemas.log import Record
    from schemas.messages.observations import Observation

WITHOUT_MODEL: Final = frozenset({"rules", "verbatim"})
"""The extractors that use no model, as answers name them."""
_INSERT_REPEAT: Final = """
    insert or ignore into repeats select ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
    where not exists(select 1 from observations where owner = ? and event_id = ? and topic = ? and offset = ?)
"""
_INSERT_EXTRACTED: Final = """
    insert into extracted values(?, ?, ?, ?, ?, ?, ?, ?) on conflict(owner, piece)
    do update set item_id = excluded.item_id, cited_by = excluded.cited_by, offset = excluded.offset,
        topic = excluded.topic, place = excluded.place, rank = excluded.rank
    where excluded.rank > extracted.rank or (excluded.rank = extracted.rank and extracted.cited_by = '')
"""
"""The answer for a piece is kept, unless a better one comes, or an equally good one that cites it if it did not."""
REJECTION, PROVISIONAL, ANSWER = range(3)
"""The ranks of answers for a piece."""
_FIRST_REPEAT: Final = """
    from repeats where owner = ?1 and event_id = ?2 and (topic, offset) =
        (select topic, offset from repeats where owner = ?1 and event_id = ?2 order by topic, offset limit 1)
"""
_PROMOTE_REPEAT: Final = f"insert into observations select * {_FIRST_REPEAT}"
_DELETE_REPEAT: Final = f"delete {_FIRST_REPEAT}"


@dataclass(frozen=True, slots=True)
class Removal:
    """One step of removing old observations."""

    removed: int
    next_after: tuple[str, str] | None
    """The owner and event after which the next step begins; None if this step was the last."""


class ObservationsFold:
    """Folds the input topics, and the extractions in the inbox."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        lookup: ObservationLookup,
        statistics: TurnStatistics,
        erased: ErasedUsers,
        belongs: Callable[[Owner], bool] = lambda _: True,
    ) -> None:
        """Fold the users for whom `belongs` returns True: records that a foreign partitioner misplaced are left out."""
        self._connection = connection
        self._lookup = lookup
        self._statistics = statistics
        self._erased = erased
        self._belongs = belongs

    def fold_inputs(self, records: Sequence[Record]) -> None:
        """Insert the first record of each observation. The observe step makes unreadable records dead letters."""
        rows: list[tuple[object, ...]] = []
        dead: list[tuple[str, str, str, int, str]] = []
        folded: dict[tuple[str, str], Seen] = {}
        statistics: list[tuple[object, ...]] = []
        shown: list[tuple[object, ...]] = []
        for record in records:
            try:
                message = observation_of_record(record)
            except (codec.Undecodable, InvalidEvent) as error:
                if (claim := claimed(record)) is not None:
                    name, place = name_of(claim[0]), record.position
                    if not self._erased.drops(name, place) and not self._erased.has_source(name, claim[1]):
                        dead.append((name, claim[1], place.topic, place.offset, str(error)))
                continue
            if not self._belongs(message.envelope.owner):
                continue
            name, event_id, kind = name_of(message.envelope.owner), message.envelope.event_id, type(message).__name__
            if self._erased.drops(name, record.position) or self._erased.has_source(name, event_id):
                continue
            pieces = piece_count(message) if is_extractable(message) else 0
            folded[name, event_id] = seen = Seen(event_id, record.position, digest_of(message), kind, pieces)
            turn = message if isinstance(message, TurnRecorded) else None
            if (as_said := as_turn(message)) is not None:
                where = (record.position.topic, record.position.offset, record.recorded_at.isoformat())
                shown.append((name, event_id, *where, codec.encode(as_said)))
            if turn and (counted := statistics_row(name, turn, record.position.offset, record.recorded_at)):
                statistics.append(counted)
            rows.append(
                (
                    name,
                    event_id,
                    record.position.topic,
                    record.position.offset,
                    seen.digest,
                    kind,
                    turn.session_id if turn else None,
                    message.envelope.agent_id,
                    pieces,
                    record.recorded_at.isoformat(),
                    _bytes_of(record, turn) if turn else None,
                )
            )
        self._connection.executemany("insert or ignore into shown_texts values(?,?,?,?,?,?)", shown)
        inserting = "insert or ignore into observations values(?,?,?,?,?,?,?,?,?,?,?)"
        if self._connection.executemany(inserting, rows).rowcount < len(rows):
            _insert_repeats(self._connection, rows)
        else:  # all of them are first records
            self._lookup.remember_recent(folded)
        self._statistics.fold(statistics)
        self._connection.executemany("insert or ignore into dead values(?,?,?,?,?)", dead)

    def fold_inbox(self, records: Sequence[Record]) -> None:
        """Insert the pieces that each extraction in the inbox covers, and its cost in model tokens.

        The remember step makes unreadable items dead letters. Raises UnknownSchema for an item that only a newer
        version can read.
        """
        rows: list[tuple[object, ...]] = []
        calls: list[tuple[object, ...]] = []
        for record in records:
            try:
                item = codec.decode(record.value)
            except codec.UnknownSchema:
                raise
            except codec.Undecodable:
                continue
            codec.cache_decoded(record.value, item)  # remember decides on it next
            if isinstance(item, EXTRACTIONS):
                name = name_of(item.envelope.owner)
                rows.extend(self._extracted(name, item, record.position))
                if not self._erased.drops(name, record.position):
                    calls.extend(_model_calls(name, item, record))
        self._connection.executemany(_INSERT_EXTRACTED, rows)
        self._connection.executemany("insert or ignore into model_calls values(?,?,?,?,?,?,?,?)", calls)

    def _extracted(
        self, name: str, item: CandidatesExtracted | ExtractionRejected, position: Position
    ) -> Iterator[tuple[object, ...]]:
        """Yield the rows of the pieces that an item covers, except those that were erased.

        A piece may survive an erasure that removes its answer: then only the answer precedes the cut.
        """
        cited = _citing(item)
        for piece in item.covered:
            place = Position.of(piece.position) if piece.position else None
            if self._erased.drops(name, place or position):
                continue
            where = (place.topic, place.offset) if place else (None, None)
            cited_by = cited.get(piece.piece_id, "")
            yield name, piece.piece_id, item.envelope.event_id, cited_by, position.offset, *where, _rank(item)


def as_turn(message: Observation) -> TurnRecorded | None:
    """Return a screenshot or an article as a turn spoken by its app or title; None for other observations."""
    redacted = message.redacted if isinstance(message, (ScreenshotAnalysed, ArticleInferred)) else None
    match message:
        case ScreenshotAnalysed():
            role, ref, name, text = SCREENSHOT, message.screenshot_id, message.app or message.title, message.text
        case ArticleInferred():
            role, ref, name, text = ARTICLE, message.article_id, message.title, message.content
        case _:
            return None
    if not text.strip():
        return None
    return TurnRecorded(
        envelope=message.envelope, session_id=ref, role=role, name=name, content=text, redacted=redacted
    )


def _insert_repeats(connection: sqlite3.Connection, rows: Sequence[tuple[object, ...]]) -> None:
    """Insert those rows of observations that are not the first record of their event."""
    connection.executemany(_INSERT_REPEAT, [(*row, *row[:4]) for row in rows])


def remove_before(
    connection: sqlite3.Connection, topic: str, earliest: int, after: tuple[str, str], rows: int
) -> Removal:
    """Remove a topic's observations before an offset, among the next `rows` in the order of owner and event id.

    The first remaining repeat of an event replaces its first record.
    """
    run = connection.execute
    rows_seen = run(
        "select owner, event_id, topic = ? and offset < ? from observations "
        "where (owner, event_id) > (?, ?) order by owner, event_id limit ?",
        (topic, earliest, *after, rows),
    ).fetchall()
    old = [(owner, event_id) for owner, event_id, is_old in rows_seen if is_old]
    connection.executemany("delete from observations where owner=? and event_id=?", old)
    connection.executemany("delete from shown_texts where owner=? and event_id=?", old)
    remove_statistics(connection, old)
    remove_turn_vectors(connection, old)
    if after == ("", ""):  # they are few
        run("delete from repeats where topic=? and offset<?", (topic, earliest))
        run("delete from dead where topic=? and offset<?", (topic, earliest))
    for place in old if run("select exists(select 1 from repeats)").fetchone()[0] else ():
        run(_PROMOTE_REPEAT, place)
        run(_DELETE_REPEAT, place)
        restore_statistics(connection, place)
    return Removal(len(old), (rows_seen[-1][0], rows_seen[-1][1]) if len(rows_seen) == rows else None)


def tokens_by_model(item: CandidatesExtracted | ExtractionRejected) -> list[ModelTokens]:
    """Return the tokens of each model that was asked for an answer; [] if none was."""
    if item.tokens_by_model or item.model in WITHOUT_MODEL:
        return item.tokens_by_model
    return [ModelTokens(model=item.model, tokens_in=item.tokens_in, tokens_out=item.tokens_out)]


def _model_calls(
    name: str, item: CandidatesExtracted | ExtractionRejected, record: Record
) -> Iterator[tuple[object, ...]]:
    """Yield a row for each model that was asked for an answer. Its time is the log's, so that a rebuild agrees."""
    envelope = item.envelope
    asked_at = sql_instant(record.recorded_at)
    for took in tokens_by_model(item):
        tokens = (took.tokens_in, took.tokens_out)
        yield (name, envelope.event_id, envelope.agent_id, asked_at, took.model, *tokens, record.position.offset)


def _rank(item: CandidatesExtracted | ExtractionRejected) -> int:
    if isinstance(item, ExtractionRejected):
        return REJECTION
    return PROVISIONAL if item.provisional else ANSWER


def _citing(item: CandidatesExtracted | ExtractionRejected) -> dict[str, str]:
    """Return the ordinals of the candidates that cite each piece, separated by spaces."""
    ordinals: dict[str, list[str]] = {}
    for number, candidate in enumerate(item.candidates if isinstance(item, CandidatesExtracted) else ()):
        for piece in candidate.pieces:
            ordinals.setdefault(piece, []).append(str(number))
    return {piece: " ".join(numbers) for piece, numbers in ordinals.items()}


def _bytes_of(record: Record, message: Observation) -> bytes:
    """Return a message's bytes: the record's own, unless they are JSON."""
    return record.value if record.value.startswith(codec.MARKER) else codec.encode(message)
