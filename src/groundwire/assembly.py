"""The one place that names concrete classes: settings in, a working runtime out."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from groundwire.contracts.audit import Chain
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.ports import Clock, Flags, Store, TokenEstimator
from groundwire.registry import Registry
from groundwire.runtime.clock import CharsPerFour, EnvironmentFlags, SystemClock
from groundwire.runtime.dispatcher import StepHook
from groundwire.runtime.ledger import LedgerTimes
from groundwire.runtime.policies.limits import Policies, PolicyRule, Profile
from groundwire.runtime.runtime import Runtime as CoreRuntime
from groundwire.runtime.runtime import RuntimeParts
from groundwire.runtime.state import Reducer
from groundwire.store import CheckpointFile, open_url

CONFIG_FILE = "groundwire.toml"
DEFAULT_STORE = "sqlite:///groundwire.db"
MEMORY = "memory://"


class StoreSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    url: str = DEFAULT_STORE


class AuditSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`checkpoint` is the file in which heads of the chain are noted; `keyEnv` names the variable with the HMAC key."""

    checkpoint: str = ""
    key_env: str = "GROUNDWIRE_AUDIT_KEY"


class Settings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What `groundwire.toml` may say. A relative checkpoint path starts at the file's folder."""

    store: StoreSettings = field(default_factory=StoreSettings)
    audit: AuditSettings = field(default_factory=AuditSettings)
    ledger: LedgerTimes = field(default_factory=LedgerTimes)
    flags: dict[str, bool] = field(default_factory=dict)
    profiles: dict[str, Profile] = field(default_factory=dict)
    policies: tuple[PolicyRule, ...] = ()
    system_prompt: str = ""


class Runtime(CoreRuntime):
    """Tools that can be called under every guarantee.

    `store` is a URL, such as `sqlite:///groundwire.db`; else it is that of the settings, else memory.
    """

    def __init__(
        self,
        registry: Registry,
        store: str | Store | None = None,
        *,
        settings: Settings | None = None,
        reducers: Mapping[str, Reducer] | None = None,
        resources: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
        flags: Flags | None = None,
        estimator: TokenEstimator | None = None,
        on_step: StepHook | None = None,
    ) -> None:
        if store is None:
            store = settings.store.url if settings is not None else MEMORY
        settings = settings or Settings()
        chain = Chain(_audit_key(settings.audit))
        parts = RuntimeParts(
            policies=Policies(profiles=settings.profiles, rules=settings.policies),
            times=settings.ledger,
            reducers=dict(reducers or {}),
            resources=dict(resources or {}),
            clock=clock or SystemClock(),
            flags=flags or EnvironmentFlags(settings.flags),
            estimator=estimator or CharsPerFour(),
            chain=chain,
            checkpoints=CheckpointFile(settings.audit.checkpoint) if settings.audit.checkpoint else None,
            system_prompt=settings.system_prompt,
            on_step=on_step,
        )
        super().__init__(registry, open_url(store, chain=chain) if isinstance(store, str) else store, parts)


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
    try:
        return msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{file}: {error}", hint="docs/reference/settings.md lists every setting") from None


def _audit_key(audit: AuditSettings) -> bytes | None:
    key = os.environ.get(audit.key_env, "")
    return key.encode() if key else None
