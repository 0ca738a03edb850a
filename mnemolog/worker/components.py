"""The parts of a worker that the settings choose: extractor, embedder, registry, and what remember decides by."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from projections.embedding.builtin import BuiltinEmbedder
from projections.embedding.openai import OpenAIEmbedder
from projections.index.embedded.index import EmbeddedIndex
from projections.index.weaviate.address import WeaviateAddress
from schemas.topics import INBOX, INPUTS
from schemas.vocabulary.words import RETENTION, WAKE
from streams.decisions.decay_policies.registry import POLICIES
from streams.decisions.parameters import Parameters
from streams.extraction.model.extractor import ModelExtractor
from streams.extraction.rules.extractor import RuleExtractor
from streams.extraction.verbatim import VerbatimExtractor
from streams.registry.cache import SchemaCache
from streams.registry.registry import NoRegistry, SchemaRegistry
from streams.ticks.scheduler import RETENTION_EVERY, TickScheduler, decay_due, retention_due
from streams.ticks.wake_scheduler import wake_due

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from mnemolog.settings import Settings
    from mnemolog.worker.metrics import Metrics
    from projections.index.protocol import Index, IndexEntry
    from schemas.messages.inbox import Tick
    from streams.extraction.protocol import Extractor

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


def tick_maker(policy: str, settings: Settings) -> Callable[[int, datetime], Tick]:
    """Return what makes a partition's tick of a policy of decay, of retention, or of wakes."""
    if policy == WAKE:
        return wake_due
    if policy == RETENTION:
        return partial(retention_due, days=settings.retention_days)
    return lambda partition, as_of: decay_due(partition, policy, as_of)


def make_clocks(settings: Settings, clockwork: Callable[..., TickScheduler]) -> list[TickScheduler]:
    """Return what ticks by itself: decay if the policy has a rule, and retention unless everything is kept."""
    decays, days = POLICIES[settings.decay_policy].rule is not None, settings.retention_days
    everything = [INBOX.name, *(topic.name for topic in INPUTS)]
    return [
        clockwork(
            make=tick_maker(settings.decay_policy, settings) if decays else None,
            every=timedelta(hours=settings.decay_hours),
        ),
        clockwork(make=tick_maker(RETENTION, settings) if days else None, every=RETENTION_EVERY, topics=everything),
    ]


def index_maker(settings: Settings) -> Callable[[Callable[[str, str], Sequence[IndexEntry]]], Index]:
    """Return what makes the configured index; it is given the loader of a user's memories."""
    if settings.index == "embedded":
        return EmbeddedIndex
    from projections.index.weaviate.index import WeaviateIndex  # noqa: PLC0415 - its client takes a second to import

    address = WeaviateAddress.parse(settings.index)
    return lambda load: WeaviateIndex(address, load, partitions=settings.partitions, api_key=settings.weaviate_api_key)


def make_embedder(settings: Settings) -> BuiltinEmbedder | OpenAIEmbedder:
    """Return the configured embedder."""
    if settings.embedding_model == "builtin":
        return BuiltinEmbedder()
    return OpenAIEmbedder(
        base_url=settings.embedding_base_url or OPENAI_URL,
        api_key=settings.embedding_api_key or "none",
        model=settings.embedding_model,
    )


def make_registry(settings: Settings) -> SchemaRegistry | NoRegistry:
    """Return the configured schema registry; what it said before is kept in the data directory."""
    url = settings.schema_registry_url
    if url is None:
        return NoRegistry()
    return SchemaRegistry(url, SchemaCache(settings.data_dir.resolve() / "registry.json", url))


def make_extractor(settings: Settings, metrics: Metrics) -> Extractor:
    """Return the configured extractor."""
    if settings.extracts_with == "rules":
        return RuleExtractor()
    if settings.extracts_with == "verbatim":
        return VerbatimExtractor()
    return make_model(settings, metrics)


def make_model(settings: Settings, metrics: Metrics) -> ModelExtractor:
    """Return the configured model."""
    return ModelExtractor(
        settings.llm_base_url,
        settings.llm_api_key or "none",
        settings.llm_model,
        temperature=settings.llm_temperature,
        max_tokens=settings.llm_max_tokens,
        timeout_seconds=settings.llm_timeout_seconds,
        observe=metrics.asked,
    )
