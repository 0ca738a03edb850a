"""What a request asks for: a query parameter that the route does not have is refused, so that it misleads nobody."""

from http import HTTPStatus

from fastapi import Request

from mnemolog.http.problems import UNKNOWN_HERE, Problem, summary
from schemas.input_events import Fault


async def known_query(request: Request) -> None:
    """Refuse query parameters that the OpenAPI document does not have at this route. Raises Problem."""
    if not request.query_params:
        return
    methods = request.app.openapi()["paths"][request.scope["route"].path_format]
    declared = methods[request.method.lower()].get("parameters", ())
    known = {parameter["name"] for parameter in declared if parameter["in"] == "query"}
    faults = [Fault(f"$.{name}", UNKNOWN_HERE) for name in request.query_params if name not in known]
    if faults:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, summary(faults), faults)
