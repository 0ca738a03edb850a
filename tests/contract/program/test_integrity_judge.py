"""`agent-memory-integrity` judges the embedded engine: none of its edits behind the log's back is taken for genuine."""

from __future__ import annotations

from typing import Final

from agmi.attacks.at_rest import ALL_AT_REST_ATTACKS, AT_REST_ATTACKS_WITH_SNAPSHOT, SnapshotRollbackAttack
from agmi.check import LABELS
from support.integrity_store import EmbeddedStore, ServedStore, judged
from support.tables import each


class WithHeads(EmbeddedStore):
    keeps_heads = True


class InClear(EmbeddedStore):
    encryption = "off"


class ServedInClear(ServedStore):
    encryption = "off"
    keeps_heads = True


EIGHT: Final = [LABELS[edit.name] for edit in ALL_AT_REST_ATTACKS]
NINE: Final = [LABELS[edit.name] for edit in AT_REST_ATTACKS_WITH_SNAPSHOT]


@each("edit", AT_REST_ATTACKS_WITH_SNAPSHOT, ids=NINE)
def test_every_edit_is_reported_where_heads_are_kept_elsewhere(edit: type):
    assert judged(WithHeads(), edit) == "REPORTED"


@each("edit", ALL_AT_REST_ATTACKS, ids=EIGHT)
def test_every_edit_of_records_in_clear_is_reported(edit: type):
    assert judged(InClear(), edit) == "REPORTED"


@each("edit", ALL_AT_REST_ATTACKS, ids=EIGHT)
def test_a_worker_that_folds_an_edited_log_anew_answers_nothing_of_it(edit: type):
    assert judged(ServedStore(), edit) == "REJECTED"


@each("edit", AT_REST_ATTACKS_WITH_SNAPSHOT, ids=NINE)
def test_a_worker_that_keeps_heads_elsewhere_answers_nothing_of_an_edited_log_in_clear(edit: type):
    assert judged(ServedInClear(), edit) == "REJECTED"


def test_an_older_copy_of_everything_is_genuine_where_nothing_is_kept_elsewhere():
    """It is the page's warning: keep heads where nobody comes who can write the log."""
    assert judged(EmbeddedStore(), SnapshotRollbackAttack) == "ACCEPTED"
