"""The address of an embedded log holds any name of a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from yarl import URL

from mnemolog.log.connection import broker_url
from mnemolog.settings import from_environment


@pytest.mark.parametrize("name", ["plain", "a b", "a?b", "a#b", "a%41", "a;b", "a&é", "a:b", "数据"])
def test_any_name_of_a_data_directory_is_found_again(name: str):
    url = broker_url(from_environment({}, data_dir=Path("/var") / name))
    assert Path(URL(url).path) == Path("/var") / name / "log"
