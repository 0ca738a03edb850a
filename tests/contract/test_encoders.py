"""Encoders on this machine that the operator brings: a folder in ONNX, and what fastembed knows."""

from __future__ import annotations

import json

import numpy as np
import pytest
import pytest_asyncio
from contract.embedder_suite import EmbedderSuite
from support.tables import each
from support.tiny_encoder import write_encoder

from projections.embedding.choice import EmbedderUnusable, read_choice
from projections.embedding.factory import Endpoint, make_embedder
from projections.embedding.local import LocalEmbedder
from projections.embedding.onnx.folder import read_folder
from projections.text.measure import language_of

NOWHERE = Endpoint("http://127.0.0.1:9/v1", "none")


@pytest.fixture
async def opened():
    embedders = []

    def open_(setting):
        embedders.append(make_embedder(setting, NOWHERE))
        return embedders[-1]

    yield open_
    for embedder in embedders:
        await embedder.close()


@pytest.fixture
def folder(tmp_path):
    return write_encoder(tmp_path / "tiny")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def onnx(tmp_path_factory):
    embedder = make_embedder(f"onnx:{write_encoder(tmp_path_factory.mktemp('plain') / 'tiny')}", NOWHERE)
    assert isinstance(embedder, LocalEmbedder)
    yield embedder
    await embedder.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def quantised(tmp_path_factory):
    folder = write_encoder(tmp_path_factory.mktemp("quantised") / "small", quantised=True)
    embedder = make_embedder(f"onnx:{folder}", NOWHERE)
    assert isinstance(embedder, LocalEmbedder)
    yield embedder
    await embedder.close()


@pytest.mark.asyncio(loop_scope="module")
class TestOnnx(EmbedderSuite):
    @pytest.fixture
    def embedder(self, onnx):
        return onnx


@pytest.mark.asyncio(loop_scope="module")
class TestQuantisedOnnx(EmbedderSuite):
    @pytest.fixture
    def embedder(self, quantised):
        return quantised

    async def test_what_is_beside_a_text_does_not_change_its_vector(self, embedder):
        together = await embedder.embed(["coffee", "zzzz", "a quiet morning"])
        alone = [(await embedder.embed([text + " "]))[0] for text in ("coffee", "zzzz")]
        again = [(await embedder.embed([f"{n}" * 40, text + " "]))[1] for n, text in enumerate(("coffee", "zzzz"))]
        np.testing.assert_array_equal(alone, again)
        assert together.shape == (3, 24)


async def test_pooling_is_the_folders_or_what_is_said(tmp_path, opened):
    found = {}
    for pooling in ("cls", "mean", "max"):
        folder = write_encoder(tmp_path / pooling, pooling=pooling)
        [found[pooling]] = await opened(f"onnx:{folder}").embed(["coffee"])
        [said] = await opened(f"onnx:{write_encoder(tmp_path / 'said', pooling=None)}?pooling={pooling}").embed(
            ["coffee"]
        )
        np.testing.assert_array_equal(found[pooling], said)
    [other_cls] = await opened(f"onnx:{tmp_path / 'cls'}").embed(["tea"])
    np.testing.assert_array_equal(found["cls"], other_cls)  # the first token of every text is the same
    assert len({vector.tobytes() for vector in found.values()}) == 3


async def test_a_prefix_stands_before_questions_only(folder, opened):
    bare, prefixed = opened(f"onnx:{folder}"), opened(f"onnx:{folder}?query=ask:%20")
    [statement], [same] = await bare.embed(["coffee"]), await prefixed.embed(["coffee"])
    np.testing.assert_array_equal(statement, same)
    np.testing.assert_array_equal(await prefixed.embed(["coffee"], urgent=True), await bare.embed(["ask: coffee"]))


async def test_prefixes_and_lengths_come_from_the_folders_own_files(folder, opened):
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": {"query": "q ", "document": "d "}})
    )
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 6}')
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 1e30}')
    read = read_folder(folder, {})
    assert (read.query_prefix, read.passage_prefix, read.max_tokens, read.pooling) == ("q ", "d ", 6, "mean")
    embedder = opened(f"onnx:{folder}")
    first, second, other = await embedder.embed(["ab longer", "ab other", "ac"])
    np.testing.assert_array_equal(first, second)  # d, space, a, b and two special tokens
    assert first.tobytes() != other.tobytes()


def test_the_name_says_what_makes_vectors_and_not_where_it_lies(tmp_path, folder):
    def name(place, options=""):
        return make_embedder(f"onnx:{place}{options}", NOWHERE).model

    moved = write_encoder(tmp_path / "elsewhere" / "tiny")
    assert name(folder) == name(moved)
    assert name(folder).startswith("onnx:tiny#")
    others = {
        name(folder, "?pooling=cls"),
        name(folder, "?query=q"),
        name(write_encoder(tmp_path / "b" / "tiny", seed=2)),
    }
    assert len(others | {name(folder)}) == 4


def test_what_a_folder_lacks_is_said(tmp_path, folder):
    def fault(place, **options):
        with pytest.raises(EmbedderUnusable) as refused:
            read_folder(place, options)
        return str(refused.value)

    assert "is no folder" in fault(tmp_path / "none")
    assert "has no option 'pool'" in fault(folder, pool="cls")
    assert "pooling='best' must be one of" in fault(folder, pooling="best")
    assert "max_tokens='1' must be a number" in fault(folder, max_tokens="1")
    assert "add ?pooling=" in fault(write_encoder(tmp_path / "mute", pooling=None))
    (folder / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models.Dense", "path": "2"}]))
    assert "layer Dense" in fault(folder)
    (folder / "modules.json").write_text("{")
    assert "modules.json cannot be read" in fault(folder)
    (folder / "modules.json").unlink()
    (folder / "model.onnx").rename(folder / "a.onnx")
    assert read_folder(folder, {}).model.name == "a.onnx"
    (folder / "b.onnx").touch()
    assert "has 2 models" in fault(folder)
    (folder / "tokenizer.json").unlink()
    assert "has no tokenizer.json" in fault(folder)


@each(
    ("setting", "fault"),
    [
        ("onnx:", "a folder"),
        ("fastembed:", "name of a model"),
        ("en=onnx:/a,zh=onnx:/b", "one encoder serves all"),
    ],
)
def test_a_choice_that_is_misspelt_is_refused(setting, fault):
    with pytest.raises(EmbedderUnusable, match=fault):
        read_choice(setting)


@pytest.mark.parametrize(
    ("options", "fault"), [("pooling=cls", "has no option 'pooling'"), ("folder=/nowhere", "/nowhere is no folder")]
)
def test_an_option_of_fastembeds_that_is_wrong_is_refused(options, fault):
    with pytest.raises(EmbedderUnusable, match=fault):
        make_embedder(f"fastembed:BAAI/bge-small-en-v1.5?{options}", NOWHERE)


def test_a_missing_package_is_a_sentence_that_says_what_to_install():
    with pytest.raises(EmbedderUnusable, match=r"needs the package fastembed: pip install 'mnemolog\[fastembed\]'"):
        make_embedder("fastembed:BAAI/bge-small-en-v1.5", NOWHERE)


@each(
    ("text", "language"),
    [
        ("I like coffee", "en"),
        ("Ça va très bien", "en"),
        ("我喜欢喝咖啡", "zh"),
        ("我在 Siemens 的北京分公司工作", "zh"),
        ("She said 你好 to everyone in the office", "en"),
        ("コーヒーが好きです", ""),
        ("커피를 좋아해요", ""),
        ("Я люблю кофе", ""),
        ("42 🙂", ""),
        ("", ""),
    ],
)
def test_the_language_is_told_by_the_script(text, language):
    assert language_of(text) == language
