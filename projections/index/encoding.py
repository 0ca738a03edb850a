"""An encoding: a file with one encoder's vectors of memories whose vector in the log comes from another encoder.

It is a cache: every vector in it is computed from a text in the log, and can be computed again. Decisions never read
it: they compare texts by the vectors in the log, which are the same for every worker and for ever.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

from projections.encrypted_files import PAGE_BYTES, is_clear, key_of, open_database
from projections.shard.errors import advise_on_failure

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from projections.state.memory import Memory
    from schemas.identity import Owner

_TABLES: Final = """
create table if not exists vectors(
    tenant text not null, user_id text not null, memory_id text not null, version integer not null,
    vector blob not null, primary key(tenant, user_id, memory_id));
"""


class Encoding:
    """Vectors by user, memory and version of its text. They persist after the process ends."""

    def __init__(self, path: Path, model: str) -> None:
        """Open or create the file; `model` is the encoder's name. Raises ShardUnavailable."""
        self.path = path
        self.model = model
        with advise_on_failure(path):
            self._open()

    def _open(self) -> None:
        path = self.path
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        if is_clear(path) is (key_of(path) is not None):  # encryption was switched on or off since
            for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
                path.with_name(name).unlink(missing_ok=True)
        self._connection = open_database(path, isolation_level=None)
        try:
            self._connection.execute(f"pragma page_size={PAGE_BYTES}")
            self._connection.execute("pragma journal_mode=wal")
            self._connection.execute("pragma synchronous=normal")
            self._connection.executescript(_TABLES)
        except BaseException:
            self._connection.close()
            raise

    def put(self, owner: Owner, vectors: Iterable[tuple[Memory, bytes]]) -> None:
        """Store the encoded vectors of a user's memories in one transaction. Raises ShardUnavailable."""
        rows = [(owner.tenant, owner.user_id, m.memory_id, m.text_version, vector) for m, vector in vectors]
        with advise_on_failure(self.path), closing(self._connection.cursor()) as cursor:
            cursor.execute("begin")
            try:
                cursor.executemany("insert or replace into vectors values(?,?,?,?,?)", rows)
                cursor.execute("commit")
            except BaseException:
                if self._connection.in_transaction:  # else SQLite has rolled it back
                    cursor.execute("rollback")
                raise

    def vectors(self, owner: Owner) -> dict[str, tuple[int, bytes]]:
        """Return a user's vectors by memory, each with the version of its text."""
        found = self._connection.execute(
            "select memory_id, version, vector from vectors where tenant=? and user_id=?", (owner.tenant, owner.user_id)
        )
        return {memory_id: (version, vector) for memory_id, version, vector in found}

    def vector(self, owner: Owner, memory: Memory) -> bytes | None:
        """Return the vector of a memory's text; None if the log has the encoder's, or it is not computed yet."""
        if memory.embedding_model == self.model:
            return None
        found = self._connection.execute(
            "select vector from vectors where tenant=? and user_id=? and memory_id=? and version=?",
            (owner.tenant, owner.user_id, memory.memory_id, memory.text_version),
        ).fetchone()
        return None if found is None else bytes(found[0])

    def missing(self, owner: Owner, memories: Iterable[Memory]) -> list[Memory]:
        """Return those of a user's memories that have no vector of this encoder, neither here nor in the log."""
        others = [m for m in memories if m.embedding_model != self.model]
        if not others:
            return []
        found = self._connection.execute(
            "select memory_id, version from vectors where tenant=? and user_id=?", (owner.tenant, owner.user_id)
        )
        known = set(found)
        return [m for m in others if (m.memory_id, m.text_version) not in known]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def erase_from_files(folder: Path, owner: Owner, memory_ids: Collection[str] | None = None) -> None:
    """Delete a user's vectors, or those of some memories, from every encoding in a folder, in use or not.

    Raises ShardUnavailable.
    """
    one = "delete from vectors where tenant=? and user_id=? and (? is null or memory_id=?)"
    gone = [(owner.tenant, owner.user_id, each, each) for each in ((None,) if memory_ids is None else memory_ids)]
    for path in sorted(folder.glob("*.sqlite3")):
        with advise_on_failure(path), closing(open_database(path, "rw", isolation_level=None)) as connection:
            connection.execute("pragma busy_timeout=10000")
            connection.execute("pragma secure_delete=on")
            connection.executemany(one, gone)
            connection.execute("pragma wal_checkpoint(truncate)").fetchall()


class Chosen:
    """A user's vectors as searches see them: that of the encoding if it has one for the text, else that of the log."""

    def __init__(self, owner: Owner, logged: Mapping[str, bytes], encoding: Encoding | None) -> None:
        self._logged = logged
        self._model = "" if encoding is None else encoding.model
        self._own = {} if encoding is None else encoding.vectors(owner)

    def of(self, memory: Memory) -> tuple[bytes, str]:
        """Return a memory's vector and its encoder's name."""
        version, vector = self._own.get(memory.memory_id, (0, b""))
        if vector and version == memory.text_version and memory.embedding_model != self._model:
            return vector, self._model
        return self._logged[memory.memory_id], memory.embedding_model
