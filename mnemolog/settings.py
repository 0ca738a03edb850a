"""Settings: a frozen value, built once from the environment. An unknown setting is an error."""

from __future__ import annotations

import os
import re
from datetime import UTC, tzinfo
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from mnemolog.environment import DEFAULT_DATA_DIR, OF_COMMANDS, PREFIX, SettingsError, named_settings
from mnemolog.reminder_template import REMINDER_TEMPLATE, check_template
from projections.embedding.choice import ENDPOINT, EmbedderUnusable, read_choice
from projections.index.registry import INDEXES
from schemas.disclosure import masked
from schemas.inputs.faults import plain
from schemas.inputs.images import VisionPolicy
from schemas.inputs.zone import zone_named
from schemas.redaction import actions_of
from streams.decisions.decay_policies.registry import POLICIES, PolicyName

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

SHARED: Final = {"llm_api_key": "OPENAI_API_KEY", "llm_base_url": "OPENAI_BASE_URL"}
"""The settings that are also read from these variables, which other programs use."""
MAX_INTIMACY: Final = 100.0
MAX_PORT: Final = 65535
LEAST_SECRET_BYTES: Final = 32
MOST_SECRETS: Final = 2
"""The secrets in CLUSTER_SECRET: the new and the old one during a rotation."""
_BROKER: Final = r"(?:\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::\d{1,5})?"
_BROKERS: Final = re.compile(f"kafka://{_BROKER}(?:,{_BROKER})*")
_HOST_ONLY: Final = re.compile(r"https?://[^/?#@\s]+/?")


def _is_sendable(secret: SecretStr) -> SecretStr:
    """Refuse a key that cannot be sent in an HTTP header."""
    text = secret.get_secret_value()
    if not (text.isascii() and text.isprintable()):
        raise ValueError("must be printable ASCII without line breaks: look how it was copied")
    return secret


def _is_text(secret: SecretStr) -> SecretStr:
    """Refuse a value that is not UTF-8."""
    try:
        secret.get_secret_value().encode()
    except UnicodeEncodeError:
        raise ValueError("must be UTF-8") from None
    return secret


def _is_redaction(given: str) -> str:
    actions_of(given)
    return given


def _is_zone(given: str) -> str:
    if zone_named(given) is None:
        raise ValueError("must be a time zone: a name such as Asia/Shanghai, or an offset such as +08:00")
    return given


HeaderSecret: TypeAlias = Annotated[SecretStr, AfterValidator(_is_sendable)]
"""A key that is sent in a header."""
Secret: TypeAlias = Annotated[SecretStr, AfterValidator(_is_text)]


class Settings(BaseModel):
    """The settings, named by their variables without the prefix, in lower case; see docs/reference/settings.md."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    broker: str = "sqlite://"
    index: str = "embedded"
    weaviate_api_key: HeaderSecret | None = None
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    kafka_sasl_username: str | None = None
    kafka_sasl_password: Secret | None = None
    kafka_ssl_cafile: Path | None = None
    kafka_ssl_certfile: Path | None = None
    kafka_ssl_keyfile: Path | None = None
    replication_factor: Annotated[int, Field(ge=-1, le=32767)] = -1
    schema_registry_url: str | None = None
    data_dir: Path = Path(DEFAULT_DATA_DIR)
    partitions: Annotated[int, Field(ge=1, le=1024)] = 8
    extractor: Literal["model", "rules", "verbatim"] | None = None
    llm_base_url: str | None = None
    llm_api_key: HeaderSecret | None = None
    llm_model: str = "gpt-4o-mini"
    llm_second_model: Annotated[str, Field(min_length=1)] | None = None
    llm_temperature: Annotated[float, Field(ge=0, le=2)] = 0.2
    llm_max_tokens: Annotated[int, Field(ge=1)] = 2048
    llm_timeout_seconds: Annotated[float, Field(gt=0)] = 60.0
    llm_context_tokens: Annotated[int, Field(ge=1024)] | None = None
    known_tokens: Annotated[int, Field(ge=0)] = 400
    llm_vision: bool = False
    image_hosts: str | None = None
    llm_concurrency: Annotated[int, Field(ge=1)] = 8
    embedding_base_url: str | None = None
    turn_vectors: bool | None = None
    embedding_model: str = "builtin"
    embedding_api_key: HeaderSecret | None = None
    memorize: bool = True
    user_profile: bool = True
    save_every_turns: Annotated[int, Field(ge=1)] = 5
    idle_seconds: Annotated[float, Field(gt=0)] = 30.0
    timezone: Annotated[str, AfterValidator(_is_zone)] = "UTC"
    episode_merge_hours: Annotated[float, Field(ge=0)] = 24.0
    keyword_overlap: Annotated[float, Field(ge=0, le=1)] = 0.6
    profile_conflict: Literal["supersede", "keep"] = "supersede"
    decay_policy: PolicyName = "ladder"
    decay_every_hours: Annotated[float, Field(gt=0)] | None = None
    min_episode_grade: Annotated[float, Field(ge=1, le=4)] = 2.0
    max_episodes: Annotated[int, Field(ge=1)] = 1000
    episode_min_strength: Annotated[float, Field(ge=0, le=1)] = 0.3
    keep_important: bool = True
    similarity_threshold: Annotated[float, Field(ge=0, le=1)] = 0.7
    intimacy_levels: Annotated[str, Field(pattern=r"^\d+(\.\d+)?,\d+(\.\d+)?$")] = "20,50"
    greeting_timeout_seconds: Annotated[float, Field(gt=0)] = 10.0
    heads_to: Annotated[str, Field(min_length=1)] | None = None
    heads_every_hours: Annotated[float, Field(gt=0)] = 1.0
    retention_days: Annotated[float, Field(ge=0, le=365_000)] = 30.0
    clock_gap_days: Annotated[float, Field(ge=0, le=365_000)] = 30.0
    wake_text: Annotated[str, Field(min_length=1, max_length=16_384)] = (
        "[Periodic Wake] You are waking up for a routine check."
    )
    wake_every_seconds: Annotated[
        Annotated[float, Field(ge=1, le=366 * 86_400)] | None,
        BeforeValidator(lambda given: None if given == "off" else given),
    ] = None
    wake_memory_limit: Annotated[int, Field(ge=0, le=100)] = 0
    wake_query: Annotated[str, Field(min_length=1, max_length=16_384)] | None = None
    reminder_template: Annotated[str, Field(max_length=16_384), AfterValidator(check_template)] = REMINDER_TEMPLATE
    encryption: Literal["on", "strict", "off"] = "on"
    master_key: Secret | None = None
    master_key_file: Path | None = None
    redaction: Annotated[str, AfterValidator(_is_redaction)] | None = None
    webhook_hosts: str | None = None
    api_keys_file: Path | None = None
    tls_cert_file: Path | None = None
    tls_key_file: Path | None = None
    tls_client_ca_file: Path | None = None
    tls: Literal["elsewhere"] | None = None
    ca_file: Path | None = None
    cluster_secret: Secret | None = None
    cluster_secret_file: Path | None = None
    internal_port: Annotated[int, Field(ge=1, le=65535)] | None = None
    peers: str | None = None
    advertised_url: str | None = None
    session_seconds: Annotated[float, Field(ge=1, le=1800)] = 8.0
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8420
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["text", "json"] = "text"

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Hide all secrets: secret fields, and the names and passwords in addresses."""
        for name, value in super().__repr_args__():
            yield name, masked(value) if isinstance(value, str) else value

    @property
    def decay_hours(self) -> float:
        """The period of decay in hours: as set, else the default of the policy."""
        return self.decay_every_hours or POLICIES[self.decay_policy].default_hours

    @property
    def extracts_with(self) -> Literal["model", "rules", "verbatim"]:
        """The extractor: as set, else the model if there is a key or a base URL, else the rules."""
        if self.extractor is not None:
            return self.extractor
        return "model" if self.has_model else "rules"

    @property
    def zone(self) -> tzinfo:
        """The time zone for callers that name none."""
        return zone_named(self.timezone) or UTC

    @property
    def levels(self) -> tuple[float, float]:
        """The least intimacies at which more than the name is shown, and at which everything is."""
        name_only, discreet = self.intimacy_levels.split(",")
        return float(name_only), float(discreet)

    @property
    def makes_turn_vectors(self) -> bool:
        """Whether turns get vectors for queries in other languages: as set, else if the encoder uses no endpoint."""
        if self.turn_vectors is not None:
            return self.turn_vectors
        return read_choice(self.embedding_model).kind != ENDPOINT

    @property
    def has_model(self) -> bool:
        """Whether a language model is configured."""
        return bool(self.llm_base_url or self.llm_api_key)

    @property
    def vision(self) -> VisionPolicy:
        """Whether the model sees images, and the hosts that may serve them."""
        hosts = (host.strip().lower() for host in (self.image_hosts or "").split(","))
        return VisionPolicy(
            sees=self.llm_vision and self.extracts_with == "model", hosts=frozenset(filter(None, hosts))
        )

    @property
    def private_receivers(self) -> frozenset[str]:
        """The hosts of webhooks that may be private and be used without TLS."""
        hosts = (host.strip().lower().strip("[]") for host in (self.webhook_hosts or "").split(","))
        return frozenset(filter(None, hosts))

    @property
    def is_embedded(self) -> bool:
        """Whether the log is the embedded one."""
        return self.broker.startswith("sqlite:")

    @property
    def encrypts(self) -> bool:
        """Whether new records are encrypted; earlier encrypted records are read in any case."""
        return self.encryption != "off"

    @property
    def has_proof(self) -> bool:
        """Whether workers prove their identity to each other, with a secret or with certificates."""
        return bool(self.cluster_secret or self.cluster_secret_file or self.tls_client_ca_file)

    @property
    def port_for_workers(self) -> int | None:
        """The separate port for other workers; None if they use the callers' port or there are none."""
        if not self.has_proof or self.advertised_url is None or self.is_embedded:
            return None
        return self.internal_port or self.port + 1

    @property
    def url_for_workers(self) -> str | None:
        """The URL for other workers, as announced in the group; None for the address at which the worker listens.

        It is ADVERTISED_URL, with the port for workers if it has PORT or no port.
        """
        if self.advertised_url is None or (inner := self.port_for_workers) is None:
            return self.advertised_url
        address = urlsplit(self.advertised_url)
        if address.port not in (None, self.port):
            return self.advertised_url
        host = address.netloc.rpartition(":")[0] if address.port is not None else address.netloc
        return f"{address.scheme}://{host}:{inner}"


def revealed(secret: SecretStr | None) -> str | None:
    """Return a secret as text, which may be sent to its service but never shown."""
    return None if secret is None else secret.get_secret_value()


def from_environment(environment: Mapping[str, str] | None = None, **overrides: object) -> Settings:
    """Build the settings. Overrides from the command line take precedence unless they are None.

    Raises SettingsError.
    """
    given = dict(os.environ if environment is None else environment)
    found: dict[str, object] = {name.removeprefix(PREFIX).lower(): given[name] for name in named_settings(given)}
    check_names(given)
    _honour_shared_names(found, given)
    found.update({name: value for name, value in overrides.items() if value is not None})
    try:
        settings = Settings.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        name = "_".join(str(p) for p in first["loc"]).upper()
        raise SettingsError(f"{PREFIX}{name} {plain(first)}{_given(first)}") from None
    return _checked(settings)


def _given(error: Mapping[str, Any]) -> str:
    """Return the part of a value that may be shown: nothing of a secret, and only the host of an address."""
    field = Settings.model_fields.get(str(error["loc"][0])) if error["loc"] else None
    if field is None or "SecretStr" in repr(field.annotation) or error["loc"][0] == "encryption":  # maybe a key
        return ""
    given = error["input"]
    return f" (given: {masked(given) if isinstance(given, str) else given!r})"


def check_names(environment: Mapping[str, str]) -> None:
    """Refuse an unknown variable with mnemolog's prefix, which would have no effect. Raises SettingsError."""
    for name in named_settings(environment):
        short = name.removeprefix(PREFIX)
        if short.lower() not in Settings.model_fields:
            near = get_close_matches(short.lower(), Settings.model_fields, n=1)
            advice = f"did you mean {PREFIX}{near[0].upper()}?" if near else "remove it or correct its name"
            raise SettingsError(f"{PREFIX}{short.upper()} is no setting of mnemolog: {advice}")


def _honour_shared_names(found: dict[str, object], given: Mapping[str, str]) -> None:
    """Use OPENAI_API_KEY and OPENAI_BASE_URL if mnemolog's own variables are unset."""
    shared = dict(SHARED)
    if found.get("embedding_model", "builtin") != "builtin":
        shared |= {"embedding_api_key": "OPENAI_API_KEY", "embedding_base_url": "OPENAI_BASE_URL"}
    for own, name in shared.items():
        if given.get(name):
            found.setdefault(own, given[name])


def read_env_file(path: Path) -> dict[str, str]:
    """Return the NAME=value lines of a file, without blank lines and lines that begin with #.

    Raises SettingsError, also for a name that is not a variable of mnemolog, which would have no effect.
    """
    found: dict[str, str] = {}
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise SettingsError(f"--env-file {path}: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.partition("=")
        if not equals:
            raise SettingsError(f"--env-file {path}, line {number}: expected NAME=value")
        name = name.strip().removeprefix("export ").strip()
        if not name.startswith(PREFIX) and name not in SHARED.values():
            meant = f"{PREFIX}{name.upper()}"
            known = meant in OF_COMMANDS or name.lower() in Settings.model_fields
            advice = f"did you mean {meant}?" if known else f"those of mnemolog begin with {PREFIX}"
            raise SettingsError(f"--env-file {path}, line {number}: {name} is no setting: {advice}")
        found[name] = value.strip().strip("'\"")
    return found


def _checked(settings: Settings) -> Settings:
    if settings.broker != "sqlite://" and not _BROKERS.fullmatch(settings.broker):
        raise SettingsError(
            f"{PREFIX}BROKER={masked(settings.broker)!r} must be sqlite:// or kafka://host:9092,host2:9092"
        )
    _check_kafka(settings)
    _check_encryption(settings)
    _check_index(settings)
    _check_heads(settings)
    if not (settings.schema_registry_url or "http://").startswith(("http://", "https://")):  # may hold a password
        raise SettingsError(f"{PREFIX}SCHEMA_REGISTRY_URL must begin with http:// or https://")
    if settings.advertised_url is not None and not _HOST_ONLY.fullmatch(settings.advertised_url):
        raise SettingsError(
            f"{PREFIX}ADVERTISED_URL={masked(settings.advertised_url)!r} must be where other workers reach this one, "
            "such as http://worker-0:8420: a scheme, a host and a port, without a path"
        )
    _check_listening(settings)
    _check_workers(settings)
    if not settings.levels[0] <= settings.levels[1] <= MAX_INTIMACY:
        raise SettingsError(
            f"{PREFIX}INTIMACY_LEVELS={settings.intimacy_levels!r} must be two ascending numbers, 0 to 100"
        )
    _check_model(settings)
    _check_embedder(settings)
    return settings


def _check_encryption(settings: Settings) -> None:
    """Refuse two master keys, none on Kafka, and with `strict` an index that stores vectors elsewhere."""
    if settings.master_key is not None and settings.master_key_file is not None:
        raise SettingsError(f"{PREFIX}MASTER_KEY and {PREFIX}MASTER_KEY_FILE are both set: unset one of them")
    has_key = settings.master_key is not None or settings.master_key_file is not None
    if settings.encrypts and not settings.is_embedded and not has_key:
        raise SettingsError(
            f"{PREFIX}BROKER is Kafka, whose workers share one master key: set {PREFIX}MASTER_KEY or "
            f"{PREFIX}MASTER_KEY_FILE (32 bytes in base64: `openssl rand -base64 32`), or {PREFIX}ENCRYPTION=off"
        )
    if settings.encryption == "strict" and settings.index != "embedded":
        raise SettingsError(
            f"{PREFIX}ENCRYPTION=strict lets no vector lie outside the encrypted files: set {PREFIX}INDEX=embedded"
        )


def _check_heads(settings: Settings) -> None:
    """Refuse a place for heads inside the data directory, and a URL whose server cannot be verified."""
    if (place := settings.heads_to) is None:
        return
    if "://" in place:
        if not place.startswith("https://") and not _is_allowed(place, settings.private_receivers):
            raise SettingsError(
                f"{PREFIX}HEADS_TO={masked(place)!r} must be a folder, or an https:// address to which heads are "
                f"posted; a host that {PREFIX}WEBHOOK_HOSTS names may have http://"
            )
    elif Path(place).expanduser().resolve().is_relative_to(settings.data_dir.expanduser().resolve()):
        raise SettingsError(
            f"{PREFIX}HEADS_TO={place!r} lies in the data directory: heads tell of an older copy of it only from "
            "elsewhere, best from another machine"
        )


def _is_allowed(url: str, hosts: Collection[str]) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:  # an unclosed bracket
        return False
    return parts.scheme == "http" and parts.hostname in hosts


def _check_embedder(settings: Settings) -> None:
    """Refuse an unknown encoder, and an encoder that needs an endpoint without one."""
    try:
        chosen = read_choice(settings.embedding_model)
    except EmbedderUnusable as error:
        raise SettingsError(f"{PREFIX}EMBEDDING_MODEL {error}") from None
    if chosen.kind == ENDPOINT and not (settings.embedding_base_url or settings.embedding_api_key):
        raise SettingsError(f"{PREFIX}EMBEDDING_MODEL needs {PREFIX}EMBEDDING_BASE_URL or {PREFIX}EMBEDDING_API_KEY")


def _check_listening(settings: Settings) -> None:
    """Refuse to listen beyond loopback without keys or a setting for TLS, and refuse incomplete TLS settings."""
    files = f"{PREFIX}TLS_CERT_FILE and {PREFIX}TLS_KEY_FILE"
    if settings.tls_cert_file is None and (settings.tls_key_file or settings.tls_client_ca_file):
        raise SettingsError(f"{PREFIX}TLS_KEY_FILE and {PREFIX}TLS_CLIENT_CA_FILE need {PREFIX}TLS_CERT_FILE")
    if settings.tls_cert_file is not None and settings.tls is not None:
        raise SettingsError(f"{PREFIX}TLS=elsewhere and {PREFIX}TLS_CERT_FILE contradict each other: unset one of them")
    if settings.tls_cert_file is not None and (settings.advertised_url or "https:").startswith("http:"):
        raise SettingsError(f"{PREFIX}ADVERTISED_URL must begin with https://, as {PREFIX}TLS_CERT_FILE is set")
    if settings.host in ("127.0.0.1", "localhost", "::1"):
        return
    if settings.api_keys_file is None:
        raise SettingsError(
            f"{PREFIX}HOST={masked(settings.host)!r}: without API keys the server listens on loopback only; make "
            f"one by `mnemolog keys create` and set {PREFIX}API_KEYS_FILE"
        )
    if settings.tls_cert_file is None and settings.tls is None:
        raise SettingsError(
            f"{PREFIX}HOST={masked(settings.host)!r}: beyond loopback keys must not travel in clear: set {files}, or "
            f"{PREFIX}TLS=elsewhere where something before the server, or the network, encrypts"
        )


def _check_workers(settings: Settings) -> None:
    """Refuse several workers with API keys but without proof of their identities, and refuse unusable proofs."""
    if settings.cluster_secret and settings.cluster_secret_file:
        raise SettingsError(f"{PREFIX}CLUSTER_SECRET and {PREFIX}CLUSTER_SECRET_FILE are both set: unset one of them")
    if settings.cluster_secret is not None:
        split_secrets(settings.cluster_secret.get_secret_value(), f"{PREFIX}CLUSTER_SECRET")
    if settings.internal_port is not None and not settings.has_proof:
        raise SettingsError(f"{PREFIX}INTERNAL_PORT is used with {PREFIX}CLUSTER_SECRET or client certificates only")
    if settings.api_keys_file and settings.advertised_url and not (settings.is_embedded or settings.has_proof):
        raise SettingsError(
            f"{PREFIX}ADVERTISED_URL: workers with API keys must prove to each other who they are: give all of "
            f"them the same {PREFIX}CLUSTER_SECRET (or _FILE) of at least {LEAST_SECRET_BYTES} bytes, "
            f"or {PREFIX}TLS_CLIENT_CA_FILE"
        )
    if (inner := settings.port_for_workers) is None:
        return
    if settings.internal_port is None and not 0 < settings.port < inner <= MAX_PORT:
        raise SettingsError(f"{PREFIX}PORT={settings.port}: set {PREFIX}INTERNAL_PORT, which is {PREFIX}PORT + 1 else")
    if inner == settings.port:
        raise SettingsError(f"{PREFIX}INTERNAL_PORT={inner} is {PREFIX}PORT too: give other workers another one")


def split_secrets(text: str, source: str) -> list[bytes]:
    """Return the secrets in a text, newest first, separated by commas or line breaks. Raises SettingsError."""
    secrets = [part.strip().encode() for part in re.split(r"[,\n]", text) if part.strip()]
    if not secrets or min(map(len, secrets)) < LEAST_SECRET_BYTES:
        advice = "make one by `openssl rand -hex 32`"
        raise SettingsError(f"{source} must have at least {LEAST_SECRET_BYTES} bytes: {advice}")
    if len(secrets) > MOST_SECRETS:
        raise SettingsError(f"{source} has {len(secrets)} secrets: at most {MOST_SECRETS}, the newer first")
    return secrets


def _check_index(settings: Settings) -> None:
    """Refuse an unusable index, and the key of an index that is not used."""
    try:
        chosen = INDEXES.of(settings.index)
    except ValueError as error:
        raise SettingsError(f"{PREFIX}INDEX={masked(settings.index)!r} {error}") from None
    for index in INDEXES:
        if index.secret not in (None, chosen.secret) and getattr(settings, index.secret) is not None:
            name = f"{PREFIX}{index.secret.upper()}"
            raise SettingsError(f"{name} is for {PREFIX}INDEX={index.schemes[0]}://…: set that, or unset the key")


def _check_model(settings: Settings) -> None:
    """Refuse a model without a key or a URL, and refuse a second model or vision without a model."""
    if settings.extracts_with == "model" and not settings.has_model:
        raise SettingsError(f"{PREFIX}EXTRACTOR=model needs {PREFIX}LLM_API_KEY or {PREFIX}LLM_BASE_URL")
    if settings.llm_second_model and settings.extracts_with != "model":
        raise SettingsError(f"{PREFIX}LLM_SECOND_MODEL is about a model: set {PREFIX}LLM_BASE_URL or unset it")
    if settings.llm_vision and settings.extracts_with != "model":
        raise SettingsError(f"{PREFIX}LLM_VISION is about a model: set {PREFIX}LLM_BASE_URL or unset it")


def _check_kafka(settings: Settings) -> None:
    """Refuse settings that would be ignored, and missing ones, so that no connection only seems to be protected."""
    protocol = f"{PREFIX}KAFKA_SECURITY_PROTOCOL={settings.kafka_security_protocol}"
    user = (settings.kafka_sasl_username, settings.kafka_sasl_password)
    if settings.kafka_security_protocol.startswith("SASL_"):
        if None in user:
            raise SettingsError(f"{protocol} needs {PREFIX}KAFKA_SASL_USERNAME and {PREFIX}KAFKA_SASL_PASSWORD")
    elif user != (None, None):
        raise SettingsError(f"{protocol} uses no {PREFIX}KAFKA_SASL_*: unset them, or set SASL_SSL")
    files = (settings.kafka_ssl_cafile, settings.kafka_ssl_certfile, settings.kafka_ssl_keyfile)
    if not settings.kafka_security_protocol.endswith("SSL") and any(files):
        raise SettingsError(f"{protocol} uses no {PREFIX}KAFKA_SSL_*: unset them, or set SSL or SASL_SSL")
    if settings.kafka_ssl_keyfile and not settings.kafka_ssl_certfile:
        raise SettingsError(f"{PREFIX}KAFKA_SSL_KEYFILE needs {PREFIX}KAFKA_SSL_CERTFILE")
    if settings.replication_factor == 0:
        raise SettingsError(f"{PREFIX}REPLICATION_FACTOR must be at least 1, or -1 for the brokers' default")
