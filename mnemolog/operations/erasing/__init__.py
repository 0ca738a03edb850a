"""Erasures: what they remove, what they give in return, and what comes undone.

`erasure` erases who is asked for, and `memory_erasure` the words of single memories from the log. `receipts` signs what
was done and lists it. `recovery` does again what was cut off or came undone.
"""
