"""Failures of Weaviate's client, in a sentence."""

from __future__ import annotations

from http import HTTPStatus

from projections.index.remote.failure import causes
from projections.index.remote.failure import sentence as remote_sentence


def sentence(error: BaseException) -> str:
    """Return why Weaviate could not be reached."""
    for cause in causes(error):
        if getattr(cause, "status_code", None) == HTTPStatus.NOT_FOUND and str(cause).startswith("Meta endpoint"):
            return "what listens there is no Weaviate"
    return remote_sentence(error)
