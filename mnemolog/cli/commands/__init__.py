"""The commands, one noun a file, each with its `commands`, which `mnemolog.cli.program` adds to the program.

A command takes an `AsyncClient` and an `Output` from `mnemolog.cli.invocation`, calls one route, and prints the answer.
`up`, `topics` and `doctor` are the ones that need no running worker.
"""
