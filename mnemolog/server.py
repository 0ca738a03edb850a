"""Server: a worker and its HTTP interface in one event loop, until a signal or a failure ends them."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import gc
import logging
import os
import signal
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any, Final, TextIO
from urllib.parse import urlsplit

import uvicorn
import uvloop
from threadpoolctl import threadpool_limits

from mnemolog.access.key_file import KeyFileError
from mnemolog.environment import SettingsError
from mnemolog.http.app import make_http
from mnemolog.http.bounds.connections import limits_of_process, protocol_settings, raise_file_limit
from mnemolog.http.peer_door import PeerDoor
from mnemolog.tls import TlsFailed, server_context
from mnemolog.worker.components import certificate_files
from mnemolog.worker.worker import Worker
from projections.shard.errors import ShardDamaged, ShardUnavailable
from schemas.codec import UnknownSchema
from schemas.disclosure import describe
from schemas.log import LogError
from streams.registry.registry import RegistryRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType

    from starlette.types import ASGIApp

    from mnemolog.http.bounds.connections import ConnectionLimits
    from mnemolog.settings import Settings
    from mnemolog.tls import CertificateFiles
    from schemas.instant import Clock

GRACE_SECONDS: Final = 5
"""How long requests in progress may go on after a signal."""
HAND_OVER_SECONDS: Final = 1.0
"""How long requests in progress may keep a worker from giving its partitions to others; then they get 503."""
STOP_SECONDS: Final = 30
"""How long a worker may take to stop after a signal; half of what the chart gives it."""
WARN_SECONDS: Final = 1.0
"""How long logging that it did not stop may take."""
HANDSHAKE_SECONDS: Final = 10.0
"""How long a connection may take until it speaks TLS; it holds a file all the while."""
BACKLOG: Final = 2048
PAUSE_SECONDS: Final = 1.0
"""Before a new worker replaces one whose shard is damaged."""
EXPECTED: Final = (
    LogError, ShardUnavailable, UnknownSchema, RegistryRefused, SettingsError, KeyFileError, TlsFailed, OSError,
)  # fmt: skip
"""What an operator can mend: printed as a sentence, without a traceback."""

COLLECT_AFTER: Final = (5_000, 2, 200)
"""When Python looks for cycles: at what was made since the last time, each fourth time also at what was left then.

Each takes a few milliseconds. After 200 of those it looks at all: with two users of 10,000 memories that keeps the
event loop for 100 to 200 ms. It is rare, because what serves requests leaves hardly any cycles
(docs/decisions/processes-and-memory.md).
"""
SWITCH_SECONDS: Final = 0.0005
"""How long the event loop may keep the interpreter lock from the log's writer and other threads, instead of 5 ms."""
DATE_SECONDS: Final = 1.0
ANSWERS: Final = "mnemolog answers at %s (docs at /docs)"

log = logging.getLogger("mnemolog")


class WorkerFailed(Exception):
    """A step has failed for good; the log has everything for the next start."""


class _Server(uvicorn.Server):
    """uvicorn, without its own signal handlers: they would end the process before the worker has stopped.

    And without its look ten times a second whether it is to end: a laptop's processor should sleep while nobody asks.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ends = asyncio.Event()

    def end(self) -> None:
        """Accept no more connections, and end when all requests are answered."""
        self.should_exit = True
        self._ends.set()

    async def main_loop(self) -> None:
        """Wait for the end, and renew the date that answers carry once a second."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DATE_SECONDS):
                    await self._ends.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer at the sockets as uvicorn does, but wait HANDSHAKE_SECONDS for TLS to begin, not a minute."""
        config, loop = self.config, asyncio.get_running_loop()
        await self.lifespan.startup()

        def protocol() -> asyncio.Protocol:
            own = {"config": config, "server_state": self.server_state, "app_state": self.lifespan.state}
            return config.http_protocol_class(**own, _loop=loop)  # type: ignore[call-arg] # as uvicorn calls it

        seconds = None if config.ssl is None else HANDSHAKE_SECONDS
        self.servers = [
            await loop.create_server(
                protocol, sock=one, ssl=config.ssl, ssl_handshake_timeout=seconds, backlog=config.backlog
            )
            for one in sockets or ()
        ]
        self.started = True


async def serve(
    settings: Settings,
    ready: asyncio.Future[str] | None = None,
    clock: Clock | None = None,
    signalled: Callable[[], None] = lambda: None,
) -> None:
    """Start a worker, answer HTTP, and stop both at SIGINT or SIGTERM; `ready` is set to the URL.

    A clock given here takes the place of the machine's; `signalled` is called at each signal.

    Health answers from the beginning; everything else when the worker has started. A worker that finds a shard damaged
    is replaced by a new one, which folds it anew. Raises WorkerFailed, and what EXPECTED lists, when the worker cannot
    start or go on.
    """
    check_serving(settings)
    sockets = Sockets(settings)
    stopping = asyncio.Event()
    try:
        with handled_signals(stopping.set, signalled):
            while await _serve_until_damaged(settings, sockets, stopping, ready, clock):  # noqa: ASYNC110 - nothing is polled
                await asyncio.sleep(PAUSE_SECONDS)
    finally:
        sockets.close()


@contextlib.contextmanager
def handled_signals(stop: Callable[[], None], signalled: Callable[[], None]) -> Generator[None, None, None]:
    """At SIGINT and SIGTERM call `signalled` at once, and then `stop` on the running event loop.

    The loop's own handlers would wait for the loop. Python's run between two of its steps, whatever it does, and within
    a regular expression; only other C code that does not end keeps them waiting.
    """
    loop = asyncio.get_running_loop()

    def handle(_number: int, _frame: FrameType | None) -> None:
        signalled()
        loop.call_soon_threadsafe(stop)

    before = {name: signal.signal(name, handle) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for name, was in before.items():
            signal.signal(name, was)


async def _serve_until_damaged(
    settings: Settings,
    sockets: Sockets,
    stopping: asyncio.Event,
    ready: asyncio.Future[str] | None,
    clock: Clock | None,
) -> bool:
    """Let one worker serve until it is to stop; return whether a new one is to replace it. Raises as `serve`."""
    worker = Worker(settings, url=sockets.url, clock=clock)
    app = make_http(worker)
    limits = limits_of_process(len(sockets.all))
    servers = [_server(app, certificate_files(settings), limits)]
    if sockets.for_workers is not None:
        door = PeerDoor(app, worker.url, worker.trust.proof, worker.trust.clock)
        servers.append(_server(door, certificate_files(settings, for_workers=True), limits))
    # uvicorn closes the socket that it is given; callers of the next worker queue at the one that stays open
    answering = asyncio.gather(
        *(server.serve(sockets=[listening.dup()]) for server, listening in zip(servers, sockets.all, strict=True))
    )
    try:
        await _run(worker, answering, stopping, ready, sockets.url)
    except (WorkerFailed, ShardDamaged) as error:
        if isinstance(error, ShardDamaged) or isinstance(error.__cause__, ShardDamaged):
            return not stopping.is_set()
        raise
    finally:
        worker.begin_stop()  # streams of wakes would go on until the grace is over
        for server in servers:
            server.end()
        await asyncio.wait({answering}, timeout=HAND_OVER_SECONDS)
        await worker.hand_over()
        await asyncio.gather(answering, return_exceptions=True)
        await worker.stop()
    return False


def _server(app: ASGIApp, shown: CertificateFiles | None, limits: ConnectionLimits) -> _Server:
    """Return what answers HTTP, by TLS where there is a certificate. Raises TlsFailed."""
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # anybody may write one: who sent a request is at the other end of its connection
        **protocol_settings(limits),
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    config.load()
    config.ssl = None if shown is None else server_context(shown)
    return _Server(config)


async def _run(
    worker: Worker,
    answering: asyncio.Future[list[None]],
    stopping: asyncio.Event,
    ready: asyncio.Future[str] | None,
    url: str,
) -> None:
    """Start the worker and wait for what comes first: a signal, a failure, or the end of the HTTP server."""
    stop = asyncio.get_running_loop().create_task(stopping.wait())
    start = asyncio.get_running_loop().create_task(worker.start())
    try:
        begins: set[asyncio.Future[Any]] = {start, stop, answering}
        await asyncio.wait(begins, return_when=asyncio.FIRST_COMPLETED)
        if not start.done():
            return
        start.result()
        settle_memory()
        worker.write_note({"pid": os.getpid(), "url": url})
        log.info(ANSWERS, url)
        if ready is not None and not ready.done():
            ready.set_result(url)
        failure = worker.failure
        assert failure is not None  # noqa: S101 - a started worker has one
        ends: set[asyncio.Future[Any]] = {failure, stop, answering}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if failure.done() and (error := failure.exception()) is not None:
            raise WorkerFailed(describe(error)) from error
        if answering.done():
            answering.result()
    finally:
        for task in (start, stop):
            task.cancel()
        await asyncio.gather(start, stop, return_exceptions=True)


class Sockets:
    """Where a worker listens: for callers, and perhaps at a port of their own for the group's other workers."""

    def __init__(self, settings: Settings) -> None:
        """Bind before anything else is done, so that a port in use is reported at once. Raises OSError."""
        self._settings = settings
        self.for_everybody = listen(settings.host, settings.port)
        self.for_workers: socket.socket | None = None
        if (port := settings.port_for_workers) is not None:
            try:
                self.for_workers = listen(settings.host, port, "MNEMOLOG_INTERNAL_PORT")
            except OSError:
                self.for_everybody.close()
                raise

    @property
    def all(self) -> list[socket.socket]:
        """The sockets, the callers' first."""
        return [one for one in (self.for_everybody, self.for_workers) if one is not None]

    @property
    def url(self) -> str:
        """Where callers reach the server, by a name that its certificate has if it has one."""
        here = url_of(self.for_everybody, "http" if self._settings.tls_cert_file is None else "https")
        advertised = urlsplit(self._settings.advertised_url or "")
        if self._settings.tls_cert_file is None or advertised.hostname is None:
            return here
        return here if advertised.port not in (None, urlsplit(here).port) else str(self._settings.advertised_url)

    def close(self) -> None:
        """Close them."""
        for one in self.all:
            one.close()


def check_serving(settings: Settings) -> None:
    """Refuse settings by which a worker would only seem to be protected, or reached. Raises SettingsError."""
    if settings.tls_client_ca_file is not None and settings.port_for_workers is None:
        raise SettingsError(
            "MNEMOLOG_TLS_CLIENT_CA_FILE is for the port of other workers, which is there on Kafka with "
            "MNEMOLOG_ADVERTISED_URL only: set that, or unset it; callers are known by their API keys"
        )
    if settings.has_proof and not settings.is_embedded and settings.advertised_url is None:
        raise SettingsError(
            "MNEMOLOG_CLUSTER_SECRET is for workers that reach each other: set MNEMOLOG_ADVERTISED_URL, "
            "such as https://worker-0:8420"
        )


def listen(host: str, port: int, setting: str = "MNEMOLOG_PORT or --port") -> socket.socket:
    """Return a socket that listens. Raises OSError, which names the setting that holds the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only where the protocol is named; without it each answer waits 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise OSError(f"cannot listen on {host}:{port}: {error.strerror}; set {setting}") from error
    listening.setblocking(False)  # noqa: FBT003 - the socket's own signature
    return listening


def url_of(listening: socket.socket, scheme: str = "http") -> str:
    """Return the URL of a socket that listens, on this machine where it listens on all its addresses."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - it is compared
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def tune_process() -> None:
    """Set what only a process of its own may set: this one is a worker and nothing else."""
    raise_file_limit()
    gc.freeze()  # the modules
    gc.enable()
    gc.set_threshold(*COLLECT_AFTER)
    sys.setswitchinterval(SWITCH_SECONDS)
    # A user's few thousand vectors are multiplied faster by one thread than two find each other; texts are embedded in
    # another process.
    threadpool_limits(limits=1, user_api="blas")


def settle_memory() -> None:
    """Have the collector pass over what a worker has for as long as it lives: modules, schemas and routes.

    It would go through them, which takes tens of milliseconds of the event loop, each time it looks at what is old.
    What a worker had that this one replaces is collected: with its caches that may be gigabytes.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def run(settings: Settings, messages: TextIO | None = None) -> int:
    """Serve until a signal; return the exit code: 0 after a signal, else 1 with a sentence on `messages` (stderr)."""
    messages = messages or sys.stderr
    tune_process()

    async def serve_and_announce() -> None:
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        ready.add_done_callback(lambda done: _announce(done, messages))
        try:
            await serve(settings, ready, signalled=end_in_time)
        finally:
            ready.cancel()

    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve_and_announce())
    except WorkerFailed as error:
        print(f"mnemolog stopped: {error}. Mend that and start it again: nothing accepted is lost.", file=messages)
    except EXPECTED as error:
        print(f"mnemolog cannot start: {error}", file=messages)
    else:
        return 0
    return 1


def end_in_time(seconds: float = STOP_SECONDS) -> None:
    """End this process when it has not stopped by itself in so many seconds.

    It is a thread that ends it, for the event loop may hang. Should that thread not get the interpreter's lock, one of
    C ends the process a little later, says where it hung, and the exit code is 1.
    """
    if sys.__stderr__ is not None:
        faulthandler.dump_traceback_later(seconds + 2 * WARN_SECONDS, exit=True, file=sys.__stderr__)

    def warn() -> None:
        log.warning(
            "the worker has not stopped within %d s of the signal: it ends as it is, nothing that was accepted is lost",
            seconds,
        )

    def end() -> None:
        warning = threading.Thread(target=warn, daemon=True)  # it may block: perhaps nothing reads stderr any more
        warning.start()
        warning.join(WARN_SECONDS)
        os._exit(0)

    last_resort = threading.Timer(seconds, end)
    last_resort.daemon = True
    last_resort.start()


def _announce(done: asyncio.Future[str], messages: TextIO) -> None:
    """Print where it answers, unless the log has it."""
    if not done.cancelled() and not log.isEnabledFor(logging.INFO):
        print(ANSWERS % done.result(), file=messages, flush=True)
