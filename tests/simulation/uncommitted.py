"""What a worker has folded and not committed: it goes when the worker is killed, and where a commit fails."""

from __future__ import annotations

import sys
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from simulation.virtual_loop import WORKER

from projections.encrypted_files import sqlite3
from projections.shard.group_commit import GroupCommit
from projections.shard.shard import Shard

if TYPE_CHECKING:
    from collections.abc import Callable, MutableSet

_opened: Final[defaultdict[str, MutableSet[GroupCommit]]] = defaultdict(WeakSet)
"""By the worker that opened them: a shard that is being opened is in no list of the worker's yet."""
_failing: Final[dict[str, Callable[[], bool]]] = {}
"""By worker, whether a commit is to fail."""


class NotedCommits(GroupCommit):
    """The group commit of a simulated worker's shard, on a disk that may be full."""

    def __init__(self, *arguments: Any) -> None:
        """Note which worker opened it."""
        super().__init__(*arguments)
        self._fails = _failing.get(WORKER.get(), lambda: False)
        _opened[WORKER.get()].add(self)

    def _commit(self) -> None:
        if self._fails():
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        super()._commit()


sys.modules[Shard.__module__].__dict__["GroupCommit"] = NotedCommits


def let_commits_fail(worker: str, fails: Callable[[], bool]) -> None:
    """Let a worker's commits fail whenever `fails` says so; before it opens any shard."""
    _failing[worker] = fails


def forget_uncommitted(worker: str) -> None:
    """Take back what a worker has not committed."""
    _failing.pop(worker, None)
    for writes in _opened.pop(worker, ()):
        with suppress(sqlite3.ProgrammingError):  # closed already
            writes.discard()
