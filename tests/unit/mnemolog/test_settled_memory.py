"""A worker keeps the collector from what it has, and a worker that replaces it does not keep that for ever."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING
from weakref import ref

import pytest

from mnemolog.server import settle_memory

if TYPE_CHECKING:
    from collections.abc import Iterator


class Former:
    """A worker whose parts know each other, as those of a worker do."""

    def __init__(self) -> None:
        self.part = self


@pytest.fixture(autouse=True)
def _all_is_collected_again() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_what_a_worker_has_is_passed_over_as_long_as_it_lives():
    settle_memory()
    assert gc.get_freeze_count() > 0


def test_a_worker_that_was_replaced_is_collected():
    worker = Former()
    seen = ref(worker)
    settle_memory()
    del worker
    settle_memory()
    assert seen() is None
