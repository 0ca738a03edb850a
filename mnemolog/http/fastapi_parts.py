"""The parts of FastAPI that it does not document and that routes and their plans need: each is named here only.

pyproject.toml holds FastAPI to one minor version. `tests/unit/repository/test_public_ground.py` fails where one of
these parts is another, and the tests of the plans where it does something else.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import get_flat_params, request_params_to_args
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware

__all__ = ["AsyncExitStackMiddleware", "Dependant", "ModelField", "get_flat_params", "request_params_to_args"]

ModelField: TypeAlias = Any
"""A parameter or a body: its `name`, `alias`, `default` and `field_info`, and `validate(value, values, loc=...)`."""
