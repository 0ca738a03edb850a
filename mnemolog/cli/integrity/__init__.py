"""The commands that keep the log whole.

`backup` copies the log while it serves, verifies a copy, and makes a log of it again. `verification` checks the links
of all decisions, and prints the heads by which a copy that was exchanged is told.
"""
