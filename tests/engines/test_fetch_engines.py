"""`make engines` can be stopped and started again, twice at once, and takes nothing half or wrong for an engine.

The real Maven fetches from a repository on this machine, which has a small archive in the registry's place.
"""

from __future__ import annotations

import hashlib
import io
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import fetch_engines
import pytest
from support.maven_repository import MavenRepository, serving_repository

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOL = Path(fetch_engines.__file__)
GROUP, NAME, VERSION, ENDING, KIND = fetch_engines.REGISTRY_ARCHIVE.split(":")
ARCHIVE = f"{GROUP.replace('.', '/')}/{NAME}/{VERSION}/{NAME}-{VERSION}-{KIND}.{ENDING}"
HALF = 500_000
PLENTY = 600


def archive() -> bytes:
    """Return an archive of a file that cannot be made smaller."""
    packed, content = io.BytesIO(), random.Random(1).randbytes(2 * HALF)  # noqa: S311 - test data
    with tarfile.open(fileobj=packed, mode="w:gz") as target:
        about = tarfile.TarInfo("runner.jar")
        about.size = len(content)
        target.addfile(about, io.BytesIO(content))
    return packed.getvalue()


def environment(home: Path, repository: MavenRepository) -> dict[str, str]:
    """Point the Maven of a home to the repository; return the variables that make it this home's."""
    settings = home / ".m2" / "settings.xml"
    settings.parent.mkdir(exist_ok=True)
    mirror = f"<id>here</id><mirrorOf>*</mirrorOf><url>{repository.url}</url>"
    settings.write_text(f"<settings><mirrors><mirror>{mirror}</mirror></mirrors></settings>")
    return {"HOME": str(home), "MAVEN_OPTS": f"-Duser.home={home}"}


@pytest.fixture(scope="module")
def with_plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home whose Maven has fetched its plugin, which takes it longer than all else; nothing of ours."""
    home, plugin = tmp_path_factory.mktemp("home"), fetch_engines.GET.replace(":get", ":help")
    assert fetch_engines.maven(plugin)  # from where this machine has it, for the repository gives what is fetched there
    with serving_repository() as one, pytest.MonkeyPatch.context() as here:
        for name, value in environment(home, one).items():
            here.setenv(name, value)
        assert fetch_engines.maven(plugin)
        assert one.others
    return home


@pytest.fixture
def home(with_plugin: Path, tmp_path: Path) -> Path:
    shutil.copytree(with_plugin, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def repository() -> Iterator[MavenRepository]:
    with serving_repository() as one:
        one.files[ARCHIVE] = archive()
        yield one


class Fetching:
    """The tool at work in a home of its own."""

    def __init__(self, home: Path, repository: MavenRepository) -> None:
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, str(TOOL), "registry"],
            env={**os.environ, **environment(home, repository)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def said(self) -> str:
        """Wait for its end, and return all that it said."""
        return self.process.communicate(timeout=PLENTY)[0]


def cached(home: Path) -> list[str]:
    """Return what is in the cache."""
    cache = home / ".cache" / "mnemolog" / "registry"
    return sorted(str(one.relative_to(cache)) for one in cache.rglob("*"))


WHOLE = [VERSION, f"{VERSION}/runner.jar"]


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_fetching_that_is_stopped_in_the_middle_leaves_nothing_half_and_goes_on(home, repository, told):
    repository.hold(HALF)
    stopped = Fetching(home, repository)
    assert repository.standing.wait(PLENTY)
    stopped.process.send_signal(told)
    said = stopped.said()
    assert "What has been completed is kept: start it again and it goes on." in said
    assert "Traceback" not in said
    assert stopped.process.returncode == 128 + signal.SIGINT
    assert cached(home) == []
    repository.others.clear()
    repository.let_go()
    again = Fetching(home, repository)
    assert f"registry: {home}" in again.said()
    assert again.process.returncode == 0
    assert cached(home) == WHOLE
    assert repository.others == []  # what else it needs was fetched before, and is used again


def test_what_a_killed_one_left_is_deleted_by_the_next(home, repository):
    repository.hold(HALF)
    killed = Fetching(home, repository)
    assert repository.standing.wait(PLENTY)
    os.killpg(killed.process.pid, signal.SIGKILL)
    killed.said()
    assert cached(home) != []
    repository.let_go()
    assert f"registry: {home}" in Fetching(home, repository).said()
    assert cached(home) == WHOLE


def test_of_two_at_once_the_second_waits_and_fetches_nothing(home, repository):
    repository.hold(HALF)
    first = Fetching(home, repository)
    assert repository.standing.wait(PLENTY)
    second = Fetching(home, repository)
    assert second.process.stdout is not None
    assert "waiting for it" in second.process.stdout.readline()
    repository.let_go()
    for one in (first, second):
        assert f"registry: {home}" in one.said()
        assert one.process.returncode == 0
    assert cached(home) == WHOLE
    assert len(repository.asked) == 1


def test_a_file_that_is_not_what_its_checksum_says_is_refused_until_it_is(home, repository):
    repository.checksums[ARCHIVE] = hashlib.sha1(b"another").hexdigest()  # noqa: S324 - Maven's
    refused = Fetching(home, repository)
    said = refused.said()
    assert "Checksum validation failed" in said
    assert "Maven failed 3 times, see above. What it has, it keeps: try again." in said
    assert "Traceback" not in said
    assert refused.process.returncode == 1
    assert cached(home) == []
    repository.checksums.clear()
    assert f"registry: {home}" in Fetching(home, repository).said()
    assert cached(home) == WHOLE
