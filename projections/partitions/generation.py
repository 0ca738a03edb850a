"""A generation's folder, and the shards in it: one for each partition, and one for global memories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from projections.partitions.receiver import copy_of
from projections.shard.shard import Shard
from schemas.identity import Owner, partition_owner
from schemas.topics import partition_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from schemas.log import Log

    OnChange: TypeAlias = Callable[[Owner, Sequence[str]], None]


def prepare_folder(folder: Path) -> Path:
    """Return a generation's folder, created if it is missing, without unfinished copies of a killed process."""
    folder.mkdir(0o700, parents=True, exist_ok=True)
    for unfinished in folder.glob(copy_of(Path("*")).name):
        unfinished.unlink()
    return folder


def path_in(folder: Path, partition: int) -> Path:
    """Return the file of a partition's shard."""
    return folder / f"{partition}.sqlite"


def open_shard(
    folder: Path, log: Log, partition: int, partitions: int, on_change: OnChange, *, path: Path | None = None
) -> Shard:
    """Open the shard of one of `partitions` partitions, by default in its own file of the folder.

    Raises ShardDamaged, ShardUnavailable.
    """

    def belongs(owner: Owner) -> bool:
        """Return whether decisions of an owner stand in the ledger of the partition."""
        if owner.is_partition:
            return owner == partition_owner(partition)
        return not owner.is_global and partition_of(owner.key, partitions) == partition

    return Shard(path or path_in(folder, partition), log, partition, on_change, belongs=belongs)


def open_globals(folder: Path, log: Log, on_change: OnChange) -> Shard:
    """Open the shard of the global memories of all tenants. Raises ShardDamaged, ShardUnavailable."""
    path = folder / "globals.sqlite"
    return Shard(path, log, 0, on_change, belongs=lambda owner: owner.is_global, holds_globals=True)


def ignore_changes(_owner: Owner, _ids: Sequence[str]) -> None:
    """Do nothing with what a shard folds: it is not searched yet."""
