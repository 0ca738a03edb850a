"""The command line: one file for each noun; `main` is the console script.

`invoking` gives every command its connection, its output and its exit code; `reaching` finds the worker to talk to.
"""

from mnemolog.cli.program import main

__all__ = ["main"]
