"""What the chart refuses, each with a sentence that says what to do, and what its schema refuses."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from deployment.rendering import CHART, environment, of_kind, pods, refusal, rendered
from deployment.values import EVERYTHING, MINIMAL, SETS, laid_over

from mnemolog.settings import Settings

GUARDS: dict[str, tuple[dict[str, Any], str]] = {
    "no image": ({"image": {"repository": ""}}, "image.repository is empty: build the image"),
    "no broker": ({"kafka": {"brokers": []}}, "kafka.brokers is empty: name the bootstrap servers of your Kafka"),
    "SASL without a user": (
        {"kafka": {"securityProtocol": "SASL_SSL"}},
        "kafka.securityProtocol is SASL_SSL without a user: put user and password into a Secret",
    ),
    "a user without SASL": (
        {"kafka": {"existingSecret": "kafka-user"}},
        "kafka.existingSecret names a user, and kafka.securityProtocol PLAINTEXT uses none: set SASL_SSL",
    ),
    "a certificate from nowhere": (
        {"kafka": {"securityProtocol": "SSL", "caFile": "ca.crt"}},
        "kafka.caFile, certFile or keyFile is set without kafka.existingFilesSecret",
    ),
    "a certificate without TLS": (
        {"kafka": {"existingFilesSecret": "files", "caFile": "ca.crt"}},
        "kafka.caFile, certFile or keyFile is set, and kafka.securityProtocol PLAINTEXT uses no TLS",
    ),
    "a key of no certificate": (
        {"kafka": {"securityProtocol": "SSL", "existingFilesSecret": "files", "keyFile": "tls.key"}},
        "kafka.keyFile is set without kafka.certFile",
    ),
    "more workers than partitions": (
        {"replicas": 9},
        "replicas (9) is more than partitions (8), and a worker without a partition stands idle: lower replicas",
    ),
    "a scraper without a key": (
        {"metrics": {"serviceMonitor": {"enabled": True}}},
        "metrics.serviceMonitor.enabled is true without a key: put an API key with the role metrics into a Secret",
    ),
    "no decision on encryption": (
        {"encryption": {"enabled": None}},
        "encryption.enabled is not decided: set it to true and put a master key into encryption.existingSecret",
    ),
    "encryption without a key": (
        {"encryption": {"enabled": True}},
        "encryption.enabled is true without a master key: create a Secret with one",
    ),
    "a key without encryption": (
        {"encryption": {"existingSecret": "master"}},
        "encryption.enabled is false, yet encryption.existingSecret names a master key",
    ),
    "no API keys": (
        {"apiKeys": {"existingSecret": ""}},
        "apiKeys.existingSecret is empty: without API keys mnemolog listens on loopback only",
    ),
    "no decision on TLS": (
        {"tls": {"elsewhere": False}},
        "tls is not decided: name a Secret with a certificate in tls.existingSecret",
    ),
    "TLS here and elsewhere": (
        {"tls": {"existingSecret": "certificate"}},
        "tls.elsewhere is true, and there is a certificate: set it to false",
    ),
    "two certificates": (
        {"tls": {"elsewhere": False, "existingSecret": "c", "certManager": {"enabled": True, "issuer": "i"}}},
        "tls.existingSecret and tls.certManager.enabled name two certificates",
    ),
    "a certificate by nobody": (
        {"tls": {"elsewhere": False, "certManager": {"enabled": True}}},
        "tls.certManager.enabled is true without tls.certManager.issuer",
    ),
    "one port for callers and workers": (
        {"cluster": {"port": 8420}},
        "cluster.port and service.port are both 8420",
    ),
    "a model outside of the volume": (
        {"embedding": {"model": "onnx:/data/bge", "volume": {"emptyDir": {}}}},
        'embedding.model names the folder "/data/bge", and files of models are mounted at /models',
    ),
    "a model without a volume": (
        {"embedding": {"model": "onnx:/models/en"}},
        "embedding.model names the folder /models/en without embedding.volume",
    ),
    "a volume of no model": (
        {"embedding": {"volume": {"emptyDir": {}}}},
        "embedding.volume is set, and embedding.model reads no file of it",
    ),
    "an endpoint for a model on the workers": (
        {"embedding": {"model": "fastembed:m", "baseUrl": "https://models.example/v1"}},
        "embedding.model runs on the workers, and embedding.baseUrl or embedding.existingSecret is of an endpoint",
    ),
    "a key for no Weaviate": (
        {"weaviate": {"existingSecret": "weaviate"}},
        "weaviate.existingSecret is set without weaviate.address: name the Weaviate that the key is for",
    ),
    "an endpoint without an embedding model": (
        {"embedding": {"baseUrl": "https://models.example/v1"}},
        "embedding.baseUrl or embedding.existingSecret is set without embedding.model: name the model",
    ),
    "an embedding model without an endpoint": (
        {"embedding": {"model": "small"}},
        "embedding.model is set without an endpoint: set embedding.baseUrl or embedding.existingSecret",
    ),
    "a secret in clear": (
        {"settings": {"LLM_API_KEY": "x"}},
        "settings.LLM_API_KEY is a secret: put it into a Secret and name that",
    ),
    "a setting that is none": (
        {"settings": {"NOSUCH": 1}},
        "settings.NOSUCH is no setting of mnemolog, and no worker would start: remove it or correct its name",
    ),
}

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "text for a number": ({"replicas": "two"}, "/replicas"),
    "no worker": ({"replicas": 0}, "/replicas"),
    "a number for text": ({"image": {"tag": 1}}, "/image/tag"),
    "one broker for a list": ({"kafka": {"brokers": "kafka:9092"}}, "/kafka/brokers"),
    "a broker without a port": ({"kafka": {"brokers": ["kafka"]}}, "/kafka/brokers/0"),
    "two brokers in one": ({"kafka": {"brokers": ["a:9092,b:9092"]}}, "/kafka/brokers/0"),
    "a protocol that is none": ({"kafka": {"securityProtocol": "TLS"}}, "/kafka/securityProtocol"),
    "no replica": ({"topics": {"replicationFactor": 0}}, "/topics/replicationFactor"),
    "a word for a decision": ({"encryption": {"enabled": "yes"}}, "/encryption/enabled"),
    "a URL for an address": ({"weaviate": {"address": "http://weaviate:8080"}}, "/weaviate/address"),
    "a setting in small letters": ({"settings": {"decay_policy": "off"}}, "decay_policy"),
    "a log level that is none": ({"logLevel": "loud"}, "/logLevel"),
    "a size without a unit": ({"persistence": {"size": "10"}}, "/persistence/size"),
    "a key that is none": ({"replica": 2}, "replica"),
    "an inner key that is none": ({"kafka": {"broker": "kafka:9092"}}, "/kafka"),
}


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_says_what_to_do(helm: str, name: str):
    values, sentence = GUARDS[name]
    assert sentence in refusal(helm, laid_over(MINIMAL, values))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("fastembed:m?query=q&folder=/srv/m", 'embedding.model names the folder "/srv/m"'),
        ("onnx:models/m", 'embedding.model names the folder "models/m"'),
        ("small", "embedding.model is set without an endpoint"),
    ],
)
def test_an_encoder_is_looked_at(helm: str, model: str, said: str):
    assert said in refusal(helm, MINIMAL | {"embedding": {"model": model, "volume": {"emptyDir": {}}}})


def test_every_guard_is_among_those_tried():
    guards = (CHART / "templates" / "_guards.tpl").read_text("utf-8")
    assert guards.count("fail ") == len(GUARDS) + 2, "one more is tried below, and one in test_chart_indexes.py"


def test_a_setting_that_the_chart_sets_by_itself_is_refused(helm: str):
    variables = {name for pod in pods(rendered(helm, EVERYTHING)) for name in environment(pod)}
    of_the_values = {f"MNEMOLOG_{name}" for name in EVERYTHING["settings"]}
    own = {name.removeprefix("MNEMOLOG_") for name in variables - of_the_values - {"POD_NAME"}} | {"ENCRYPTION"}
    for name in sorted(own):
        told = refusal(helm, laid_over(MINIMAL, {"settings": {name: "x"}}))
        assert f"settings.{name} is " in told


def test_the_guards_know_every_setting_of_the_worker_and_no_other():
    """A new one goes into a list of _guards.tpl: `$further`, unless the chart sets it, or it is a secret."""
    guards = (CHART / "templates" / "_guards.tpl").read_text("utf-8")
    known = [name for line in re.findall(r"\$(?:own|secret|further) := list (.*) -", guards) for name in line.split()]
    assert sorted(json.loads(name) for name in known) == sorted({n.upper() for n in Settings.model_fields})


@pytest.mark.parametrize("name", WRONG)
def test_the_schema_refuses_what_is_of_a_wrong_kind(helm: str, name: str):
    values, place = WRONG[name]
    told = refusal(helm, laid_over(MINIMAL, values))
    assert "values don't meet the specifications of the schema" in told
    assert place in told


def test_the_sets_of_values_name_every_value_of_the_chart():
    """So that "every option" is what it says."""
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    tried = {path for values in SETS.values() for path in leaves(values)}
    assert {path for path in paths(schema) if not any(f"{one}.".startswith(f"{path}.") for one in tried)} == {"global"}


def leaves(values: dict[str, Any], before: str = "") -> set[str]:
    """Return the dotted paths of the values."""
    found: set[str] = set()
    for key, value in values.items():
        found |= leaves(value, f"{before}{key}.") if isinstance(value, dict) and value else {f"{before}{key}"}
    return found


def paths(schema: dict[str, Any], before: str = "") -> set[str]:
    """Return the dotted paths of the schema's leaves."""
    found: set[str] = set()
    for key, one in schema["properties"].items():
        found |= paths(one, f"{before}{key}.") if "properties" in one else {f"{before}{key}"}
    return found


def test_a_release_may_have_a_parent_chart(helm: str):
    values = laid_over(MINIMAL, {"global": {"anything": {"goes": 1}}})
    assert of_kind(rendered(helm, values), "StatefulSet")
