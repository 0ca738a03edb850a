"""The log of an index's outages."""

from __future__ import annotations

import logging

log = logging.getLogger("mnemolog.index")


class Outages:
    """Logs once when the index goes away, and once when it answers again, however many callers notice."""

    def __init__(self, address: object) -> None:
        """Name the index by `address` in the log. Nothing is logged until the index is away."""
        self._address = address
        self._is_away = False

    def begin(self, reason: object) -> None:
        """Note that the index does not answer; `reason` names the address."""
        if not self._is_away:
            self._is_away = True
            log.warning(
                "the index is away: %s. Searches answer 503, all else goes on; it catches up when it is back",
                reason,
            )

    def end(self) -> None:
        """Note that the index answers."""
        if self._is_away:
            self._is_away = False
            log.info("the index at %s answers again, and is brought up to date", self._address)
