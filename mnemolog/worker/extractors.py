"""The extractors that the settings choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mnemolog.worker.components import make_model
from streams.extraction.assisted import AssistedModel
from streams.extraction.evidence.judge import Judge
from streams.extraction.own_words.extractor import OwnWords
from streams.extraction.rules.process import RuleProcess
from streams.extraction.second_model import SecondModel
from streams.extraction.verbatim import VerbatimExtractor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AsyncExitStack

    from mnemolog.settings import Settings
    from mnemolog.worker.metrics import Metrics
    from projections.embedding.serving import ServingEmbedder
    from streams.extraction.protocol import Extractor, Known, Window


@dataclass(frozen=True, slots=True)
class Extractors:
    """The extractors of a worker."""

    main: Extractor
    rules: OwnWords | None = None
    """The rules that assist a model."""
    judge: Judge | None = None
    """The judge of a model's answers; None if the caller supplied the embedder."""

    @property
    def fact_rules(self) -> OwnWords | None:
        """The rules that read facts to be stored verbatim; None without rules."""
        return self.rules or (self.main if isinstance(self.main, OwnWords) else None)


def make_extractors(
    settings: Settings,
    metrics: Metrics,
    embedder: ServingEmbedder,
    exits: AsyncExitStack,
    *,
    known: Callable[[Window], Awaitable[Sequence[Known]]],
    extractor: Extractor | None,
    is_judged: bool,
) -> Extractors:
    """Build the configured extractor, which `exits` closes. The caller closes an extractor of its own."""
    if extractor is not None:
        return Extractors(extractor)
    if settings.extracts_with == "verbatim":
        return Extractors(VerbatimExtractor())
    rules = RuleProcess()
    exits.push_async_callback(rules.aclose)
    judge = Judge(embedder)
    exits.push_async_callback(judge.aclose)
    if settings.extracts_with == "rules":
        return Extractors(OwnWords(rules, judge.embed, judge.heads, known))
    own_words = OwnWords(rules, judge.embed, judge.heads)  # these rules assist a model, which decides what ends
    model = make_model(settings, metrics)
    exits.push_async_callback(model.aclose)
    models: Extractor = model
    if settings.llm_second_model is not None:
        second = make_model(settings, metrics, settings.llm_second_model)
        exits.push_async_callback(second.aclose)
        models = SecondModel(model, second)
    return Extractors(AssistedModel(models, own_words), own_words, judge if is_judged else None)
