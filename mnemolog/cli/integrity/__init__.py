"""The commands that keep the log whole.

`backup` copies the log while it serves, verifies a copy, and restores a log from it. `verification` checks the links of
all decisions, and prints the heads that reveal a log that was replaced.
"""
