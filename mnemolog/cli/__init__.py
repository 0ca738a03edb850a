"""The command line: `main` is the console script.

`program` assembles the commands; each file in `commands` covers one noun, and those in `integrity` keep the log whole.
`invocation` gives every command its connection, its output and its exit code: `connect` finds the worker (a URL, the
holder of the data directory's lock, or `local_engine`, which starts one), `output` prints tables or JSON, `parameters`
reads a function's annotations, and `options` are the shared ones. `lines` reads JSON Lines and sends them in batches,
`logs` sets up logging. Extensions add commands by `mnemolog.hooks`.

Imports take most of a command's time. Therefore these modules import no engine, settings or tables at their top; a
command imports the modules that it alone needs.
"""

import gc
import sys
from typing import Final

__all__ = ["main"]

UNUSED: Final = ("httpx._main", "h2", "pydantic.v1", "yaml")
"""Modules that libraries load if they are installed, and can do without.

They are a program of httpx's own, which loads rich and all its lexers where they are installed; HTTP/2, which no client
here speaks; the models of pydantic 1, which FastAPI looks for; and YAML, which Faust could write. Without all of them,
a worker uses 6 MiB less, which keeps the row "resident, 10,000 memories" of docs/evidence/performance.md within its
target. None in `sys.modules` makes an import fail.
"""


def main() -> None:
    """Run the command that the arguments name, and exit: 0 done, 1 failed, 2 wrong usage."""
    gc.disable()  # loaded modules stay, and repeated collections over them take an eighth of the time
    for name in UNUSED:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type] # see above
    from mnemolog.cli.program import run  # noqa: PLC0415 - after what is above

    gc.freeze()
    gc.enable()
    run()
