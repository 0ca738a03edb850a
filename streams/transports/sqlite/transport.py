"""The Faust transport `sqlite:///absolute/directory`: agents of one process over the embedded log."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from faust.transport.base import Transport as FaustTransport
from mode.utils.times import want_seconds

from streams.transports.sqlite.consumer import Consumer
from streams.transports.sqlite.log import SqliteLog
from streams.transports.sqlite.producer import Producer

if TYPE_CHECKING:
    from faust.types import ConsumerT, ProducerT


class Transport(FaustTransport):
    """Finds the log by the path in the URL: Faust makes one transport for consuming and one for producing.

    The worker opens the log before the app starts and closes it after the app has stopped; a transport does neither.
    """

    Consumer: ClassVar[type[ConsumerT]] = Consumer
    Producer: ClassVar[type[ProducerT]] = Producer
    driver_version = "mnemolog-sqlite"
    default_port = 0
    _sqlite_log: SqliteLog | None = None

    @property
    def sqlite_log(self) -> SqliteLog:
        """The open log in the URL's directory. Raises LookupError if the process has not opened it."""
        if self._sqlite_log is None:
            self._sqlite_log = SqliteLog.opened(Path(self.url[0].path))
        return self._sqlite_log

    async def create_topic(self, topic: str, partitions: int, **settings: Any) -> None:  # noqa: ANN401 - Faust's settings
        """Create a topic unless it exists; an existing one keeps its retention and compaction."""
        if topic not in self.sqlite_log.topics():
            seconds = settings.get("retention")
            retention = timedelta(seconds=want_seconds(seconds)) if seconds else None
            await self.sqlite_log.create_topic(topic, partitions, retention, compact=bool(settings.get("compacting")))
