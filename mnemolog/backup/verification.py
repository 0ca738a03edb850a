"""The verification of a backup: every byte of it is read, and every record must be in its place."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from mnemolog.backup.manifest import RECORDS, read_manifest
from mnemolog.backup.segment import BackupDamaged, check_segment, read_segment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mnemolog.backup.manifest import Manifest, PartitionCopy


def verify_backup(folder: Path, progress: Callable[[int], None] = lambda _: None) -> Manifest:
    """Read a whole backup, and return its manifest. Raises NoBackup, or BackupDamaged with the file and advice.

    `progress` is called with the bytes of each segment. No key is needed: encrypted records stay encrypted.
    """
    manifest = read_manifest(folder)
    for copy in manifest.partitions:
        _check_places(folder, copy)
        for segment in copy.segments:
            check_segment(folder / RECORDS, segment)
            offsets = [
                one.position.offset for one in read_segment(folder / RECORDS, segment, copy.topic, copy.partition)
            ]
            ascending = all(one < other for one, other in pairwise(offsets))
            if not ascending or len(offsets) != segment.records or not segment.first <= offsets[-1] < segment.end:
                raise BackupDamaged(f"{folder / RECORDS / segment.file}: its records are not those of its name")
            progress(segment.size)
    if manifest.erasures is not None and not (folder / RECORDS / manifest.erasures).exists():
        raise BackupDamaged(f"{folder / RECORDS / manifest.erasures}, the list of erasures, is missing: put it back")
    return manifest


def _check_places(folder: Path, copy: PartitionCopy) -> None:
    at = copy.earliest
    for segment in copy.segments:
        if segment.first < at or segment.end > copy.end:
            raise BackupDamaged(f"{folder}: the segments of {copy.topic}:{copy.partition} overlap: take a new backup")
        at = segment.end
