"""Runs the marked snippets of Markdown files, so that the documentation is true.

A fence's info string marks it: three backticks, then `bash run`, `python run`, `console run`, or `bash server`.

- `bash run`, `python run`: must exit with 0.
- `console run`: lines after `$ ` are run (`> ` continues one); the lines below must be what they print on both streams,
  where `...` stands for anything.
- `bash server`: is started in the background; the next snippet waits until http://127.0.0.1:8420 is ready.

The snippets of one file run in order in one temporary folder, which has a copy of `examples/`. The environment's
commands come first on PATH, and no setting of ours is set. Processes that they leave running are ended with the file.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>bash|console|python) (?P<mode>run|server)\s*$")
READY = "http://127.0.0.1:8420/health/ready"
SNIPPET_SECONDS = 300.0
READY_SECONDS = 60.0
ENDING_SECONDS = 15.0


class SnippetFailedError(Exception):
    """A snippet did not do what its page says; the message has the file, the line and the output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """One marked fence; `line` is the line of its opening, counted from 1."""

    page: Path
    line: int
    language: str
    mode: str
    text: str

    def failed(self, why: str, output: str) -> SnippetFailedError:
        """Return the error with the place, the reason and the output."""
        place = self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page
        return SnippetFailedError(f"{place}:{self.line}: {why}\n{output}".rstrip())


def snippets_in(page: Path) -> list[Snippet]:
    """Return the page's marked fences in order. Raises SnippetFailedError if one is not closed."""
    found: list[Snippet] = []
    lines = iter(enumerate(page.read_text(encoding="utf-8").splitlines(), start=1))
    for number, line in lines:
        if not (fence := FENCE.match(line)):
            continue
        indent, body, closed = len(fence["indent"]), [], False
        for _, inner in lines:
            if closed := inner.strip() == "```":
                break
            body.append(inner[indent:] if not inner[:indent].strip() else inner)
        text = "\n".join(body) + "\n"
        snippet = Snippet(page=page, line=number, language=fence["language"], mode=fence["mode"], text=text)
        if not closed:
            raise snippet.failed("this fence is never closed", "")
        found.append(snippet)
    return found


def commands_in(console: str) -> list[tuple[str, str]]:
    """Split a console session into (command, expected output) pairs."""
    pairs: list[tuple[str, str]] = []
    for line in console.splitlines():
        if line.startswith("$ "):
            pairs.append((line[2:], ""))
        elif pairs and not pairs[-1][1] and line.startswith("> "):
            pairs[-1] = (f"{pairs[-1][0]}\n{line[2:]}", "")
        elif pairs:
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]}{line}\n")
    return pairs


def matches(expected: str, printed: str) -> bool:
    """Return whether `printed` equals `expected` except for space at line ends; `...` stands for anything."""
    wanted, got = ("\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (expected, printed))
    return re.fullmatch(".*".join(map(re.escape, wanted.split("..."))), got, re.DOTALL) is not None


def is_ready() -> bool:
    """Return whether a server answers at the address that the documentation names."""
    with suppress(URLError, OSError), urlopen(READY, timeout=2):
        return True
    return False


@dataclass(slots=True, kw_only=True)
class PageRun:
    """The folder and the processes of one page's snippets."""

    folder: Path
    environment: dict[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, command: list[str], log: Path) -> subprocess.Popen[bytes]:
        """Start a command in a process group of its own, so that processes that it leaves behind can be ended."""
        with log.open("wb") as out:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def output_of(self, snippet: Snippet, command: list[str]) -> str:
        """Run a command to its end and return its output. Raises SnippetFailedError if it fails or hangs."""
        with tempfile.TemporaryDirectory() as scratch:
            log = Path(scratch) / "output"
            process = self.start(command, log)
            try:
                code = process.wait(SNIPPET_SECONDS)
            except subprocess.TimeoutExpired:
                output = log.read_text(encoding="utf-8", errors="replace")
                raise snippet.failed(f"still running after {SNIPPET_SECONDS:.0f} s", output) from None
            output = log.read_text(encoding="utf-8", errors="replace")
        if code != 0:
            raise snippet.failed(f"exit code {code}", output)
        return output

    def serve(self, snippet: Snippet, log: Path) -> None:
        """Start a server and return when it is ready. Raises SnippetFailedError if it ends or takes too long."""
        if is_ready():
            raise snippet.failed(f"another server already answers at {READY}: end it first", "")
        process = self.start(["bash", "-euc", snippet.text], log)
        until = time.monotonic() + READY_SECONDS
        while not is_ready():
            if process.poll() is not None or time.monotonic() > until:
                raise snippet.failed(f"not ready at {READY}", log.read_text(encoding="utf-8", errors="replace"))
            time.sleep(0.2)

    def run(self, snippet: Snippet) -> None:
        """Run one snippet. Raises SnippetFailedError if it does not do what the page says."""
        if snippet.mode == "server":
            self.serve(snippet, self.folder / f".server-{snippet.line}.log")
        elif snippet.language == "python":
            self.output_of(snippet, ["python", "-c", snippet.text])
        elif snippet.language == "bash":
            self.output_of(snippet, ["bash", "-euo", "pipefail", "-c", snippet.text])
        else:
            for command, expected in commands_in(snippet.text):
                printed = self.output_of(snippet, ["bash", "-euo", "pipefail", "-c", command])
                if not matches(expected, printed):
                    raise snippet.failed(f"`{command}` printed something else", printed)

    def end(self) -> None:
        """End every process that a snippet left running, first by SIGTERM, then by SIGKILL."""
        for process in reversed(self.processes):
            until = time.monotonic() + ENDING_SECONDS
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
                while time.monotonic() < until:
                    process.poll()
                    os.killpg(process.pid, 0)
                    time.sleep(0.1)
                os.killpg(process.pid, signal.SIGKILL)


def environment_for_readers() -> dict[str, str]:
    """Return this environment with our commands first on PATH and without any setting of ours."""
    ours = ("MNEMOLOG_", "OPENAI_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"}


def run_page(page: Path) -> int:
    """Run a page's snippets in order; return their number. Raises SnippetFailedError for the first that fails."""
    snippets = snippets_in(page)
    with tempfile.TemporaryDirectory(prefix="snippets-") as folder:
        if (ROOT / "examples").is_dir():
            shutil.copytree(ROOT / "examples", Path(folder) / "examples")
        page_run = PageRun(folder=Path(folder), environment=environment_for_readers())
        try:
            for snippet in snippets:
                page_run.run(snippet)
        finally:
            page_run.end()
    return len(snippets)


def main(arguments: list[str]) -> int:
    """Run the snippets of the named files, and of all Markdown files in the named folders; return the exit code."""
    roots = [Path(argument).resolve() for argument in arguments]
    if absent := [str(root) for root in roots if not root.exists()]:
        print(f"no such file or folder: {', '.join(absent)}", file=sys.stderr)
        return 2
    pages = [page for root in roots for page in (sorted(root.rglob("*.md")) if root.is_dir() else [root])]
    total = failures = 0
    for page in pages:
        try:
            total += run_page(page)
        except SnippetFailedError as error:
            failures += 1
            print(error, file=sys.stderr)
    print(f"{total} snippets of {len(pages)} pages run, {failures} pages failed")
    return 1 if failures or not total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
