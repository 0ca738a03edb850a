"""What the server of forks loads after all modules: the built-in encoder, which takes most of a second.

What is there then stays as it is: looking through it for garbage would copy it into each fork.
"""

from __future__ import annotations

import gc

from support.forked_children import loaded

from projections.embedding.encoder import THREADS

loaded(THREADS)
gc.collect()
gc.freeze()
