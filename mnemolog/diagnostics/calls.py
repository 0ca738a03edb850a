"""Calls of a model and of an embedding endpoint: one question each, as a worker asks it, which may cost money."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from mnemolog.diagnostics.check import Check
from mnemolog.settings import revealed
from mnemolog.worker.components import OPENAI_URL, make_embedder
from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable
from schemas.disclosure import masked
from schemas.visible_text import visible
from streams.extraction.protocol import Outage, Piece, Rejected, Window

if TYPE_CHECKING:
    from mnemolog.settings import Settings

CALL_SECONDS: Final = 60.0
"""The time that a model on a CPU may need for its first question; slower models are reported as slow."""
MOST_SHOWN: Final = 300
"""The most characters shown of an unreadable answer."""
_SAID: Final = "By the way, I keep bees in Oslo."
_ADVICE: Final = "see `When the model is down` in docs/how-to/use-a-model.md; nothing is lost meanwhile, events wait"


async def called_model(settings: Settings) -> Check:
    """Call the model to extract one sentence, and report the result."""
    from streams.extraction.model.extractor import ModelExtractor  # noqa: PLC0415 - its library takes a second to load

    where = f"{settings.llm_model} at {masked(settings.llm_base_url or OPENAI_URL)}"
    extractor = ModelExtractor(
        settings.llm_base_url,
        revealed(settings.llm_api_key) or "none",
        settings.llm_model,
        temperature=settings.llm_temperature,
        max_tokens=settings.llm_max_tokens,
        timeout_seconds=min(CALL_SECONDS, settings.llm_timeout_seconds),
        context_tokens=settings.llm_context_tokens,
    )
    try:
        found = await extractor.extract(_window(datetime.now(UTC)))
    except Outage as outage:
        return Check("model", ok=False, detail=f"{where}: {outage}{_shown(outage.answer)}", advice=_ADVICE)
    except Rejected as rejected:
        detail = f"{where} answers what cannot be used: {rejected.reason}{_shown(rejected.answer)}"
        advice = (
            "ask another model, or one that is larger; windows are rejected until then, `reextract --rejected` after"
        )
        return Check("model", ok=False, detail=detail, advice=advice)
    finally:
        await extractor.aclose()
    tokens = found.tokens_in + found.tokens_out
    proposed = f"{len(found.proposals)} memories" if len(found.proposals) != 1 else "1 memory"
    return Check("model", ok=True, detail=f"{where}: one extraction gave {proposed} for {tokens:,} tokens")


async def called_embedder(settings: Settings) -> Check:
    """Call the endpoint to embed one sentence, and report the result."""
    where = f"{settings.embedding_model} at {masked(settings.embedding_base_url or OPENAI_URL)}"
    embedder = make_embedder(settings)
    try:
        [vector] = await embedder.embed([_SAID], urgent=True)
    except (EmbedderUnavailable, EmbedderRefused) as error:
        shown = _shown(getattr(error, "answer", None))
        advice = "mend what it says; memories wait meanwhile, and searches find by words"
        return Check("embedder", ok=False, detail=f"{where}: {error}{shown}", advice=advice)
    finally:
        await embedder.close()
    return Check("embedder", ok=True, detail=f"{where}: one embedding has {len(vector)} dimensions")


def _window(now: datetime) -> Window:
    piece = Piece(piece_id="doctor#0", event_id="doctor", speaker="user", text=_SAID, occurred_at=now, recorded_at=now)
    return Window(
        tenant="default",
        user_id="doctor",
        agent_id=None,
        session_id="doctor",
        source_type="chat",
        source_ref="doctor",
        pieces=(piece,),
    )


def _shown(answer: str | None) -> str:
    """Return the beginning of an answer after a colon; nothing if there is none."""
    text = " ".join(visible(answer or "").split())
    return f"; it answered: {text[:MOST_SHOWN]}{'…' if len(text) > MOST_SHOWN else ''}" if text else ""
