"""The commands, one noun in each file, with their `commands`, which `mnemolog.cli.program` adds to the program.

A command takes an `AsyncClient` and an `Output` from `mnemolog.cli.invocation`, calls one route, and prints the answer.
Only `up`, `topics` and `doctor` need no running worker.
"""
