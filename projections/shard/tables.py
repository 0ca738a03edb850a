"""The SQLite file of a shard: its tables, and the functions that open it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from projections.encrypted_files import PAGE_BYTES, is_clear, key_of, open_database, sqlite3
from projections.shard.errors import ShardDamaged, is_damaged, set_aside, trouble

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

    from schemas.identity import Owner

WAL_PAGES: Final = 4_000
"""The commit that makes the write-ahead log longer than this moves it into the file itself; see `Checkpoints`."""
BUILD_CACHE_KIB: Final = 64 << 10
READ_ONLY_INDEXES: Final = (
    "memories_by_id",
    "decisions_by_item",
    "decisions_by_offset",
    "shown_by_offset",
    "turns_by_offset",
    "observations_by_session",
    "model_calls_by_time",
)
"""The indexes that folds do not read; they are built faster from a whole table than row by row."""
COVERED, REJECTED, PROVISIONAL = range(3)
"""Values of the column `rejected` of a covered piece: extracted, not extracted, extracted by the rules for now."""
VERSION: Final = 9
"""The version of the tables: a file of another version is emptied, and folded anew."""
TABLES: Final = """
create table if not exists offsets(
    topic text primary key, next integer not null, mark blob not null) without rowid;
create table if not exists users(
    owner text primary key, version integer not null, last_item text not null, last_offset integer not null,
    last_part integer not null, last_part_closed integer not null, erased_at text, tip blob not null) without rowid;
create table if not exists memories(
    owner text not null, memory_id text not null, sequence integer not null, body blob not null,
    primary key(owner, memory_id)) without rowid;
create index if not exists memories_by_id on memories(memory_id);
create table if not exists vectors(
    owner text not null, memory_id text not null, vector blob not null, primary key(owner, memory_id)) without rowid;
create table if not exists decisions(
    owner text not null, version integer not null, offset integer not null, item_id text not null, body blob not null,
    primary key(owner, version)) without rowid;
create index if not exists decisions_by_item on decisions(owner, item_id);
create index if not exists decisions_by_offset on decisions(offset);
create table if not exists items(owner text not null, item blob not null, primary key(owner, item)) without rowid;
create table if not exists covered(
    owner text not null, piece text not null, rejected integer not null, version integer not null,
    primary key(owner, piece)) without rowid;
create table if not exists cited(
    owner text not null, event_id text not null, memory_id text not null, version integer not null,
    primary key(owner, event_id, memory_id)) without rowid;
create table if not exists extracted(
    owner text not null, piece text not null, item_id text not null, cited_by text not null,
    offset integer not null, topic text, place integer, rank integer not null, primary key(owner, piece)) without rowid;
create table if not exists model_calls(
    owner text not null, item_id text not null, agent_id text, at text not null, model text not null,
    tokens_in integer not null, tokens_out integer not null, offset integer not null,
    primary key(owner, item_id, model)) without rowid;
create index if not exists model_calls_by_time on model_calls(at);
create table if not exists observations(
    owner text not null, event_id text not null, topic text not null, offset integer not null, digest blob not null,
    kind text not null, session_id text, agent_id text, pieces integer not null, recorded_at text not null,
    turn blob, primary key(owner, event_id)) without rowid;
create table if not exists shown_texts(
    owner text not null, event_id text not null, topic text not null, offset integer not null,
    recorded_at text not null, turn blob not null, primary key(owner, event_id)) without rowid;
create index if not exists shown_by_offset on shown_texts(owner, topic, offset);
create table if not exists said(
    owner text not null, event_id text not null, offset integer not null, agent_id text, at real not null,
    hour integer, sentences integer not null, words integer not null, chinese integer not null, intimacy real,
    primary key(owner, event_id)) without rowid;
create index if not exists said_close on said(owner, at, offset) where intimacy is not null;
create table if not exists turn_vectors(
    owner text not null, event_id text not null, reply_id text, model text not null, vector blob not null,
    primary key(owner, event_id)) without rowid;
create index if not exists turn_vectors_by_reply on turn_vectors(owner, reply_id) where reply_id is not null;
create table if not exists closeness(owner text primary key, body blob not null) without rowid;
create table if not exists letters(letter text primary key, pieces integer not null) without rowid;
create table if not exists given_up(
    owner text not null, piece text not null, letter text not null, detail text not null,
    offset integer not null, primary key(owner, piece, letter)) without rowid;
create index if not exists given_up_by_letter on given_up(letter);
create table if not exists repeats(
    owner text not null, event_id text not null, topic text not null, offset integer not null, digest blob not null,
    kind text not null, session_id text, agent_id text, pieces integer not null, recorded_at text not null,
    turn blob, primary key(owner, event_id, topic, offset)) without rowid;
create table if not exists dead(
    owner text not null, event_id text not null, topic text not null, offset integer not null, reason text not null,
    primary key(owner, event_id, topic, offset)) without rowid;
create table if not exists wakes(
    owner text primary key, configured blob, settings_id text, last_slot text, raised integer not null,
    round integer not null, due integer) without rowid;
create index if not exists wakes_by_due on wakes(due) where due is not null;
create table if not exists reminders(
    owner text not null, reminder_id text not null, body blob not null, primary key(owner, reminder_id)) without rowid;
create table if not exists shown(
    owner text not null, memory_id text not null, round integer not null, primary key(owner, memory_id)) without rowid;
create table if not exists raised(
    owner text not null, number integer not null, offset integer not null, tick_id text not null, body blob not null,
    primary key(owner, number)) without rowid;
create table if not exists erasures(
    owner text not null, topic text not null, before integer not null, primary key(owner, topic)) without rowid;
create table if not exists damages(owner text primary key, offset integer not null, what text not null) without rowid;
create table if not exists erased_memories(
    owner text not null, memory_id text not null, item_id text not null, primary key(owner, memory_id)) without rowid;
create index if not exists erased_memories_by_id on erased_memories(memory_id);
create table if not exists erased_sources(owner text not null, id text not null, primary key(owner, id)) without rowid;
create index if not exists raised_by_offset on raised(offset);
create index if not exists raised_by_tick on raised(tick_id);
create index if not exists turns_by_offset on observations(owner, offset) where turn is not null;
create index if not exists observations_by_session on observations(owner, session_id, offset) where turn is not null;
"""


def name_of(owner: Owner) -> str:
    """Return an owner's name in the shard's tables."""
    return f"{owner.tenant}/{owner.user_id}"


class ShardConnection(sqlite3.Connection):
    """A connection whose errors name the file and its fault, whichever query finds it."""

    path: Path
    restore: Callable[[], None] | None = None
    """Repeats the writes of the open transaction after SQLite has rolled it back; None if there are none."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401 - as sqlite3 has it
        """Run one statement. Raises ShardUnavailable, ShardDamaged."""
        if self.restore is not None and not self.in_transaction:
            self.restore()
        return self.cursor(_Cursor).execute(sql, parameters)


class _Cursor(sqlite3.Cursor):
    connection: ShardConnection

    def execute(self, sql: str, parameters: Any = (), /) -> Self:  # noqa: ANN401 - as sqlite3 has it
        try:
            return super().execute(sql, parameters)
        except sqlite3.DatabaseError as error:
            raise self._meaning(error) from error

    def fetchone(self) -> Any:  # noqa: ANN401 - as sqlite3 has it
        try:
            return super().fetchone()
        except sqlite3.DatabaseError as error:
            raise self._meaning(error) from error

    def fetchall(self) -> list[Any]:
        try:
            return super().fetchall()
        except sqlite3.DatabaseError as error:
            raise self._meaning(error) from error

    def __next__(self) -> Any:  # noqa: ANN401 - as sqlite3 has it
        try:
            return super().__next__()
        except sqlite3.DatabaseError as error:
            raise self._meaning(error) from error

    def _meaning(self, error: sqlite3.DatabaseError) -> Exception:
        is_ours = getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE)
        return error if is_ours else trouble(self.connection.path, error)


def connect(path: Path) -> ShardConnection:
    """Open a shard's file, created if it is missing, and created anew if it is damaged. Raises ShardUnavailable.

    A commit is atomic but not fsynced: after a power cut the shard is at an earlier offset and folds from there.
    """
    if is_damaged(path):
        set_aside(path)
    if is_clear(path) and key_of(path) is not None:  # encryption was switched on since: no plaintext may remain
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            path.with_name(name).unlink(missing_ok=True)
    try:
        return _opened(path)
    except ShardDamaged:
        set_aside(path)
        return _opened(path)


def begin_build(connection: ShardConnection) -> None:
    """Turn off what makes commits safe, and drop the indexes that folds do not read, until `end_build`."""
    connection.execute("pragma locking_mode=exclusive")
    connection.execute("pragma journal_mode=off")
    connection.execute("pragma synchronous=off")
    connection.execute(f"pragma cache_size={-BUILD_CACHE_KIB}")
    if key_of(connection.path) is None:  # SQLCipher does not encrypt temporary files
        connection.execute("pragma temp_store=file")
    for name in READ_ONLY_INDEXES:
        connection.execute(f"drop index {name}")


def end_build(connection: ShardConnection) -> None:
    """Create the indexes that `begin_build` dropped."""
    connection.executescript(TABLES)


def connect_to_read(path: Path) -> ShardConnection:
    """Open a second, read-only connection to the file of a shard in use: for long queries in a thread of their own.

    It reads the content committed when its transaction began. Raises ShardUnavailable, ShardDamaged.
    """
    try:
        connection: ShardConnection = open_database(
            path, "ro", isolation_level=None, check_same_thread=False, factory=ShardConnection
        )
    except sqlite3.DatabaseError as error:
        raise trouble(path, error) from error
    connection.path = path
    return connection


def _opened(path: Path) -> ShardConnection:
    try:
        connection: ShardConnection = open_database(
            path, isolation_level=None, check_same_thread=False, factory=ShardConnection
        )
    except sqlite3.DatabaseError as error:
        raise trouble(path, error) from error
    connection.path = path
    try:
        connection.execute(f"pragma page_size={PAGE_BYTES}")
        connection.execute("pragma journal_mode=wal")
        connection.execute("pragma synchronous=normal")
        connection.execute(f"pragma wal_autocheckpoint={WAL_PAGES}")
        connection.execute(f"pragma journal_size_limit={WAL_PAGES // 8 * PAGE_BYTES}")
        connection.execute("pragma temp_store=memory")
        connection.execute("pragma secure_delete=on")  # deleted rows are overwritten, for erasures
        if connection.execute("pragma user_version").fetchone() != (VERSION,):
            for (name,) in connection.execute("select name from sqlite_master where type='table'").fetchall():
                connection.execute(f"drop table {name}")
        connection.executescript(TABLES)
        connection.execute(f"pragma user_version={VERSION}")
    except sqlite3.DatabaseError as error:
        connection.close()
        raise trouble(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection
