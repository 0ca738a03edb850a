"""Erasures: what they remove, the receipts that they return, and the recovery of incomplete or undone ones.

`user_erasures` and `memory_erasures` erase a user or memories on request; `erasure` has their common parts: the copies
to delete, and what remains. `words_of_memories` removes the words of memories from the log. `receipts` signs what was
done and lists it. `recovery` repeats erasures that were interrupted or undone.
"""
