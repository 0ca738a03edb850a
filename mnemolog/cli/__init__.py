"""The command line: `main` is the console script.

`program` puts the commands together; each file in `commands` is one noun, and `keys` the one that needs
no worker. `invocation` gives every command its
connection, its output and its exit code: `connect` finds the worker to talk to (a URL, the one that holds the data
directory's lock, or `local_engine`, which starts one), `output` prints tables or JSON, `options` are the shared ones.
`lines` reads JSON Lines and sends them in batches; `migrations` reads what other systems kept. `logs` sets up logging.
"""

from mnemolog.cli.program import main

__all__ = ["main"]
