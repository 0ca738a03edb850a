"""Loads the built-in encoder, which takes most of a second; the fork server imports this after all other modules.

Its objects are then frozen: a search for garbage in them would copy them into each fork.
"""

from __future__ import annotations

import gc

from support.forked_children import loaded

from projections.embedding.encoder import THREADS

loaded(THREADS)
gc.collect()
gc.freeze()
