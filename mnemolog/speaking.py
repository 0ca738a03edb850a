"""What is asked before an agent speaks, as the settings have it: contexts and greetings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mnemolog.greeting import Greeting
from mnemolog.parts import make_model
from projections.queries.context import Contexts

if TYPE_CHECKING:
    from contextlib import AsyncExitStack
    from typing import Self

    from mnemolog.metrics import Metrics
    from mnemolog.settings import Settings
    from projections.queries.queries import Queries


@dataclass(frozen=True, slots=True)
class Speaking:
    """What a worker tells agents that are about to speak."""

    contexts: Contexts
    greeting: Greeting

    @classmethod
    def made(cls, settings: Settings, metrics: Metrics, queries: Queries, exits: AsyncExitStack) -> Self:
        """Return both; `exits` closes the model that greetings ask, where there is one and anything is remembered."""
        contexts = Contexts(
            queries,
            levels=settings.levels,
            threshold=settings.similarity_threshold,
            shows_profile=settings.user_profile,
        )
        write = None
        if settings.has_model and settings.memorize and settings.user_profile:
            model = make_model(settings, metrics)
            exits.push_async_callback(model.aclose)
            write = model.write
        return cls(contexts, Greeting(contexts, write, seconds=settings.greeting_timeout_seconds))
