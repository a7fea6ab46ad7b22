"""What `groundwire.toml` may say: read, checked, and with the last word of the environment. Opens nothing."""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.jobs import JobSettings
from groundwire.contracts.requests import Dialect
from groundwire.contracts.schema_limits import SchemaLimits
from groundwire.contracts.servers import ServerSettings
from groundwire.contracts.shapes import did_you_mean, plain_members, read_as
from groundwire.providers.catalogue import ModelEntry
from groundwire.providers.endpoints import Auth
from groundwire.providers.retries import RetryPolicy
from groundwire.providers.scripts import is_function
from groundwire.providers.transport import Timeouts
from groundwire.registry.servers import McpServerSettings, servers_fault
from groundwire.runtime.ledger import LedgerTimes
from groundwire.runtime.policies.limits import PolicyRule, Profile
from groundwire.runtime.policies.self_approval import ApprovalSettings

CONFIG_FILE = "groundwire.toml"
DEFAULT_STORE = "sqlite:///groundwire.db"

_PROVIDER_NAME = re.compile(r"[A-Za-z0-9._-]+")


class StoreSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    url: str = DEFAULT_STORE


class AuditSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`checkpoint` is the file in which heads of the chain are noted; `keyEnv` names the variable with the HMAC key."""

    checkpoint: str = ""
    key_env: str = "GROUNDWIRE_AUDIT_KEY"


class ProviderSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A provider under `[providers.NAME]`. The key is named by the variable that holds it, never written down here."""

    dialect: Dialect = "openai-chat"
    base_url: str
    key_env: str = ""
    auth: Auth | None = None
    headers: dict[str, str] = field(default_factory=dict)
    timeouts: Timeouts = field(default_factory=Timeouts)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    overrides: JsonObject = field(default_factory=dict)
    profile: JsonObject = field(default_factory=dict)
    proxy: str = ""
    ca_file: str = ""


class SimulatorSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What the built-in model `sim`, and `groundwire simulate`, say and do wrong unless they are told otherwise.

    `script` is a file of answers and rules, or `module:name`, a function from a request to an answer; `faults` is the
    seed of a plan that strikes the share `rate` of requests. `kinds` are the faults to choose from, such as
    `status:429`; without a seed and a rate they strike every request.
    """

    script: str = ""
    faults: int | None = None
    rate: Annotated[float, Meta(ge=0, le=1)] | None = None
    kinds: tuple[str, ...] = ()


class TelemetrySettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What is told to OpenTelemetry where the environment (OTEL_*) asks for it.

    `captureContent`: also the declarations of tools, arguments and results.
    """

    capture_content: bool = False


class TrustSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`file` is what `groundwire eval trust` wrote: how far models are trusted with tools. Without one, nobody judges.

    `unknown` is for models and tools that no card names. `enforced`: a run that must call tools, of a model that is not
    reliable, is refused, or goes on relaxed.
    """

    file: str = ""
    key_env: str = "GROUNDWIRE_TRUST_KEY"
    unknown: Literal["ask", "read-only", "deny"] = "ask"
    enforced: Literal["refuse", "relax"] = "refuse"


class LocalSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The model behind the provider `local`: a GGUF file. Without a path there is none."""

    path: str = ""
    context_size: Annotated[int, Meta(ge=256, le=1_000_000)] = 4096
    threads: Annotated[int, Meta(ge=1, le=1024)] | None = None


class Settings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What `groundwire.toml` may say. Relative paths of a checkpoint, a script and a trust file start at its folder."""

    store: StoreSettings = field(default_factory=StoreSettings)
    audit: AuditSettings = field(default_factory=AuditSettings)
    ledger: LedgerTimes = field(default_factory=LedgerTimes)
    approvals: ApprovalSettings = field(default_factory=ApprovalSettings)
    flags: dict[str, bool] = field(default_factory=dict)
    profiles: dict[str, Profile] = field(default_factory=dict)
    policies: tuple[PolicyRule, ...] = ()
    providers: dict[str, ProviderSettings] = field(default_factory=dict)
    simulator: SimulatorSettings = field(default_factory=SimulatorSettings)
    local: LocalSettings = field(default_factory=LocalSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    trust: TrustSettings = field(default_factory=TrustSettings)
    jobs: JobSettings = field(default_factory=JobSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    schemas: SchemaLimits = field(default_factory=SchemaLimits)
    mcp_servers: dict[str, McpServerSettings] = field(default_factory=dict)
    models: tuple[ModelEntry, ...] = ()
    evals: JsonObject = field(default_factory=dict)
    default_provider: str = ""
    default_model: str = ""
    system_prompt: str = ""


def load_settings(path: str | Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read groundwire.toml (it may be absent) and let the environment have the last word on the store."""
    environ = os.environ if environ is None else environ
    file = Path(path) if path is not None else Path(CONFIG_FILE)
    settings = _read(file) if path is not None or file.exists() else Settings()
    url = environ.get("GROUNDWIRE_STORE") or environ.get("DATABASE_URL") or ""
    if url:
        settings = msgspec.structs.replace(settings, store=StoreSettings(url=url))
    if settings.audit.checkpoint:
        checkpoint = str(file.parent / settings.audit.checkpoint)
        settings = msgspec.structs.replace(
            settings, audit=msgspec.structs.replace(settings.audit, checkpoint=checkpoint)
        )
    if settings.simulator.script and not is_function(settings.simulator.script):
        script = str(file.parent / settings.simulator.script)
        settings = msgspec.structs.replace(
            settings, simulator=msgspec.structs.replace(settings.simulator, script=script)
        )
    if settings.trust.file:
        trust = msgspec.structs.replace(settings.trust, file=str(file.parent / settings.trust.file))
        settings = msgspec.structs.replace(settings, trust=trust)
    return settings


def read_dotenv(path: str | Path = ".env") -> dict[str, str]:
    """The variables of a .env file; nothing when there is none."""
    file = Path(path)
    if not file.is_file():
        return {}
    found: dict[str, str] = {}
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        name, separator, value = line.strip().removeprefix("export ").partition("=")
        if separator and name and not name.startswith("#"):
            found[name.strip()] = value.strip().strip("'\"")
    return found


def settings_schema() -> dict[str, Any]:
    """The JSON Schema of groundwire.toml."""
    return msgspec.json.schema(Settings)


def _read(file: Path) -> Settings:
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not valid TOML: {error}") from None
    return checked_settings(values, str(file))


def checked_settings(values: Mapping[str, Any] | Settings, source: str) -> Settings:
    """The settings, if each is what it may be. Python does not look at them when it makes them, so this does."""
    settings = read_as(
        Settings, plain_members(values, source), source, "docs/reference/settings.md lists every setting"
    )
    for name in settings.providers:
        if not _PROVIDER_NAME.fullmatch(name):
            fault = f"providers: {name!r} is no name for a provider"
            raise ConfigError(f"{source}: {fault}", hint="names have letters, digits, dots, - and _ only")
    if fault := servers_fault(settings.mcp_servers):
        raise ConfigError(f"{source}: {fault}", hint="docs/guides/mcp.md says how servers are set up")
    for index, rule in enumerate(settings.policies):
        for name in rule.profiles:
            if name and name not in settings.profiles:
                known = ", ".join(sorted(settings.profiles)) or "none is configured"
                fault = f"policies[{index}].profiles: there is no profile {name!r}"
                raise ConfigError(
                    f"{source}: {fault}", hint=did_you_mean(name, settings.profiles) or f"profiles: {known}"
                )
    return settings
