"""Settings: a frozen value, built once from the environment. Unknown ones are an error, those to come say so."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from mnemolog.reminder_template import REMINDER_TEMPLATE, check_template
from projections.index.registry import INDEXES
from schemas.inputs.faults import plain
from schemas.inputs.images import VisionPolicy
from streams.decisions.decay_policies.registry import POLICIES, PolicyName

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "MNEMOLOG_"
URL_VARIABLE: Final = "MNEMOLOG_URL"
"""Not a setting of the worker: whom commands talk to."""
SHARED: Final = {"llm_api_key": "OPENAI_API_KEY", "llm_base_url": "OPENAI_BASE_URL"}
"""Settings that are taken from these too, under the names that other programs know."""
MAX_INTIMACY: Final = 100.0
NOT_YET: Final = frozenset(
    {
        "MASTER_KEY", "MASTER_KEY_FILE", "API_KEYS_FILE",
    }
)  # fmt: skip
"""Named in the contract, built by later issues."""
_BROKER: Final = r"(?:\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::\d{1,5})?"
_BROKERS: Final = re.compile(f"kafka://{_BROKER}(?:,{_BROKER})*")
_HOST_ONLY: Final = re.compile(r"https?://[^/?#@\s]+/?")


class SettingsError(ValueError):
    """A setting cannot be used; the message names it and says what to do."""


class Settings(BaseModel):
    """Named as in the environment, without the prefix and in lower case. docs/reference/settings.md explains each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    broker: str = "sqlite://"
    index: str = "embedded"
    weaviate_api_key: str | None = None
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    kafka_sasl_username: str | None = None
    kafka_sasl_password: SecretStr | None = None
    kafka_ssl_cafile: Path | None = None
    kafka_ssl_certfile: Path | None = None
    kafka_ssl_keyfile: Path | None = None
    replication_factor: Annotated[int, Field(ge=-1, le=32767)] = -1
    schema_registry_url: str | None = None
    data_dir: Path = Path("var")
    partitions: Annotated[int, Field(ge=1, le=1024)] = 8
    extractor: Literal["model", "rules", "verbatim"] | None = None
    llm_base_url: str | None = None
    llm_api_key: str | None = None
    llm_model: str = "gpt-4o-mini"
    llm_temperature: Annotated[float, Field(ge=0, le=2)] = 0.2
    llm_max_tokens: Annotated[int, Field(ge=1)] = 2048
    llm_timeout_seconds: Annotated[float, Field(gt=0)] = 60.0
    llm_vision: bool = False
    image_hosts: str | None = None
    llm_concurrency: Annotated[int, Field(ge=1)] = 8
    embedding_base_url: str | None = None
    embedding_model: str = "builtin"
    embedding_api_key: str | None = None
    memorize: bool = True
    user_profile: bool = True
    save_every_turns: Annotated[int, Field(ge=1)] = 5
    idle_seconds: Annotated[float, Field(gt=0)] = 30.0
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
    retention_days: Annotated[float, Field(ge=0, le=365_000)] = 30.0
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
    encryption: Literal["off"] = "off"
    advertised_url: str | None = None
    session_seconds: Annotated[float, Field(ge=1, le=1800)] = 15.0
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8420
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["text", "json"] = "text"

    @property
    def decay_hours(self) -> float:
        """The period of decay: as set, else the policy's own."""
        return self.decay_every_hours or POLICIES[self.decay_policy].default_hours

    @property
    def extracts_with(self) -> Literal["model", "rules", "verbatim"]:
        """The extractor: as forced, else the model where there is a key or a base URL, else the rules."""
        if self.extractor is not None:
            return self.extractor
        return "model" if self.has_model else "rules"

    @property
    def levels(self) -> tuple[float, float]:
        """The intimacies from which on more than the name is shown, and everything."""
        name_only, discreet = self.intimacy_levels.split(",")
        return float(name_only), float(discreet)

    @property
    def has_model(self) -> bool:
        """Whether there is a language model to ask."""
        return bool(self.llm_base_url or self.llm_api_key)

    @property
    def sight(self) -> VisionPolicy:
        """Whether the model sees images, and the hosts that they may lie on."""
        hosts = (host.strip().lower() for host in (self.image_hosts or "").split(","))
        return VisionPolicy(
            sees=self.llm_vision and self.extracts_with == "model", hosts=frozenset(filter(None, hosts))
        )

    @property
    def is_embedded(self) -> bool:
        """Whether the log is the embedded one."""
        return self.broker.startswith("sqlite:")


def from_environment(environment: Mapping[str, str] | None = None, **overrides: object) -> Settings:
    """Build the settings; overrides (from the command line) win, those that are None do not count.

    Raises SettingsError.
    """
    given = dict(os.environ if environment is None else environment)
    found: dict[str, object] = {
        name.removeprefix(PREFIX).lower(): text
        for name, text in given.items()
        if name.startswith(PREFIX) and name != URL_VARIABLE and text != ""
    }
    check_names(given)
    for name in sorted(found):
        if name.upper() in NOT_YET:
            raise SettingsError(f"{PREFIX}{name.upper()} is not yet supported by this version: unset it")
        if name == "encryption" and found[name] != "off":
            raise SettingsError(f"{PREFIX}ENCRYPTION={found[name]} is not yet supported by this version: use off")
    _honour_shared_names(found, given)
    found.update({name: value for name, value in overrides.items() if value is not None})
    try:
        settings = Settings.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        name = "_".join(str(p) for p in first["loc"]).upper()
        raise SettingsError(f"{PREFIX}{name} {plain(first)} (given: {first['input']!r})") from None
    return _checked(settings)


def check_names(environment: Mapping[str, str]) -> None:
    """Refuse a variable with our prefix that means nothing: it would change nothing. Raises SettingsError."""
    for name in sorted(environment):
        ours = name.startswith(PREFIX) and name != URL_VARIABLE and environment[name] != ""
        short = name.removeprefix(PREFIX)
        if ours and short not in NOT_YET and short.lower() not in Settings.model_fields:
            raise SettingsError(f"{PREFIX}{short.upper()} is no setting of mnemolog: remove it or correct its name")


def _honour_shared_names(found: dict[str, object], given: Mapping[str, str]) -> None:
    """Take OPENAI_API_KEY and OPENAI_BASE_URL where the own names are unset."""
    shared = dict(SHARED)
    if found.get("embedding_model", "builtin") != "builtin":
        shared |= {"embedding_api_key": "OPENAI_API_KEY", "embedding_base_url": "OPENAI_BASE_URL"}
    for own, name in shared.items():
        if given.get(name):
            found.setdefault(own, given[name])


def read_env_file(path: Path) -> dict[str, str]:
    """Return the NAME=value lines of a file; blank lines and those beginning with # do not count.

    Raises SettingsError, also for a name that is none of ours: it would change nothing.
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
            known = meant == URL_VARIABLE or name.lower() in Settings.model_fields
            advice = f"did you mean {meant}?" if known else f"those of mnemolog begin with {PREFIX}"
            raise SettingsError(f"--env-file {path}, line {number}: {name} is no setting: {advice}")
        found[name] = value.strip().strip("'\"")
    return found


def _checked(settings: Settings) -> Settings:
    if settings.broker != "sqlite://" and not _BROKERS.fullmatch(settings.broker):
        raise SettingsError(f"{PREFIX}BROKER={settings.broker!r} must be sqlite:// or kafka://host:9092,host2:9092")
    _check_kafka(settings)
    _check_index(settings)
    if not (settings.schema_registry_url or "http://").startswith(("http://", "https://")):  # may hold a password
        raise SettingsError(f"{PREFIX}SCHEMA_REGISTRY_URL must begin with http:// or https://")
    if settings.advertised_url is not None and not _HOST_ONLY.fullmatch(settings.advertised_url):
        raise SettingsError(
            f"{PREFIX}ADVERTISED_URL={settings.advertised_url!r} must be where other workers reach this one, "
            "such as http://worker-0:8420: a scheme, a host and a port, without a path"
        )
    loopback = settings.host in ("127.0.0.1", "localhost", "::1")
    if not loopback:
        raise SettingsError(f"{PREFIX}HOST={settings.host!r}: without API keys the server listens on loopback only")
    if not settings.levels[0] <= settings.levels[1] <= MAX_INTIMACY:
        raise SettingsError(
            f"{PREFIX}INTIMACY_LEVELS={settings.intimacy_levels!r} must be two ascending numbers, 0 to 100"
        )
    _check_model(settings)
    if settings.embedding_model != "builtin" and not (settings.embedding_base_url or settings.embedding_api_key):
        raise SettingsError(f"{PREFIX}EMBEDDING_MODEL needs {PREFIX}EMBEDDING_BASE_URL or {PREFIX}EMBEDDING_API_KEY")
    return settings


def _check_index(settings: Settings) -> None:
    """Refuse an index that cannot be used, and the key of another one than is used."""
    try:
        chosen = INDEXES.of(settings.index)
    except ValueError as error:
        raise SettingsError(f"{PREFIX}INDEX={settings.index!r} {error}") from None
    for index in INDEXES:
        if index.secret not in (None, chosen.secret) and getattr(settings, index.secret) is not None:
            name = f"{PREFIX}{index.secret.upper()}"
            raise SettingsError(f"{name} is for {PREFIX}INDEX={index.schemes[0]}://…: set that, or unset the key")


def _check_model(settings: Settings) -> None:
    """Refuse a model without key or URL, and vision without a model."""
    if settings.extracts_with == "model" and not settings.has_model:
        raise SettingsError(f"{PREFIX}EXTRACTOR=model needs {PREFIX}LLM_API_KEY or {PREFIX}LLM_BASE_URL")
    if settings.llm_vision and settings.extracts_with != "model":
        raise SettingsError(f"{PREFIX}LLM_VISION is about a model: set {PREFIX}LLM_BASE_URL or unset it")


def _check_kafka(settings: Settings) -> None:
    """Refuse settings that would be ignored, and missing ones: a protection that is not there must not seem to be."""
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
