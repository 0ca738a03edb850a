"""A generation's folder, and the shards in it: one for each partition, and one for global memories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from projections.partitions.receiver import copy_of
from projections.shard.errors import ShardDamaged
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


def delete_shard(folder: Path, partition: int) -> bool:
    """Delete the files of a partition's shard, which must not be open; return whether there were any."""
    files = list(folder.glob(f"{path_in(folder, partition).name}*"))
    for file in files:
        file.unlink(missing_ok=True)
    return bool(files)


def _ignore_changes(_owner: Owner, _ids: Sequence[str]) -> None:
    """Ignore the changes that a shard folds."""


class Generation:
    """One complete set of shards: it opens the files in its folder, each as far as it was folded."""

    def __init__(self, folder: Path, log: Log, partitions: int, on_change: OnChange = _ignore_changes) -> None:
        """Call `on_change` with the owner and ids of memories that change; by default changes are ignored."""
        self.folder = folder
        self._log = log
        self._partitions = partitions
        self._on_change = on_change

    def open(self, partition: int, path: Path | None = None) -> Shard:
        """Open a partition's shard, by default in its own file of the folder. Raises ShardDamaged, ShardUnavailable."""

        def belongs(owner: Owner) -> bool:
            """Return whether an owner's decisions belong to the ledger of the partition."""
            if owner.is_partition:
                return owner == partition_owner(partition)
            return not owner.is_global and partition_of(owner.key, self._partitions) == partition

        path = path or path_in(self.folder, partition)
        return _whole(lambda: Shard(path, self._log, partition, self._on_change, belongs=belongs))

    def open_globals(self) -> Shard:
        """Open the shard of the global memories of all tenants. Raises ShardDamaged, ShardUnavailable."""
        path = self.folder / "globals.sqlite"

        def belongs(owner: Owner) -> bool:
            return owner.is_global

        return _whole(lambda: Shard(path, self._log, 0, self._on_change, belongs=belongs, holds_globals=True))


def _whole(opened: Callable[[], Shard]) -> Shard:
    """Return a shard, opened a second time if its file turns out to be damaged: the second time sets the file aside."""
    try:
        return opened()
    except ShardDamaged:
        return opened()
