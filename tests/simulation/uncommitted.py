"""What a worker has folded and not committed: it goes when the worker is killed, as it would with the process."""

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
    from collections.abc import MutableSet

_opened: Final[defaultdict[str, MutableSet[GroupCommit]]] = defaultdict(WeakSet)
"""By the worker that opened them: a shard that is being opened is in no list of the worker's yet."""


class _NotedCommits(GroupCommit):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        _opened[WORKER.get()].add(self)


sys.modules[Shard.__module__].__dict__["GroupCommit"] = _NotedCommits


def forget_uncommitted(worker: str) -> None:
    """Take back what a worker has not committed."""
    for writes in _opened.pop(worker, ()):
        with suppress(sqlite3.ProgrammingError):  # closed already
            writes.discard()
