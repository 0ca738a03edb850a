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
from streams.registry.protocol import RegistryRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType

    from starlette.types import ASGIApp

    from mnemolog.http.bounds.connections import ConnectionLimits
    from mnemolog.settings import Settings
    from mnemolog.tls import CertificateFiles
    from schemas.instant import Clock

GRACE_SECONDS: Final = 5
"""How long requests in progress may continue after a signal."""
HAND_OVER_SECONDS: Final = 1.0
"""How long requests in progress may delay the hand-over of partitions to other workers; then they get 503."""
STOP_SECONDS: Final = 30
"""How long a worker may take to stop after a signal; half of the time that the chart allows."""
WARN_SECONDS: Final = 1.0
"""How long the warning that the worker has not stopped may take."""
HANDSHAKE_SECONDS: Final = 10.0
"""How long a TLS handshake may take, during which the connection occupies a file descriptor."""
BACKLOG: Final = 2048
EXPECTED: Final = (
    LogError, ShardUnavailable, ShardDamaged, UnknownSchema, RegistryRefused, SettingsError, KeyFileError, TlsFailed,
    OSError,
)  # fmt: skip
"""The errors that an operator can fix, which are printed as a sentence without a traceback."""

COLLECT_AFTER: Final = (5_000, 2, 200)
"""The thresholds of Python's cycle collector for its three generations.

A collection of the younger two takes a few milliseconds. After 200 of the middle one a full collection follows, which
blocks the event loop for 100 to 200 ms with two users of 10,000 memories. It is rare, because serving requests creates
hardly any cycles (docs/decisions/processes-and-memory.md).
"""
SWITCH_SECONDS: Final = 0.0005
"""How long the event loop may hold the interpreter lock before the log's writer and other threads get it; not 5 ms."""
DATE_SECONDS: Final = 1.0
ANSWERS: Final = "mnemolog answers at %s (docs at /docs)"

log = logging.getLogger("mnemolog")


class WorkerFailed(Exception):
    """A step has failed for good; the log has everything for the next start."""


class _Server(uvicorn.Server):
    """uvicorn without its own signal handlers, which would end the process before the worker has stopped.

    It also does not poll ten times a second whether to end, so that a laptop's processor can sleep without requests.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ends = asyncio.Event()

    def end(self) -> None:
        """Stop accepting connections, and end when all requests are answered."""
        self.should_exit = True
        self._ends.set()

    async def main_loop(self) -> None:
        """Wait for the end, and update the date in the headers of answers once a second."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DATE_SECONDS):
                    await self._ends.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve at the sockets like uvicorn, but with a TLS handshake time-out of HANDSHAKE_SECONDS, not a minute."""
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

    `clock` replaces the machine's clock; `signalled` is called at each signal.

    The health routes answer from the beginning, and all others once the worker has started. Raises WorkerFailed and the
    errors in EXPECTED if the worker cannot start or continue.
    """
    check_serving(settings)
    sockets = Sockets(settings)
    stopping = asyncio.Event()
    try:
        with handled_signals(stopping.set, signalled):
            await _serve(settings, sockets, stopping, ready, clock)
    finally:
        sockets.close()


@contextlib.contextmanager
def handled_signals(stop: Callable[[], None], signalled: Callable[[], None]) -> Generator[None, None, None]:
    """Call `signalled` immediately at SIGINT and SIGTERM, and then `stop` on the running event loop.

    The handlers of the event loop would have to wait for the loop. Python's handlers run between any two bytecodes, and
    within a regular expression; only other C code that does not return delays them.
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


async def _serve(
    settings: Settings,
    sockets: Sockets,
    stopping: asyncio.Event,
    ready: asyncio.Future[str] | None,
    clock: Clock | None,
) -> None:
    """Run the worker until it must stop. Raises the errors of `serve`."""
    worker = Worker(settings, url=sockets.url, clock=clock)
    app = make_http(worker)
    limits = limits_of_process(len(sockets.all))
    servers = [_server(app, certificate_files(settings), limits)]
    if sockets.for_workers is not None:
        door = PeerDoor(app, worker.url, worker.trust.proof, worker.trust.clock)
        servers.append(_server(door, certificate_files(settings, for_workers=True), limits))
    # uvicorn closes its sockets, which are duplicates: `serve` closes the originals
    answering = asyncio.gather(
        *(server.serve(sockets=[listening.dup()]) for server, listening in zip(servers, sockets.all, strict=True))
    )
    try:
        await _run(worker, answering, stopping, ready, sockets.url)
    finally:
        worker.begin_stop()  # streams of wakes would otherwise last until the grace period ends
        for server in servers:
            server.end()
        await asyncio.wait({answering}, timeout=HAND_OVER_SECONDS)
        await worker.hand_over()
        await asyncio.gather(answering, return_exceptions=True)
        await worker.stop()


def _server(app: ASGIApp, shown: CertificateFiles | None, limits: ConnectionLimits) -> _Server:
    """Return the HTTP server, with TLS if there is a certificate. Raises TlsFailed."""
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # anyone may send them: the sender is the peer of the connection
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
    """Start the worker and wait for the first of a signal, a failure, and the end of the HTTP server."""
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
    """The sockets at which a worker listens: for callers, and optionally for the other workers of the group."""

    def __init__(self, settings: Settings) -> None:
        """Bind the ports, before anything else, so that a port in use is reported at once. Raises OSError."""
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
        """All sockets, with the one for callers first."""
        return [one for one in (self.for_everybody, self.for_workers) if one is not None]

    @property
    def url(self) -> str:
        """The URL at which callers reach the server; with a certificate, by the advertised host name if possible."""
        here = url_of(self.for_everybody, "http" if self._settings.tls_cert_file is None else "https")
        advertised = urlsplit(self._settings.advertised_url or "")
        if self._settings.tls_cert_file is None or advertised.hostname is None:
            return here
        return here if advertised.port not in (None, urlsplit(here).port) else str(self._settings.advertised_url)

    def close(self) -> None:
        """Close the sockets."""
        for one in self.all:
            one.close()


def check_serving(settings: Settings) -> None:
    """Refuse settings with which a worker would only seem to be protected or reachable. Raises SettingsError."""
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
    """Return a listening socket. Raises OSError, whose message names the setting of the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only if the protocol is given; without it each answer is delayed by 40 ms.
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
    """Return the URL of a listening socket, with the loopback address if it listens on all addresses."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - only compared
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def tune_process() -> None:
    """Tune this process for a worker; call it only in a process that does nothing else."""
    raise_file_limit()
    gc.freeze()  # the modules
    gc.enable()
    gc.set_threshold(*COLLECT_AFTER)
    sys.setswitchinterval(SWITCH_SECONDS)
    # One thread multiplies a user's few thousand vectors faster than two threads can synchronise; texts are embedded
    # in another process.
    threadpool_limits(limits=1, user_api="blas")


def settle_memory() -> None:
    """Exempt the permanent objects of a worker from the collector: modules, schemas and routes.

    Otherwise each full collection would go through them, which blocks the event loop for tens of milliseconds.
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
    """End this process if it has not stopped by itself after some seconds.

    A thread ends it, because the event loop may hang. If that thread cannot get the interpreter lock, a C thread ends
    the process a little later with the exit code 1, and prints where it hung.
    """
    if sys.__stderr__ is not None:
        faulthandler.dump_traceback_later(seconds + 2 * WARN_SECONDS, exit=True, file=sys.__stderr__)

    def warn() -> None:
        log.warning(
            "the worker has not stopped within %d s of the signal: it ends as it is, nothing that was accepted is lost",
            seconds,
        )

    def end() -> None:
        warning = threading.Thread(target=warn, daemon=True)  # it may block if stderr is no longer read
        warning.start()
        warning.join(WARN_SECONDS)
        os._exit(0)

    last_resort = threading.Timer(seconds, end)
    last_resort.daemon = True
    last_resort.start()


def _announce(done: asyncio.Future[str], messages: TextIO) -> None:
    """Print the URL of the server, unless the log shows it."""
    if not done.cancelled() and not log.isEnabledFor(logging.INFO):
        print(ANSWERS % done.result(), file=messages, flush=True)
