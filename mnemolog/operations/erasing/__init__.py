"""Erasures: what they remove, what they give in return, and what comes undone.

`user_erasures` and `memory_erasures` erase who, or what, is asked for; `erasure` has what both share: the copies to be
deleted, and what remains. `words_of_memories` removes the words of memories from the log. `receipts` signs what was
done and lists it. `recovery` does again what was cut off or came undone.
"""
