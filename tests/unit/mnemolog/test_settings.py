"""Settings: built once, frozen, and clear about what is wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError
from support.tables import each

from mnemolog.environment import SettingsError
from mnemolog.log.connection import kafka_security
from mnemolog.server import check_serving
from mnemolog.settings import Settings, check_names, from_environment, read_env_file, revealed
from mnemolog.worker.components import cluster_secrets, configured_index

if TYPE_CHECKING:
    from pathlib import Path


def test_without_an_environment_the_defaults_are_those_of_the_contract():
    settings = from_environment({})
    assert (settings.broker, settings.index, settings.partitions) == ("sqlite://", "embedded", 8)
    assert (settings.save_every_turns, settings.idle_seconds) == (5, 30.0)
    assert (settings.decay_policy, settings.decay_hours) == ("ladder", 24.0)
    assert (settings.host, settings.port) == ("127.0.0.1", 8420)
    assert settings.extracts_with == "rules"


def test_they_are_frozen():
    with pytest.raises(ValidationError):
        from_environment({}).port = 1


@pytest.mark.parametrize("name", ["MNEMOLOG_PROT", "MNEMOLOG_port2"])
def test_an_unknown_setting_is_an_error_that_names_it(name: str):
    with pytest.raises(SettingsError, match=name.removeprefix("MNEMOLOG_").upper()):
        from_environment({name: "1"})


ITS_BROKER = {"MNEMOLOG_BROKER": "kafka://localhost:9092"}
KEY = {"MNEMOLOG_MASTER_KEY": "A" * 43 + "="}
KEY_FILE = {"MNEMOLOG_MASTER_KEY_FILE": "/etc/mnemolog/master"}


def test_the_embedded_engine_encrypts_without_being_asked():
    assert from_environment({}).encrypts
    assert not from_environment({"MNEMOLOG_ENCRYPTION": "off"}).encrypts


def test_on_kafka_a_master_key_or_none_has_to_be_said():
    with pytest.raises(SettingsError, match=r"MNEMOLOG_MASTER_KEY.*MNEMOLOG_ENCRYPTION=off"):
        from_environment(ITS_BROKER)
    assert from_environment(ITS_BROKER | KEY).encrypts
    assert from_environment(ITS_BROKER | KEY_FILE).encrypts
    assert not from_environment(ITS_BROKER | {"MNEMOLOG_ENCRYPTION": "off"}).encrypts


@pytest.mark.parametrize(
    "wrong",
    [
        KEY | KEY_FILE,
        {"MNEMOLOG_ENCRYPTION": "strict", "MNEMOLOG_INDEX": "weaviate://localhost:8080"},
        {"MNEMOLOG_ENCRYPTION": "maybe"},
    ],
)
def test_encryption_that_contradicts_itself_is_refused(wrong: dict[str, str]):
    with pytest.raises(SettingsError, match="MNEMOLOG_"):
        from_environment(wrong)


def test_the_master_key_is_not_shown():
    assert KEY["MNEMOLOG_MASTER_KEY"] not in repr(from_environment(KEY))


@each(
    ("name", "value"),
    [("PORT", "no"), ("PARTITIONS", "0"), ("DECAY_POLICY", "daily"), ("BROKER", "localhost"), ("HOST", "192.0.2.1")],
)
def test_a_value_that_cannot_be_used_is_an_error_that_names_the_setting(name: str, value: str):
    with pytest.raises(SettingsError, match=f"MNEMOLOG_{name}"):
        from_environment({f"MNEMOLOG_{name}": value})


@pytest.mark.parametrize("broker", ["kafka://b", "kafka://b:9092,10.0.0.2:9093", "kafka://[::1]:9092"])
def test_brokers_are_named_by_hosts(broker: str):
    assert from_environment({"MNEMOLOG_BROKER": broker, "MNEMOLOG_ENCRYPTION": "off"}).broker == broker


@each(
    "broker", ["kafka://", "kafka://:9092", "kafka://b:9092,", "kafka://b,kafka://c", "kafka://b:port", "kafka://b/t"]
)
def test_brokers_that_name_no_host_are_refused(broker: str):
    with pytest.raises(SettingsError, match=r"MNEMOLOG_BROKER=.* must be sqlite:// or kafka://host:9092"):
        from_environment({"MNEMOLOG_BROKER": broker})


@pytest.mark.parametrize(
    "address", ["weaviate://localhost:8080", "weaviate://10.0.0.1:80?grpc=81", "weaviates://example.org:443?grpc=8443"]
)
def test_an_index_in_weaviate_is_named_by_its_address(address: str):
    settings = from_environment({"MNEMOLOG_INDEX": address, "MNEMOLOG_WEAVIATE_API_KEY": "key"})
    assert (settings.index, revealed(settings.weaviate_api_key)) == (address, "key")


@each(
    ("address", "advice"),
    [
        ("weaviat", "must be weaviate://"),
        ("http://localhost:8080", "must be weaviate://"),
        ("weaviate://", "must be weaviate://"),
        ("weaviate://host/v1", "must be weaviate://"),
        ("weaviate://host:port", "must be weaviate://"),
        ("weaviate://host?grpc=no", "no port"),
        ("weaviate://host:50051", "port 50051 for HTTP and for gRPC"),
        ("weaviate://host?rest=1", "only .grpc=PORT"),
        ("weaviate://key@host", "WEAVIATE_API_KEY"),
    ],
)
def test_an_address_of_weaviate_that_cannot_be_used_says_what_to_write(address: str, advice: str):
    with pytest.raises(SettingsError, match=advice):
        from_environment({"MNEMOLOG_INDEX": address})


def test_a_key_for_weaviate_without_weaviate_is_an_error():
    with pytest.raises(SettingsError, match="MNEMOLOG_INDEX"):
        from_environment({"MNEMOLOG_WEAVIATE_API_KEY": "key"})


def test_a_registry_that_is_no_url_is_refused_without_telling_its_password():
    with pytest.raises(SettingsError, match="SCHEMA_REGISTRY_URL must begin") as refused:
        from_environment({"MNEMOLOG_SCHEMA_REGISTRY_URL": "name:secret@registry:8081"})
    assert "secret" not in str(refused.value)


@each(
    ("given", "advice"),
    [
        ({"KAFKA_SECURITY_PROTOCOL": "SASL_SSL", "KAFKA_SASL_USERNAME": "u"}, "needs .*KAFKA_SASL_PASSWORD"),
        ({"KAFKA_SASL_USERNAME": "u", "KAFKA_SASL_PASSWORD": "secret"}, "PLAINTEXT uses no .*KAFKA_SASL.*: unset"),
        ({"KAFKA_SSL_CAFILE": "ca.pem"}, "PLAINTEXT uses no .*KAFKA_SSL.*: unset"),
        ({"KAFKA_SECURITY_PROTOCOL": "SSL", "KAFKA_SSL_KEYFILE": "key.pem"}, "needs .*KAFKA_SSL_CERTFILE"),
        ({"KAFKA_SASL_MECHANISM": "GSSAPI"}, "KAFKA_SASL_MECHANISM must be"),
        ({"REPLICATION_FACTOR": "0"}, "REPLICATION_FACTOR must be at least 1, or -1"),
    ],
)
def test_a_protection_that_would_not_be_there_is_refused(given: dict[str, str], advice: str):
    with pytest.raises(SettingsError, match=advice) as refused:
        from_environment({f"MNEMOLOG_{name}": value for name, value in given.items()})
    assert "secret" not in str(refused.value)


def test_a_password_is_in_no_text_of_the_settings():
    sasl = {"KAFKA_SECURITY_PROTOCOL": "SASL_SSL", "KAFKA_SASL_USERNAME": "u", "KAFKA_SASL_PASSWORD": "hush"}
    settings = from_environment({f"MNEMOLOG_{name}": value for name, value in sasl.items()})
    assert "hush" not in f"{settings} {settings!r} {kafka_security(settings)!r}"
    assert "hush" in kafka_security(settings).connection().values()


KEYS_OF_SERVERS = ["LLM_API_KEY", "EMBEDDING_API_KEY", "WEAVIATE_API_KEY"]


@pytest.mark.parametrize("name", KEYS_OF_SERVERS)
def test_a_key_is_in_no_text_of_the_settings(name: str):
    settings = from_environment({f"MNEMOLOG_{name}": "hush", "MNEMOLOG_INDEX": "weaviate://h"})
    assert "hush" not in f"{settings} {settings!r} {configured_index(settings)!r}"
    assert revealed(getattr(settings, name.lower())) == "hush"


@each("name", KEYS_OF_SERVERS)
@each("key", ["hush键", "hush\n", "hush\udcff"])
def test_a_key_that_no_header_can_hold_is_refused_with_a_sentence_that_does_not_show_it(name: str, key: str):
    with pytest.raises(SettingsError, match=f"MNEMOLOG_{name} must be printable ASCII") as refused:
        from_environment({f"MNEMOLOG_{name}": key, "MNEMOLOG_INDEX": "weaviate://h"})
    assert "hush" not in str(refused.value)


@each("secret", ["S3cr3t", "S3/cr3t", "S3@cr3t", "S3 cr3t", "S3#cr3t?x"])
@each(
    ("name", "value"),
    [
        ("BROKER", "kafka://bob:{}@h:9092"),
        ("BROKER", "kafka://h:9092,bob:{}@h2:9092"),
        ("BROKER", "bob:{}@h"),
        ("INDEX", "weaviate://bob:{}@h:8080"),
        ("INDEX", "weaviate://h:8080?key={}"),
        ("ADVERTISED_URL", "http://bob:{}@h"),
        ("SCHEMA_REGISTRY_URL", "bob:{}@h"),
        ("HOST", "bob:{}@h"),
        ("ENCRYPTION", "{}"),
        ("KAFKA_SECURITY_PROTOCOL", "bob:{}@h"),
    ],
)
def test_a_password_in_an_address_is_not_echoed(name: str, value: str, secret: str):
    with pytest.raises(SettingsError, match=f"MNEMOLOG_{name}") as refused:
        from_environment({f"MNEMOLOG_{name}": value.format(secret)})
    assert "cr3t" not in str(refused.value)


def test_addresses_with_a_password_are_masked_where_settings_are_shown():
    names = ("LLM_BASE_URL", "EMBEDDING_BASE_URL", "SCHEMA_REGISTRY_URL")
    settings = from_environment({f"MNEMOLOG_{name}": "https://bob:S3cr3t@h:1/v1?key=t0ken" for name in names})
    assert "https://…" in repr(settings)
    assert not {word for word in ("bob", "S3cr3t", "t0ken") if word in f"{settings} {settings!r}"}


def test_a_key_or_a_base_url_means_a_model_and_the_shared_names_are_honoured():
    assert from_environment({"OPENAI_API_KEY": "k"}).extracts_with == "model"
    both = from_environment({"OPENAI_API_KEY": "theirs", "MNEMOLOG_LLM_API_KEY": "ours"})
    assert revealed(both.llm_api_key) == "ours"
    assert from_environment({"OPENAI_API_KEY": "k", "MNEMOLOG_EXTRACTOR": "rules"}).extracts_with == "rules"


def test_a_second_model_needs_a_first():
    with pytest.raises(SettingsError, match="LLM_SECOND_MODEL is about a model"):
        from_environment({"MNEMOLOG_LLM_SECOND_MODEL": "large"})
    both = {"MNEMOLOG_LLM_SECOND_MODEL": "large", "MNEMOLOG_LLM_BASE_URL": "http://127.0.0.1:1/v1"}
    assert from_environment(both).llm_second_model == "large"


def test_a_forced_model_needs_somebody_to_ask():
    with pytest.raises(SettingsError, match="LLM_API_KEY"):
        from_environment({"MNEMOLOG_EXTRACTOR": "model"})


def test_ebbinghaus_comes_weekly_unless_said_otherwise():
    assert from_environment({"MNEMOLOG_DECAY_POLICY": "ebbinghaus"}).decay_hours == 168.0
    often = {"MNEMOLOG_DECAY_POLICY": "ebbinghaus", "MNEMOLOG_DECAY_EVERY_HOURS": "0.5"}
    assert from_environment(often).decay_hours == 0.5


def test_the_command_line_wins_over_the_environment():
    assert from_environment({"MNEMOLOG_PORT": "1"}, port=2, data_dir=None).port == 2


def test_an_env_file_is_read_line_by_line(tmp_path: Path):
    file = tmp_path / "env"
    file.write_text("# ours\n\nexport MNEMOLOG_PORT='9000'\nMNEMOLOG_LOG_LEVEL=debug\n", "utf-8")
    settings = from_environment(read_env_file(file))
    assert (settings.port, settings.log_level) == (9000, "debug")
    file.write_text("MNEMOLOG_URL=http://127.0.0.1:9\nOPENAI_API_KEY=k\nOPENAI_BASE_URL=u\n", "utf-8")
    assert set(read_env_file(file)) == {"MNEMOLOG_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"}
    file.write_text("MNEMOLOG_PORT\n", "utf-8")
    with pytest.raises(SettingsError, match="line 1"):
        read_env_file(file)
    with pytest.raises(SettingsError, match="No such file"):
        read_env_file(tmp_path / "none")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("MNEMOLOG_LLM_BASEURL", "did you mean MNEMOLOG_LLM_BASE_URL"),
        ("MNEMOLOG_RETENTION", "did you mean MNEMOLOG_RETENTION_DAYS"),
        ("MNEMOLOG_COLOUR", "remove it or correct its name"),
    ],
)
def test_a_variable_that_means_nothing_is_refused_with_the_nearest_name(name: str, advice: str):
    with pytest.raises(SettingsError, match=f"{name} is no setting of mnemolog: {advice}"):
        check_names({name: "1"})


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("PORT", "PORT is no setting: did you mean MNEMOLOG_PORT"),
        ("url", "url is no setting: did you mean MNEMOLOG_URL"),
        ("COLOUR", "COLOUR is no setting: those of mnemolog begin with MNEMOLOG_"),
    ],
)
def test_a_name_of_an_env_file_that_would_change_nothing_is_refused(tmp_path: Path, name: str, advice: str):
    file = tmp_path / "env"
    file.write_text(f"{name}=1\n", "utf-8")
    with pytest.raises(SettingsError, match=advice):
        read_env_file(file)


def test_what_is_wrong_with_a_value_is_said_in_our_words():
    with pytest.raises(SettingsError, match=r"MNEMOLOG_PORT must be a whole number \(given: 'no'\)"):
        from_environment({"MNEMOLOG_PORT": "no"})


@each("url", ["worker-0:8420", "http://worker-0:8420/memory", "http://", "http://me@worker-0"])
def test_an_advertised_url_that_cannot_be_one_is_told_what_it_looks_like(url: str):
    with pytest.raises(SettingsError, match="such as http://worker-0:8420"):
        from_environment({"MNEMOLOG_ADVERTISED_URL": url})


def test_the_default_texts_are_those_of_the_contract():
    settings = from_environment({})
    assert settings.wake_text == "[Periodic Wake] You are waking up for a routine check."
    assert settings.reminder_template == (
        "[Scheduled Reminder] Please remind user {user_id} on {channel}: {content}. Use send_message."
    )
    assert (settings.wake_every_seconds, settings.wake_memory_limit, settings.wake_query) == (None, 0, None)


@pytest.mark.parametrize("template", ["Remind them.", "{content} on {chanel}", "{content} {}"])
def test_a_template_for_reminders_has_the_content_and_no_unknown_place(template: str):
    with pytest.raises(SettingsError, match="MNEMOLOG_REMINDER_TEMPLATE"):
        from_environment({"MNEMOLOG_REMINDER_TEMPLATE": template})
    assert from_environment({"MNEMOLOG_REMINDER_TEMPLATE": "{content} {{x"}).reminder_template == "{content} {{x"


def test_periodic_wakes_may_be_off_by_name():
    assert from_environment({"MNEMOLOG_WAKE_EVERY_SECONDS": "off"}).wake_every_seconds is None
    assert from_environment({"MNEMOLOG_WAKE_EVERY_SECONDS": "1.5"}).wake_every_seconds == 1.5
    for wrong in ("0", "soon", "1e12"):
        with pytest.raises(SettingsError, match="MNEMOLOG_WAKE_EVERY_SECONDS"):
            from_environment({"MNEMOLOG_WAKE_EVERY_SECONDS": wrong})


TLS = {"TLS_CERT_FILE": "c.pem", "TLS_KEY_FILE": "k.pem"}
KEYS = {"API_KEYS_FILE": "keys.json"}
OFF = {"ENCRYPTION": "off"}
ON_KAFKA = {**OFF, "BROKER": "kafka://b:9092", "ADVERTISED_URL": "https://worker-0:8420"}
ELSEWHERE = {"HOST": "192.0.2.1"}
SECRET = {"CLUSTER_SECRET": "0123456789abcdef" * 2}


def given(*parts: dict[str, str], **more: str) -> Settings:
    """Build the settings of variables without the prefix."""
    together = {name: value for part in (*parts, more) for name, value in part.items()}
    return from_environment({f"MNEMOLOG_{name}": value for name, value in together.items()})


@each(
    ("parts", "advice"),
    [
        ([ELSEWHERE], "without API keys .* set MNEMOLOG_API_KEYS_FILE"),
        ([ELSEWHERE, TLS], "without API keys"),
        ([ELSEWHERE, KEYS], "must not travel in clear: set MNEMOLOG_TLS_CERT_FILE .* MNEMOLOG_TLS=elsewhere"),
        ([{"TLS_KEY_FILE": "k.pem"}], "need MNEMOLOG_TLS_CERT_FILE"),
        ([{"TLS_CLIENT_CA_FILE": "ca.pem"}], "need MNEMOLOG_TLS_CERT_FILE"),
        ([TLS, {"TLS": "elsewhere"}], "contradict each other"),
        ([{"TLS": "here"}], "MNEMOLOG_TLS must be"),
        ([TLS, {"ADVERTISED_URL": "http://worker-0:8420"}], "must begin with https://"),
        ([KEYS, ON_KAFKA], "MNEMOLOG_CLUSTER_SECRET .*or _FILE.* at least 32 bytes, or MNEMOLOG_TLS_CLIENT_CA_FILE"),
        ([{"CLUSTER_SECRET": "hush"}], "MNEMOLOG_CLUSTER_SECRET must have at least 32 bytes: .*openssl rand -hex 32"),
        ([{"CLUSTER_SECRET": "hush" * 8 + ",hush"}], "at least 32 bytes"),
        ([{"CLUSTER_SECRET": ",".join(["hush" * 8] * 3)}], "has 3 secrets: at most 2, the newer first"),
        ([SECRET, {"CLUSTER_SECRET_FILE": "s"}], "both set: unset one"),
        ([{"INTERNAL_PORT": "8421"}], "INTERNAL_PORT is used with MNEMOLOG_CLUSTER_SECRET"),
        ([ON_KAFKA, SECRET, {"INTERNAL_PORT": "8420"}], "is MNEMOLOG_PORT too"),
        ([ON_KAFKA, SECRET, {"PORT": "0"}], "set MNEMOLOG_INTERNAL_PORT"),
        ([ON_KAFKA, SECRET, {"PORT": "65535"}], "set MNEMOLOG_INTERNAL_PORT"),
    ],
)
def test_who_would_be_reached_without_protection_is_told_what_to_set(parts: list[dict[str, str]], advice: str):
    with pytest.raises(SettingsError, match=advice) as refused:
        given(*parts)
    assert "hush" not in str(refused.value)


@each(
    "parts",
    [
        [ELSEWHERE, KEYS, TLS],
        [ELSEWHERE, KEYS, {"TLS": "elsewhere"}],
        [ELSEWHERE, KEYS, {"TLS_CERT_FILE": "both.pem"}],
        [KEYS, ON_KAFKA, SECRET],
        [KEYS, ON_KAFKA, TLS, {"TLS_CLIENT_CA_FILE": "ca.pem"}],
        [KEYS, {"ADVERTISED_URL": "https://memory.example.com"}],
        [TLS],
        [SECRET],
    ],
)
def test_what_is_protected_may_be_reached(parts: list[dict[str, str]]):
    assert given(*parts)


@each(
    ("advertised", "more", "url"),
    [
        ("https://worker-0:8420", {}, "https://worker-0:8421"),
        ("https://worker-0", {}, "https://worker-0:8421"),
        ("https://worker-0:8420", {"INTERNAL_PORT": "9000"}, "https://worker-0:9000"),
        ("https://worker-0:9000", {}, "https://worker-0:9000"),
        ("https://[::1]:8420/", {}, "https://[::1]:8421"),
        ("https://[::1]", {}, "https://[::1]:8421"),
    ],
)
def test_the_group_is_told_the_port_for_workers(advertised: str, more: dict[str, str], url: str):
    settings = given(ON_KAFKA, SECRET, {"ADVERTISED_URL": advertised}, more)
    assert settings.url_for_workers == url
    assert given(ON_KAFKA, {"ADVERTISED_URL": advertised}).url_for_workers == advertised


def test_without_proof_or_others_there_is_no_port_for_workers():
    assert given(ON_KAFKA).port_for_workers is None
    assert given(SECRET).port_for_workers is None
    assert given(SECRET, OFF, {"BROKER": "kafka://b:9092"}).port_for_workers is None
    assert given(ON_KAFKA, SECRET).port_for_workers == 8421


def test_a_secret_is_in_no_text_of_the_settings_and_is_read_from_its_file(tmp_path: Path):
    assert SECRET["CLUSTER_SECRET"] not in f"{given(SECRET)} {given(SECRET)!r}"
    assert cluster_secrets(given(SECRET)) == [SECRET["CLUSTER_SECRET"].encode()]
    file = tmp_path / "secret"
    file.write_text(f"{'n' * 32}\n{'o' * 40}\n", "utf-8")
    assert cluster_secrets(given(CLUSTER_SECRET_FILE=str(file))) == [b"n" * 32, b"o" * 40]
    file.write_text("hush\n", "utf-8")
    with pytest.raises(SettingsError, match=f"CLUSTER_SECRET_FILE={file} must have at least 32 bytes") as refused:
        cluster_secrets(given(CLUSTER_SECRET_FILE=str(file)))
    assert "hush" not in str(refused.value)
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        cluster_secrets(given(CLUSTER_SECRET_FILE=str(tmp_path / "none")))


def test_what_would_protect_nothing_is_refused_by_who_serves():
    for settings, advice in (
        (given(TLS, {"TLS_CLIENT_CA_FILE": "ca.pem"}), "callers are known by their API keys"),
        (given(SECRET, OFF, {"BROKER": "kafka://b:9092"}), "set MNEMOLOG_ADVERTISED_URL"),
    ):
        with pytest.raises(SettingsError, match=advice):
            check_serving(settings)


@each(
    ("encoder", "advice"),
    [
        ("onnx:", "MNEMOLOG_EMBEDDING_MODEL onnx: must be followed by a folder"),
        ("en=onnx:/a,zh=onnx:/b", "MNEMOLOG_EMBEDDING_MODEL names an encoder for one language"),
        ("model-x", "MNEMOLOG_EMBEDDING_MODEL needs MNEMOLOG_EMBEDDING_BASE_URL"),
    ],
)
def test_an_encoder_that_cannot_be_used_is_refused(encoder: str, advice: str):
    with pytest.raises(SettingsError, match=re.escape(advice)):
        from_environment({"MNEMOLOG_EMBEDDING_MODEL": encoder})


def test_an_encoder_on_this_machine_needs_no_endpoint():
    for encoder in ("onnx:/a?pooling=cls", "fastembed:BAAI/bge-small-en-v1.5"):
        assert from_environment({"MNEMOLOG_EMBEDDING_MODEL": encoder}).embedding_model == encoder


def test_a_time_zone_is_a_name_or_an_offset():
    assert from_environment({}).zone == ZoneInfo("UTC")
    assert from_environment({"MNEMOLOG_TIMEZONE": "Asia/Shanghai"}).zone == ZoneInfo("Asia/Shanghai")
    with pytest.raises(SettingsError, match=r"MNEMOLOG_TIMEZONE must be a time zone.*Mars/Olympus"):
        from_environment({"MNEMOLOG_TIMEZONE": "Mars/Olympus"})


def test_a_redaction_that_says_nothing_known_is_refused():
    with pytest.raises(SettingsError, match=r"MNEMOLOG_REDACTION.*kind=action"):
        from_environment({"MNEMOLOG_REDACTION": "card=hide"})


@each(
    ("given", "makes"),
    [
        ({}, True),
        ({"TURN_VECTORS": "false"}, False),
        ({"EMBEDDING_MODEL": "text-embedding-3-small", "EMBEDDING_API_KEY": "k"}, False),
        ({"EMBEDDING_MODEL": "text-embedding-3-small", "EMBEDDING_API_KEY": "k", "TURN_VECTORS": "true"}, True),
    ],
)
def test_turns_get_vectors_unless_told_otherwise_or_an_endpoint_would_be_asked(given: dict[str, str], *, makes: bool):
    settings = from_environment({f"MNEMOLOG_{name}": value for name, value in given.items()})
    assert settings.makes_turn_vectors is makes
