"""The doctor names the place that is wrong and the setting that names it, in words of its own."""

from __future__ import annotations

import errno
import socket
import tempfile
from typing import TYPE_CHECKING, NoReturn

import pytest
from support.tiny_encoder import write_encoder

from mnemolog.diagnostics import checks
from mnemolog.diagnostics.check import Check
from mnemolog.diagnostics.server_checks import explained
from mnemolog.settings import from_environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def silent() -> Iterator[str]:
    """Yield an address that lets everybody connect and answers nobody."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(20)
        yield f"127.0.0.1:{listening.getsockname()[1]}"


async def wrong(folder: Path, name: str, **settings: str) -> Check:
    """Return the check of that name, which is not well."""
    found = await checks.checked(from_environment(settings, data_dir=folder))
    [only] = [one for one in found if one.name == name]
    assert not only.ok
    return only


def names_in(folder: Path) -> list[str]:
    """Return what is in a folder."""
    return [one.name for one in folder.iterdir()]


HANGING = {
    "index": ("MNEMOLOG_INDEX", "weaviate://{}?grpc=9"),
    "schema registry": ("MNEMOLOG_SCHEMA_REGISTRY_URL", "http://somebody:secret@{}"),
}


async def test_what_hangs_is_named_with_its_place_and_setting(tmp_path: Path, silent: str):
    given = {setting: url.format(silent) for setting, url in HANGING.values()}
    found = {one.name: one for one in await checks.checked(from_environment(given, data_dir=tmp_path))}
    for name, (setting, _) in HANGING.items():
        assert not found[name].ok
        assert silent in found[name].detail
        assert "does not answer within" in found[name].detail
        assert "secret" not in found[name].detail
        assert setting in found[name].advice


@pytest.mark.parametrize(
    ("index", "why"),
    [
        ("weaviate://127.0.0.1:9?grpc=10", "nobody listens at 127.0.0.1:9"),
        ("weaviate://no-such-host.invalid:8080?grpc=9", "nobody knows a host of that name"),
    ],
)
async def test_why_weaviate_cannot_be_reached_is_said(tmp_path: Path, index: str, why: str):
    found = await wrong(tmp_path, "index", MNEMOLOG_INDEX=index)
    assert found.detail == f"{index}: {why}"
    assert "correct MNEMOLOG_INDEX" in found.advice


def test_a_server_that_is_not_ready_is_explained_by_what_it_does_not_reach():
    waiting = Check("server", ok=False, detail="answers 503", advice="wait until it has started, or read its log")
    index, log = (Check(name, ok=False, detail="away", advice="start it") for name in ("index", "log"))
    assert [one.advice for one in explained(waiting, [index, log])] == [
        "see the row log",
        "start it",
        "start it",
    ]
    assert explained(waiting, [index]) == [waiting, index], "without the index it is ready"
    assert explained(waiting, []) == [waiting]
    ready = Check("server", ok=True, detail="is ready")
    assert explained(ready, [log]) == [ready, log]


async def test_what_is_well_needs_no_advice(tmp_path: Path):
    found = await checks.checked(from_environment({}, data_dir=tmp_path))
    assert [(one.ok, one.advice) for one in found] == [(True, "")] * len(found)


@pytest.mark.parametrize("broker", ["sqlite://", "kafka://127.0.0.1:9"])
@pytest.mark.parametrize("folder", [".", "var", "deep/er/var"])
async def test_looking_makes_neither_folder_nor_file(tmp_path: Path, folder: str, broker: str):
    given = {"MNEMOLOG_BROKER": broker, "MNEMOLOG_ENCRYPTION": "off"}
    for _ in range(2):
        found = {one.name: one for one in await checks.checked(from_environment(given, data_dir=tmp_path / folder))}
        assert found["data directory"].ok
        assert found["log"].ok == (broker == "sqlite://"), found["log"]
        assert names_in(tmp_path) == []
    assert ("not there yet" in found["data directory"].detail) == (folder != ".")


async def test_of_a_folder_that_cannot_be_made_it_says_what_to_do_and_makes_nothing(tmp_path: Path):
    (tmp_path / "file").touch()
    found = await wrong(tmp_path / "file" / "var", "data directory")
    assert "name another with --data" in found.advice
    assert names_in(tmp_path) == ["file"]


async def test_of_a_full_disk_it_says_to_free_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(**_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    found = await wrong(tmp_path, "data directory")
    assert found.detail == f"{tmp_path}: No space left on device"
    assert found.advice == "free space on its disk, or name another with --data or MNEMOLOG_DATA_DIR"


async def test_encoders_on_this_machine_are_tried_and_what_they_lack_is_said(tmp_path: Path):
    async def embedder(setting: str) -> Check:
        given = {"MNEMOLOG_EMBEDDING_MODEL": setting}
        found = await checks.checked(from_environment(given, data_dir=tmp_path / "data"))
        return next(one for one in found if one.name == "embedder")

    folder = write_encoder(tmp_path / "tiny")
    well = await embedder(f"onnx:{folder}")
    assert well.ok
    assert "onnx:tiny#" in well.detail
    assert well.detail.endswith(": 24 dimensions")
    lacking = await embedder("onnx:/nowhere")
    assert (lacking.ok, "/nowhere is no folder" in lacking.detail) == (False, True)
    (folder / "model.onnx").write_bytes(b"no model")
    broken = await embedder(f"onnx:{folder}")
    assert (broken.ok, "cannot be loaded: InvalidProtobuf" in broken.detail) == (False, True)
