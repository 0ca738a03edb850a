"""The undocumented parts of FastAPI that routes and their plans need; no other module imports them.

pyproject.toml restricts FastAPI to one minor version. `tests/unit/repository/test_public_ground.py` fails if one of
these parts has changed, and the tests of the plans fail if one behaves differently.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import get_flat_params, request_params_to_args
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware

__all__ = ["AsyncExitStackMiddleware", "Dependant", "ModelField", "get_flat_params", "request_params_to_args"]

ModelField: TypeAlias = Any
"""A parameter or a body: its `name`, `alias`, `default` and `field_info`, and `validate(value, values, loc=...)`."""
