"""Checks: each reaches one component, and reports its state and how to correct a fault.

`mnemolog doctor` runs them, and a worker does for `GET /v1/admin/checks`.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import httpx

from mnemolog.access.key_file import KeyFileError, read_keys
from mnemolog.backup.last_backup import LATE, read_last
from mnemolog.diagnostics.calls import CALL_SECONDS, called_embedder, called_model
from mnemolog.diagnostics.check import Check
from mnemolog.diagnostics.clock_check import check_clock
from mnemolog.diagnostics.encryption_check import check_encryption
from mnemolog.diagnostics.ledger_check import check_ledger
from mnemolog.diagnostics.liveness import live_url
from mnemolog.environment import SettingsError
from mnemolog.log.connection import opened_log, retention_of
from mnemolog.log.private_files import find_open
from mnemolog.log.sealing import unlock_files
from mnemolog.operations.generations import Generations
from mnemolog.operations.integrity.data_folder import FolderMismatch, check_folder
from mnemolog.operations.integrity.kept_heads import FILES, folder_of
from mnemolog.settings import revealed
from mnemolog.tls import TlsFailed, ends_at, server_context
from mnemolog.worker.components import certificate_files, configured_index, make_embedder, make_registry, make_trust
from projections.blocking_work import run_in_thread
from projections.embedding.choice import ENDPOINT, read_choice
from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable
from projections.index.protocol import IndexUnavailable
from projections.shard.errors import find_damaged
from schemas.disclosure import masked
from schemas.log import LogError, LogLocked, LogUnavailable, UnknownTopic
from schemas.topics import TOPICS
from streams.registry.protocol import NoRegistry, RegistryUnavailable
from streams.sealing.key_files import KeysUnusable
from streams.sealing.key_ring import KeysMissing
from streams.sealing.master_key import MasterKeyUnknown
from streams.transports.directory_lock import read_note
from streams.transports.sqlite.file import LOG_FILE
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping
    from pathlib import Path

    from mnemolog.log.sealing import KeyedLog
    from mnemolog.settings import Settings
    from schemas.log import Log
    from streams.transports.kafka.log import KafkaLog

OPENAI_URL: Final = "https://api.openai.com/v1"
REACH_SECONDS: Final = 5.0
"""The time limit of a check: enough for a healthy component, and short for a frozen one."""
_LOAD_SECONDS: Final = 30.0
"""The time limit for encoders on this machine, which are loaded for the check."""
_KEPT_SECONDS: Final = 1.0
"""The time limit for the shards of a generation that is kept only to switch back to."""
LEAST_FREE_BYTES: Final = 100 * 1024 * 1024
LEAST_DAYS: Final = 7.0
"""The least remaining validity of a certificate."""
_PROBES: Final = ("Does it answer?", "它有回应吗？")
_START_KAFKA: Final = "start Kafka, or correct MNEMOLOG_BROKER"
_HEADS: Final = "heads"


@dataclass(frozen=True, slots=True)
class Checks:
    """The state of all components."""

    ok: bool
    checks: list[Check]


async def checked(
    settings: Settings, log_away: str | None = None, own: KeyedLog | None = None, *, calls: bool = False
) -> list[Check]:
    """Reach every configured component, within a few seconds.

    `log_away`: why the log is known to be unavailable; it is then not tried. `own`: the log that this process has open.
    `calls`: the model and the embedding endpoint are asked one question each, which may cost money and take up to a
    minute and a half.
    """
    folder = _data_directory(settings)
    log = []
    note = read_note(settings.data_dir.resolve() / "log") if folder.ok else None
    if note is not None:
        log.append(await _held(note, "log" if settings.is_embedded else "worker", settings.ca_file))
    if folder.ok and (note is None or not settings.is_embedded):
        away = Check("log", ok=False, detail=log_away, advice=_START_KAFKA) if log_away else await _mismatch(settings)
        log.append(away or await _log(settings))
    registry, llm = masked(settings.schema_registry_url or ""), masked(settings.llm_base_url or OPENAI_URL)
    index = masked(settings.index)
    call_seconds = 1.5 * CALL_SECONDS if calls else 0.0
    embedding = (
        (masked(settings.embedding_base_url or OPENAI_URL), "EMBEDDING_BASE_URL", REACH_SECONDS + call_seconds)
        if read_choice(settings.embedding_model).kind == ENDPOINT
        else (settings.embedding_model, "EMBEDDING_MODEL", _LOAD_SECONDS)
    )
    checks = [
        _in_time("index", _index(settings), index, "INDEX"),
        _in_time("schema registry", _registry(settings), registry, "SCHEMA_REGISTRY_URL"),
        _in_time("extractor", _model(settings, calls=calls), llm, "LLM_BASE_URL", REACH_SECONDS + call_seconds),
        _in_time("embedder", _embedder(settings, calls=calls), *embedding),
    ]
    if folder.ok:
        checks += [
            _in_time("shards", _shards(settings), str(settings.data_dir), None),
            _in_time("encryption", check_encryption(settings, log_away, own), str(settings.data_dir), None),
        ]
        checks += [check_backup(settings), check_heads(settings)]
    is_whole = folder.ok and own is None
    # A worker knows the part of the ledger that it has folded: see the route of checks.
    ledger = [await check_ledger(settings)] if is_whole and log_away is None else []
    keys = [] if settings.api_keys_file is None else [_api_keys(settings.api_keys_file)]
    certificate = [] if settings.tls_cert_file is None else [_certificate(settings, settings.tls_cert_file)]
    clock = await check_clock(settings, note) if is_whole and not log_away else []
    return [folder, *log, *ledger, *clock, *keys, *certificate, *await asyncio.gather(*checks)]


async def _in_time(
    name: str, check: Awaitable[Check], place: str | None, setting: str | None, seconds: float = REACH_SECONDS
) -> Check:
    """Await a check within a time limit; `setting` names the setting with the place, None for a local folder."""
    try:
        return await asyncio.wait_for(check, seconds)
    except TimeoutError:
        if setting is None:
            detail = f"{place} cannot be read within {seconds:.0f} s"
            return Check(
                name, ok=False, detail=detail, advice="see how busy the disk and the machine are, then look again"
            )
        detail = f"{place} does not answer within {seconds:.0f} s, and does not refuse: it hangs"
        advice = f"look at its process and its log, or correct MNEMOLOG_{setting}; nothing is lost meanwhile"
        return Check(name, ok=False, detail=detail, advice=advice)


def _api_keys(path: Path) -> Check:
    """Read the file of keys as a worker does."""
    try:
        number = len(read_keys(path))
    except KeyFileError as error:
        return Check("API keys", ok=False, detail=str(error), advice="correct the file, or MNEMOLOG_API_KEYS_FILE")
    advice = "" if number else "make one by `mnemolog keys create`"
    return Check("API keys", ok=number > 0, detail=f"{path}: {number} keys", advice=advice)


def _data_directory(settings: Settings) -> Check:
    """Test whether a file can be written there, or the folder created, and leave nothing behind."""
    folder = settings.data_dir.resolve()
    try:
        there = next(place for place in (folder, *folder.parents) if place.exists())
        with tempfile.TemporaryFile(dir=there) as probe:
            probe.write(b"mnemolog")
        free = shutil.disk_usage(there).free
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        cure = "free space on its disk" if full else "make it writable"
        advice = f"{cure}, or name another with --data or MNEMOLOG_DATA_DIR"
        return Check("data directory", ok=False, detail=f"{folder}: {error.strerror}", advice=advice)
    state = "is writable" if there == folder else "is not there yet and can be made"
    detail = f"{folder} {state}, {free // 2**20:,} MiB free"
    if exposed := find_open(folder):
        seen = f"{folder}: other users of this machine can open {exposed[0]}, and {len(exposed) - 1} more"
        return Check("data directory", ok=False, detail=seen, advice="start a worker: it closes them; or chmod -R go=")
    enough = free >= LEAST_FREE_BYTES
    return Check("data directory", ok=enough, detail=detail, advice="" if enough else "free some space")


async def _shards(settings: Settings) -> Check:
    """Read through the shards, as far as time allows: damage may go unnoticed for long."""
    generations = Generations(settings.data_dir.resolve())
    complete = await run_in_thread(generations.complete)
    if not complete:
        return Check("shards", ok=True, detail="none yet")
    active = await run_in_thread(lambda: generations.active)
    try:
        await unlock_files(settings)
    except (KeysUnusable, KeysMissing, MasterKeyUnknown) as error:
        detail = f"encrypted, and cannot be opened: {error}"
        return Check("shards", ok=False, detail=detail, advice="give the master key that the log was encrypted with")
    except LogError as error:
        return Check("shards", ok=True, detail=f"encrypted, and not read through: {error}")
    damaged = await run_in_thread(find_damaged, generations.folder(active), REACH_SECONDS / 2)
    if damaged:
        detail = f"damaged: {', '.join(map(str, damaged))}"
        advice = "start the worker again, or give any command: they are set aside and folded anew from the log"
        return Check("shards", ok=False, detail=detail, advice=advice)
    others = {
        g: await run_in_thread(find_damaged, generations.folder(g), _KEPT_SECONDS) for g in complete if g != active
    }
    kept = [g for g, found in others.items() if found]
    if kept:
        detail = (
            f"can be read; of generation {kept[0]}, which is only kept to switch back to, some are damaged: switching "
            "folds them anew from the log, and the next `mnemolog rebuild` deletes it"
        )
        return Check("shards", ok=True, detail=detail)
    return Check("shards", ok=True, detail="can be read")


async def _mismatch(settings: Settings) -> Check | None:
    """Return the check of a data directory whose parts do not belong together; None for any other."""
    try:
        await check_folder(settings)
    except FolderMismatch as error:
        return Check("log", ok=False, detail=str(error), advice="do what it says; no worker starts before")
    except LogError:
        pass  # the checks of the log and of its encryption report it
    return None


async def _log(settings: Settings) -> Check:
    try:
        counts, misfits = await _topics(settings)
    except LogLocked as error:
        return Check("log", ok=True, detail=str(error))
    except TimeoutError:
        detail = f"{settings.broker} does not answer within {2 * REACH_SECONDS:.0f} s"
        return Check("log", ok=False, detail=detail, advice=_START_KAFKA)
    except (LogError, OSError) as error:
        away = isinstance(error, LogUnavailable) and not settings.is_embedded
        advice = _START_KAFKA if away else "mend what it says"
        return Check("log", ok=False, detail=f"{settings.broker}: {reason(error)}", advice=advice)
    wanted = {topic.name: 1 if topic.single_partition else settings.partitions for topic in TOPICS}
    wrong = [name for name, count in counts.items() if count not in (0, wanted[name])]
    if wrong:
        detail = f"{wrong[0]} has {counts[wrong[0]]} partitions, not {wanted[wrong[0]]}"
        return Check("log", ok=False, detail=detail, advice=f"set MNEMOLOG_PARTITIONS={counts[wrong[0]]}")
    if misfits:
        advice = "set it with `kafka-configs --alter --entity-type topics`; what was dropped meanwhile is gone"
        return Check("log", ok=False, detail="; ".join(misfits), advice=advice)
    missing = sum(count == 0 for count in counts.values())
    state = (
        f"{missing} topics are still to be created, by `up` or `topics create`" if missing else "all topics are there"
    )
    free = " and free" if settings.is_embedded else ""
    return Check("log", ok=True, detail=f"{settings.broker} is reachable{free}: {state}")


async def _topics(settings: Settings) -> tuple[dict[str, int], list[str]]:
    """Return the number of each topic's partitions, 0 for a missing topic, and the faults in their settings.

    An embedded log is not created if it is missing. Raises LogError, OSError, TimeoutError.
    """
    if settings.is_embedded and not (settings.data_dir.resolve() / "log" / LOG_FILE).exists():
        return dict.fromkeys((topic.name for topic in TOPICS), 0), []
    async with asyncio.timeout(2 * REACH_SECONDS), opened_log(settings) as log:
        counts = {topic.name: await _partitions(log, topic.name) for topic in TOPICS}
        return counts, [] if isinstance(log, SqliteLog) else await _misfits(log, settings, counts)


async def _misfits(log: KafkaLog, settings: Settings, counts: Mapping[str, int]) -> list[str]:
    """Return the settings of existing topics that would lose or misdate their records."""
    misfits = []
    for topic in TOPICS:
        if counts[topic.name]:
            wrong = await log.misfits(topic.name, retention_of(topic, settings), compact=topic.compacted)
            misfits += [f"{topic.name} has {setting}" for setting in wrong]
    return misfits


async def _partitions(log: Log, topic: str) -> int:
    try:
        return await log.partitions(topic)
    except UnknownTopic:
        return 0


async def _held(note: dict[str, object], name: str, ca_file: Path | None) -> Check:
    """Check the process that holds the data directory: all is well if it answers."""
    holder = f"held by process {note['pid']}"
    if "url" not in note:
        return Check(name, ok=True, detail=f"{holder}, which is starting, or is a command")
    if await live_url(note, ca_file) is not None:
        return Check(name, ok=True, detail=f"{holder}, which answers at {note['url']}")
    advice = f"look at its log; if it hangs, end it (kill {note['pid']}) and start `mnemolog up` again"
    return Check(name, ok=False, detail=f"{holder}, but {note['url']} does not answer", advice=advice)


def _certificate(settings: Settings, certificate: Path) -> Check:
    """Load the server's certificate as a worker does, and report when it expires."""
    try:
        make_trust(settings)
        for files in filter(None, (certificate_files(settings, for_workers=inner) for inner in (False, True))):
            server_context(files)
        end = ends_at(certificate)
    except (TlsFailed, SettingsError) as error:
        return Check("certificate", ok=False, detail=str(error), advice="mend what it says; a worker reads it again")
    days = (end - datetime.now(UTC)) / timedelta(days=1)
    detail = f"{certificate} ends on {end:%Y-%m-%d}, in {days:.0f} days"
    advice = f"renew it: put the new one at {certificate}, a worker reads it again without a restart"
    return Check("certificate", ok=days > LEAST_DAYS, detail=detail, advice=advice)


async def _index(settings: Settings) -> Check:
    adapter, config = configured_index(settings)
    if adapter.probe is None:
        return Check("index", ok=True, detail=f"{adapter.title}, in process")
    try:
        server = await adapter.probe(config)
    except IndexUnavailable as error:
        advice = f"{adapter.advice}; until then searches answer 503, and nothing is lost"
        return Check("index", ok=False, detail=str(error), advice=advice)
    return Check("index", ok=True, detail=f"{server} at {masked(settings.index)}, which answers")


async def _registry(settings: Settings) -> Check:
    if isinstance(registry := make_registry(settings), NoRegistry):
        return Check("schema registry", ok=True, detail="none; registry Avro is not read")
    try:
        lacking, refusing = await registry.unregistered()
    except RegistryUnavailable as error:
        advice = "start it, or correct MNEMOLOG_SCHEMA_REGISTRY_URL; until then records of schemas new to us wait"
        return Check("schema registry", ok=False, detail=str(error), advice=advice)
    finally:
        await registry.aclose()
    if refusing:
        advice = "delete its versions that are a mistake; a worker does not start otherwise"
        return Check("schema registry", ok=False, detail=f"{refusing[0]} is incompatible with ours", advice=advice)
    lack = (
        f"{len(lacking)} of our schemas are not registered: a worker registers them when it starts, start one (again)"
    )
    state = lack if lacking else "our schemas are registered"
    return Check("schema registry", ok=True, detail=f"{registry.url} answers: {state}")


async def _model(settings: Settings, *, calls: bool) -> Check:
    if settings.extracts_with != "model":
        return Check("extractor", ok=True, detail=f"{settings.extracts_with}, in process; no model is asked")
    url = settings.llm_base_url or OPENAI_URL
    reached = await _endpoint("model", url, revealed(settings.llm_api_key), settings.llm_model, "LLM")
    return await called_model(settings) if calls and reached.ok else reached


async def _embedder(settings: Settings, *, calls: bool) -> Check:
    if settings.embedding_model == "builtin":
        return Check("embedder", ok=True, detail="builtin, on this machine")
    if read_choice(settings.embedding_model).kind != ENDPOINT:
        return await _encoder(settings)
    url, key = settings.embedding_base_url or OPENAI_URL, revealed(settings.embedding_api_key)
    reached = await _endpoint("embedder", url, key, settings.embedding_model, "EMBEDDING")
    return await called_embedder(settings) if calls and reached.ok else reached


async def _encoder(settings: Settings) -> Check:
    """Embed texts with the encoder on this machine."""
    try:
        embedder = make_embedder(settings)
    except SettingsError as error:
        return Check("embedder", ok=False, detail=str(error), advice="correct MNEMOLOG_EMBEDDING_MODEL")
    try:
        vectors = await embedder.embed(_PROBES, urgent=True)
    except (EmbedderUnavailable, EmbedderRefused) as error:
        advice = "the encoder's own words are above; correct MNEMOLOG_EMBEDDING_MODEL, nothing is lost meanwhile"
        return Check("embedder", ok=False, detail=str(error), advice=advice)
    finally:
        await embedder.close()
    return Check("embedder", ok=True, detail=f"{embedder.model}: {vectors.shape[1]} dimensions")


async def _endpoint(name: str, url: str, key: str | None, model: str, prefix: str) -> Check:
    """Ask an OpenAI-compatible endpoint for its models; an endpoint without such a list counts as reached."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    shown = masked(url)
    async with httpx.AsyncClient(timeout=REACH_SECONDS, headers=headers) as http:
        try:
            answer = await http.get(f"{url.rstrip('/')}/models")
        except (httpx.TransportError, httpx.InvalidURL) as error:
            advice = f"start it, or correct MNEMOLOG_{prefix}_BASE_URL; until then events wait and nothing is lost"
            return Check(name, ok=False, detail=f"{shown}: {reason(error)}", advice=advice)
    if answer.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        advice = f"correct MNEMOLOG_{prefix}_API_KEY"
        return Check(name, ok=False, detail=f"{shown} answers {answer.status_code}", advice=advice)
    if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        advice = "ask its operator; until then events wait and nothing is lost"
        return Check(name, ok=False, detail=f"{shown} answers {answer.status_code}", advice=advice)
    return Check(name, ok=True, detail=f"{model} at {shown}, which answers")


def reason(error: Exception) -> str:
    """Return the message of an error, or its type if it has none; nothing of an invalid URL."""
    if isinstance(error, httpx.InvalidURL):
        return "is no URL"
    return str(error) or type(error).__name__


async def check_backup(settings: Settings) -> Check:
    """Report the age of the last backup; a late backup is a fault, but not having made one is not."""
    last = read_last(settings.data_dir)
    if last is None:
        return Check("backup", ok=True, detail="none was made: `mnemolog backup DIR` makes one while it serves")
    age = datetime.now(UTC) - last.moment
    days, hours = age.days, age.seconds // 3600
    ago = f"{days} days" if days else f"{hours} hours" if hours else f"{max(0, age // timedelta(minutes=1))} minutes"
    detail = f"the last one, {ago} old, holds {last.records:,} records in {last.folder}"
    return Check(
        "backup", ok=age < LATE, detail=detail, advice=f"run `mnemolog backup {last.folder}`, or see why it fails"
    )


async def check_heads(settings: Settings) -> Check:
    """Report where heads are kept and the age of the newest; a missing or unwritable folder is a fault."""
    if settings.heads_to is None:
        detail = "kept with the log alone: nothing tells of an older copy of everything; HEADS_TO keeps them elsewhere"
        return Check(_HEADS, ok=True, detail=detail)
    if (folder := folder_of(settings)) is None:
        return Check(_HEADS, ok=True, detail=f"posted to {masked(settings.heads_to)}")
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        what = "cannot be written" if folder.is_dir() else "is not there"
        advice = "mount it, or make it and let the worker write there; or correct MNEMOLOG_HEADS_TO"
        return Check(_HEADS, ok=False, detail=f"{folder} {what}", advice=advice)
    newest = max((path.stat().st_mtime for path in folder.glob(FILES)), default=None)
    if newest is None:
        return Check(_HEADS, ok=True, detail=f"{folder} has none yet")
    at = datetime.fromtimestamp(newest, UTC).isoformat(timespec="seconds")
    return Check(_HEADS, ok=True, detail=f"the newest in {folder} are of {at}")
