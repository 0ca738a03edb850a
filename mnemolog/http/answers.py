"""How an answer leaves: JSON by orjson, whatever the route."""

from typing import Any

import orjson
from fastapi import Response


def answer(body: Any, status: int = 200) -> Response:  # noqa: ANN401 - any JSON
    """Return a JSON response."""
    return Response(orjson.dumps(body), status, media_type="application/json")
