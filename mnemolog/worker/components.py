"""Components that the settings choose, each built by one function: model, embedder, index, registry, schedulers."""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from mnemolog.cluster.peer_hosts import PeerHosts
from mnemolog.cluster.proof import Proof
from mnemolog.cluster.trust import PeerTrust
from mnemolog.environment import PREFIX, SettingsError
from mnemolog.operations.ticks import tick_maker
from mnemolog.settings import revealed, split_secrets
from mnemolog.tls import CertificateFiles, Renewed, client_context
from projections.embedding import factory
from projections.embedding.builtin import RELEVANT
from projections.embedding.choice import BUILTIN, ENDPOINT, EmbedderUnusable, read_choice
from projections.embedding.factory import Endpoint
from projections.index.adapter import IndexConfig
from projections.index.registry import INDEXES
from projections.queries.context import Contexts
from schemas.topics import INBOX, INPUTS
from schemas.vocabulary.words import RETENTION
from streams.decisions.decay_policies.registry import POLICIES
from streams.decisions.parameters import Parameters
from streams.registry.protocol import NoRegistry
from streams.ticks.scheduler import RETENTION_EVERY

if TYPE_CHECKING:
    from collections.abc import Callable

    from mnemolog.settings import Settings
    from mnemolog.worker.metrics import Metrics
    from projections.embedding.embedder import ClosableEmbedder, Embedder
    from projections.index.adapter import IndexAdapter
    from projections.index.protocol import Index, LoadEntries
    from projections.queries.queries import Queries
    from streams.extraction.model.extractor import ModelExtractor
    from streams.registry.protocol import Registry
    from streams.ticks.scheduler import TickScheduler

OPENAI_URL = "https://api.openai.com/v1"
PROOF_MISSING = (
    "workers with API keys trust each other by MNEMOLOG_CLUSTER_SECRET and MNEMOLOG_ADVERTISED_URL: set both for all"
)


def make_parameters(settings: Settings) -> Parameters:
    """Return the parameters of Remember's decisions."""
    return Parameters(
        keyword_overlap=settings.keyword_overlap,
        episode_merge_hours=settings.episode_merge_hours,
        profile_keeps=settings.profile_conflict == "keep",
        min_episode_grade=settings.min_episode_grade,
        max_episodes=settings.max_episodes,
        episode_min_strength=settings.episode_min_strength,
        keep_important=settings.keep_important,
        wake_memory_limit=settings.wake_memory_limit,
    )


def make_trust(settings: Settings, clock: Callable[[], float] = time.time) -> PeerTrust:
    """Return the trust between the group's workers; `clock` is their common time. Raises SettingsError, TlsFailed."""
    needs_tls = settings.tls_cert_file is not None
    if settings.peers is None:
        hosts = PeerHosts.beside(settings.advertised_url, needs_tls=needs_tls)
    else:
        hosts = PeerHosts.named(settings.peers.split(","), needs_tls=needs_tls)
    secrets = cluster_secrets(settings)
    return PeerTrust(
        hosts,
        is_proven=settings.has_proof,
        proof=Proof(secrets, clock) if secrets else None,
        tls=_peer_context(settings),
        why_none=PROOF_MISSING if settings.api_keys_file and not settings.has_proof else None,
        clock=clock,
    )


def cluster_secrets(settings: Settings) -> list[bytes]:
    """Return the secrets by which workers authenticate each other, newest first. Raises SettingsError."""
    if settings.cluster_secret is not None:
        return split_secrets(settings.cluster_secret.get_secret_value(), f"{PREFIX}CLUSTER_SECRET")
    if (file := settings.cluster_secret_file) is None:
        return []
    source = f"{PREFIX}CLUSTER_SECRET_FILE={file}"
    try:
        return split_secrets(file.read_text("utf-8"), source)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise SettingsError(f"{source} cannot be read: {reason}") from error


def certificate_files(settings: Settings, *, for_workers: bool = False) -> CertificateFiles | None:
    """Return the server's certificate files; None without TLS. Only other workers must present a certificate."""
    if settings.tls_cert_file is None:
        return None
    authority = settings.tls_client_ca_file if for_workers else None
    return CertificateFiles(settings.tls_cert_file, settings.tls_key_file, authority)


def _peer_context(settings: Settings) -> Renewed | None:
    """Return the TLS context of connections to other workers; None if the default suffices. Raises TlsFailed."""
    authority = settings.ca_file or settings.tls_client_ca_file
    shown = certificate_files(settings, for_workers=True) if settings.tls_client_ca_file else None
    if authority is None:
        return None
    files = (authority, *(() if shown is None else shown.paths))
    return Renewed(files, partial(client_context, authority, shown))


def make_tick_schedulers(settings: Settings, scheduler: Callable[..., TickScheduler]) -> list[TickScheduler]:
    """Return the schedulers of decay, unless its policy has no rule, and of retention, unless everything is kept.

    `scheduler` builds one around the worker's log, shards and clock.
    """
    days = settings.retention_days
    decay = tick_maker(settings.decay_policy, days) if POLICIES[settings.decay_policy].rule else None
    retention = tick_maker(RETENTION, days) if days else None
    everything = [INBOX.name, *(topic.name for topic in INPUTS)]
    return [
        scheduler(make=decay, every=timedelta(hours=settings.decay_hours)),
        scheduler(make=retention, every=RETENTION_EVERY, topics=everything),
    ]


def configured_index(settings: Settings) -> tuple[IndexAdapter, IndexConfig]:
    """Return the adapter of the configured index, and the configuration from which it builds the index."""
    adapter = INDEXES.of(settings.index)
    secret = None if adapter.secret is None else revealed(getattr(settings, adapter.secret))
    return adapter, IndexConfig(url=settings.index, secret=secret, partitions=settings.partitions)


def index_maker(settings: Settings) -> Callable[[LoadEntries], Index]:
    """Return the factory of the configured index; its argument reads a user's memories from the shard."""
    adapter, config = configured_index(settings)
    return partial(adapter.make, config)


def make_encoder(settings: Settings, encoder: str) -> ClosableEmbedder:
    """Return an embedder by its name, written as in EMBEDDING_MODEL. Raises EmbedderUnusable."""
    if read_choice(encoder).kind == ENDPOINT and not (settings.embedding_base_url or settings.embedding_api_key):
        raise EmbedderUnusable(f"needs {PREFIX}EMBEDDING_BASE_URL or {PREFIX}EMBEDDING_API_KEY")
    endpoint = Endpoint(settings.embedding_base_url or OPENAI_URL, revealed(settings.embedding_api_key) or "none")
    return factory.make_embedder(encoder, endpoint)


def make_embedder(settings: Settings) -> ClosableEmbedder:
    """Return the configured embedder. Raises SettingsError if its files or packages are missing."""
    if settings.embedding_base_url or settings.embedding_api_key:
        # A reembedding may name a model of the endpoint; loading the client then would block the event loop.
        import projections.embedding.openai  # noqa: F401, PLC0415
    try:
        return make_encoder(settings, settings.embedding_model)
    except EmbedderUnusable as error:
        raise SettingsError(f"{PREFIX}EMBEDDING_MODEL {error}") from error


def make_contexts(settings: Settings, queries: Queries, embedder: Embedder) -> Contexts:
    """Return the builder of the contexts that agents read before they answer, by the settings and the encoder."""
    return Contexts(
        queries,
        levels=settings.levels,
        threshold=lambda: episode_threshold(settings, embedder.model),
        shows_profile=settings.user_profile,
    )


def episode_threshold(settings: Settings, model: str) -> float:
    """Return the least cosine of a relevant episode: the configured one, or the value measured for the serving encoder.

    Luna's 0.7 is the default for encoders that were not measured here.
    """
    if "similarity_threshold" not in settings.model_fields_set and model == BUILTIN:
        return RELEVANT
    return settings.similarity_threshold


def make_registry(settings: Settings) -> Registry | NoRegistry:
    """Return the configured schema registry, whose earlier answers are cached in the data directory."""
    url = settings.schema_registry_url
    if url is None:
        return NoRegistry()
    from streams.registry.confluent.cache import SchemaCache  # noqa: PLC0415 - few workers have a registry
    from streams.registry.confluent.registry import SchemaRegistry  # noqa: PLC0415 - as above

    return SchemaRegistry(url, SchemaCache(settings.data_dir.resolve() / "registry.json", url))


def make_greeting_model(settings: Settings, metrics: Metrics) -> ModelExtractor | None:
    """Return the model that writes greetings; None without a model, or without a profile to base them on."""
    if settings.has_model and settings.memorize and settings.user_profile:
        return make_model(settings, metrics)
    return None


def make_model(settings: Settings, metrics: Metrics, name: str | None = None) -> ModelExtractor:
    """Return the configured model, or the named one at the same endpoint."""
    from streams.extraction.model.extractor import ModelExtractor  # noqa: PLC0415 - as above

    return ModelExtractor(
        settings.llm_base_url,
        revealed(settings.llm_api_key) or "none",
        name or settings.llm_model,
        temperature=settings.llm_temperature,
        max_tokens=settings.llm_max_tokens,
        timeout_seconds=settings.llm_timeout_seconds,
        context_tokens=settings.llm_context_tokens,
        observe=metrics.asked,
    )
