"""Components that the settings choose, each made by one function: extractor, embedder, index, registry, schedulers."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from mnemolog.operations.ticks import tick_maker
from mnemolog.settings import revealed
from projections.embedding.builtin import BuiltinEmbedder
from projections.index.adapter import IndexConfig
from projections.index.registry import INDEXES
from projections.queries.context import Contexts
from schemas.topics import INBOX, INPUTS
from schemas.vocabulary.words import RETENTION
from streams.decisions.decay_policies.registry import POLICIES
from streams.decisions.parameters import Parameters
from streams.extraction.rules.extractor import RuleExtractor
from streams.extraction.verbatim import VerbatimExtractor
from streams.registry.cache import SchemaCache
from streams.registry.registry import NoRegistry, SchemaRegistry
from streams.ticks.scheduler import RETENTION_EVERY

if TYPE_CHECKING:
    from collections.abc import Callable

    from mnemolog.settings import Settings
    from mnemolog.worker.metrics import Metrics
    from projections.embedding.openai import OpenAIEmbedder
    from projections.index.adapter import IndexAdapter
    from projections.index.protocol import Index, LoadEntries
    from projections.queries.queries import Queries
    from streams.extraction.model.extractor import ModelExtractor
    from streams.extraction.protocol import Extractor
    from streams.ticks.scheduler import TickScheduler

OPENAI_URL = "https://api.openai.com/v1"


def make_parameters(settings: Settings) -> Parameters:
    """Return what remember decides by."""
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


def make_tick_schedulers(settings: Settings, scheduler: Callable[..., TickScheduler]) -> list[TickScheduler]:
    """Return the schedulers of decay, unless the policy has no rule, and of retention, unless everything is kept.

    `scheduler` makes one around the worker's log, shards and clock.
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
    """Return the adapter of the configured index, and what it makes the index from."""
    adapter = INDEXES.of(settings.index)
    secret = None if adapter.secret is None else revealed(getattr(settings, adapter.secret))
    return adapter, IndexConfig(url=settings.index, secret=secret, partitions=settings.partitions)


def index_maker(settings: Settings) -> Callable[[LoadEntries], Index]:
    """Return the factory of the configured index; its argument reads a user's memories from the shard."""
    adapter, config = configured_index(settings)
    return partial(adapter.make, config)


def make_embedder(settings: Settings) -> BuiltinEmbedder | OpenAIEmbedder:
    """Return the configured embedder."""
    if settings.embedding_model == "builtin":
        return BuiltinEmbedder()
    from projections.embedding.openai import OpenAIEmbedder  # noqa: PLC0415 - its client takes a second to import

    return OpenAIEmbedder(
        base_url=settings.embedding_base_url or OPENAI_URL,
        api_key=revealed(settings.embedding_api_key) or "none",
        model=settings.embedding_model,
    )


def make_contexts(settings: Settings, queries: Queries) -> Contexts:
    """Return what builds the contexts that agents read before they answer, as the settings have it."""
    return Contexts(
        queries,
        levels=settings.levels,
        threshold=settings.similarity_threshold,
        shows_profile=settings.user_profile,
    )


def make_registry(settings: Settings) -> SchemaRegistry | NoRegistry:
    """Return the configured schema registry; its former answers are cached in the data directory."""
    url = settings.schema_registry_url
    if url is None:
        return NoRegistry()
    return SchemaRegistry(url, SchemaCache(settings.data_dir.resolve() / "registry.json", url))


def make_extractor(settings: Settings) -> Extractor:
    """Return the configured extractor that asks no model."""
    return RuleExtractor() if settings.extracts_with == "rules" else VerbatimExtractor()


def make_greeting_model(settings: Settings, metrics: Metrics) -> ModelExtractor | None:
    """Return the model that writes greetings; None without one, or where there is no profile to greet by."""
    if settings.has_model and settings.memorize and settings.user_profile:
        return make_model(settings, metrics)
    return None


def make_model(settings: Settings, metrics: Metrics) -> ModelExtractor:
    """Return the configured model."""
    from streams.extraction.model.extractor import ModelExtractor  # noqa: PLC0415 - as above

    return ModelExtractor(
        settings.llm_base_url,
        revealed(settings.llm_api_key) or "none",
        settings.llm_model,
        temperature=settings.llm_temperature,
        max_tokens=settings.llm_max_tokens,
        timeout_seconds=settings.llm_timeout_seconds,
        observe=metrics.asked,
    )
