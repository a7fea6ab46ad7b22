"""The one place that names concrete classes: settings in, a working runtime out."""

import logging
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from groundwire.contracts.audit import Chain
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.ports import Clock, Flags, Provider, Store, Telemetry, TokenEstimator
from groundwire.contracts.replies import WireWarning
from groundwire.contracts.requests import Dialect
from groundwire.contracts.servers import ServerSettings
from groundwire.contracts.shapes import did_you_mean, explain_misfit, name_entry
from groundwire.providers.catalogue import BUILT_IN, Catalogue, ModelEntry, ProviderInfo
from groundwire.providers.endpoints import (
    ANY_KEY,
    AUTH_OF,
    VENDORS,
    Auth,
    Endpoint,
    checked_url,
    endpoint_from,
    endpoints_from,
    shown_url,
)
from groundwire.providers.retries import RetryPolicy
from groundwire.providers.router import ModelRouter
from groundwire.providers.secrets import Secret
from groundwire.providers.transport import Timeouts
from groundwire.registry import Registry
from groundwire.registry.servers import McpServerSettings, servers_fault
from groundwire.runtime.clock import CharsPerFour, EnvironmentFlags, SystemClock
from groundwire.runtime.dispatcher import StepHook
from groundwire.runtime.ledger import LedgerTimes
from groundwire.runtime.parts import RuntimeParts
from groundwire.runtime.policies.limits import Policies, PolicyRule, Profile
from groundwire.runtime.runs.presets import PRESETS
from groundwire.runtime.runtime import Runtime as CoreRuntime
from groundwire.runtime.state import Reducer
from groundwire.store import CheckpointFile, open_url

if TYPE_CHECKING:
    from groundwire.codecs.caching import ToolCache
    from groundwire.providers.scripted import ScriptedModel

log = logging.getLogger("groundwire")

CONFIG_FILE = "groundwire.toml"
DEFAULT_STORE = "sqlite:///groundwire.db"
MEMORY = "memory://"
SIMULATED = "sim"
"""The provider that is always there: a scripted model in this process."""

_PROVIDER_NAME = re.compile(r"[A-Za-z0-9._-]+")
_Made = TypeVar("_Made")


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

    `script` is a file of answers and rules; `faults` is the seed of a plan that strikes the share `rate` of requests.
    `kinds` are the faults to choose from, such as `status:429`; without a seed and a rate they strike every request.
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


class LocalSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The model behind the provider `local`: a GGUF file. Without a path there is none."""

    path: str = ""
    context_size: Annotated[int, Meta(ge=256, le=1_000_000)] = 4096
    threads: Annotated[int, Meta(ge=1, le=1024)] | None = None


class Settings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What `groundwire.toml` may say. Relative paths of a checkpoint and a script start at the file's folder."""

    store: StoreSettings = field(default_factory=StoreSettings)
    audit: AuditSettings = field(default_factory=AuditSettings)
    ledger: LedgerTimes = field(default_factory=LedgerTimes)
    flags: dict[str, bool] = field(default_factory=dict)
    profiles: dict[str, Profile] = field(default_factory=dict)
    policies: tuple[PolicyRule, ...] = ()
    providers: dict[str, ProviderSettings] = field(default_factory=dict)
    simulator: SimulatorSettings = field(default_factory=SimulatorSettings)
    local: LocalSettings = field(default_factory=LocalSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    mcp_servers: dict[str, McpServerSettings] = field(default_factory=dict)
    models: tuple[ModelEntry, ...] = ()
    default_provider: str = ""
    default_model: str = ""
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
        telemetry: Telemetry | None = None,
    ) -> None:
        if store is None:
            store = settings.store.url if settings is not None else MEMORY
        settings = _checked(settings, "the settings") if settings is not None else Settings()
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
            telemetry=telemetry or _telemetry(settings.telemetry, os.environ),
        )
        super().__init__(registry, open_url(store, chain=chain) if isinstance(store, str) else store, parts)


def scratch_runtime(runtime: CoreRuntime, registry: Registry) -> CoreRuntime:
    """A runtime with the rules of another, in memory: whatever it writes is gone with it."""
    parts = msgspec.structs.replace(runtime.parts, checkpoints=None)
    return CoreRuntime(registry, open_url(MEMORY), parts)


def open_models(
    settings: Settings | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    cache: "ToolCache | None" = None,
) -> ModelRouter:
    """Every model that the settings and the environment lead to, behind one provider.

    With neither a key nor a base URL anywhere, the built-in model `sim` answers for all names. With a `cache`, tool lists
    that were sent before are not written anew.
    """
    settings = _checked(settings, "the settings") if settings is not None else Settings()
    environ = os.environ if environ is None else environ
    endpoints = endpoints_from(environ)
    for name, wanted in settings.providers.items():
        endpoints[name] = _endpoint(name, wanted, environ)
    clock = clock or SystemClock()
    providers: dict[str, Provider] = {SIMULATED: _simulated_provider(settings.simulator, clock)}
    if settings.local.path:
        from groundwire.providers.local import LocalProvider

        local = settings.local
        providers["local"] = LocalProvider(local.path, context_size=local.context_size, threads=local.threads)
    for name, endpoint in endpoints.items():
        providers[name] = _http_provider(endpoint, clock, cache)
    return ModelRouter(_catalogue(settings, environ, endpoints, providers), providers)


def _catalogue(
    settings: Settings, environ: Mapping[str, str], remote: Mapping[str, object], providers: Iterable[str]
) -> Catalogue:
    names = tuple(providers)
    default = _default_provider(settings, environ, remote)
    if default and default not in names:
        raise ConfigError(f"The default provider {default!r} is not set up.", hint=f"there are {', '.join(names)}")
    for entry in settings.models:
        for name in entry.presets:
            if name not in PRESETS:
                hint = did_you_mean(name, PRESETS) or f"there are {', '.join(PRESETS)}"
                raise ConfigError(f"The model {entry.id!r} wants the preset {name!r}, which is none.", hint=hint)
    return Catalogue(settings.models, providers=names, default_provider=default)


def list_providers(settings: Settings, environ: Mapping[str, str]) -> tuple[ProviderInfo, ...]:
    """Who can be asked, or could be if a key were there. Opens nothing."""
    found = [ProviderInfo(name=SIMULATED)]
    if settings.local.path:
        found.append(ProviderInfo(name="local"))
    endpoints = _readable_endpoints(environ, [])
    for name, endpoint in endpoints.items():
        if name not in settings.providers:
            has_key = endpoint.key.reveal() != ANY_KEY
            url = shown_url(endpoint.base_url)
            found.append(ProviderInfo(name=name, dialect=endpoint.dialect, base_url=url, has_key=has_key))
    for name, wanted in settings.providers.items():
        url, has_key = shown_url(wanted.base_url), bool(wanted.key_env and environ.get(wanted.key_env))
        info = ProviderInfo(name=name, dialect=wanted.dialect, base_url=url, has_key=has_key, key_env=wanted.key_env)
        found.append(info)
    default = _default_provider(settings, environ, {**endpoints, **settings.providers})
    return tuple(msgspec.structs.replace(info, is_default=info.name == default) for info in found)


def list_models(settings: Settings, environ: Mapping[str, str]) -> tuple[tuple[ModelEntry, ...], tuple[str, ...]]:
    """The catalogue, and everything for which `open_models` would refuse the settings, one sentence each."""
    problems: list[str] = []
    remote: dict[str, object] = {**_readable_endpoints(environ, problems), **settings.providers}
    for name, wanted in settings.providers.items():
        _noting(problems, partial(_endpoint, name, wanted, environ))
    _noting(problems, partial(scripted_model, settings.simulator))
    names = (SIMULATED, *(("local",) if settings.local.path else ()), *remote)
    catalogue = _noting(problems, partial(_catalogue, settings, environ, remote, names))
    return catalogue.entries if catalogue is not None else (*BUILT_IN, *settings.models), tuple(problems)


def _readable_endpoints(environ: Mapping[str, str], problems: list[str]) -> dict[str, Endpoint]:
    found = {name: _noting(problems, partial(endpoint_from, environ, name)) for name in VENDORS}
    return {name: endpoint for name, endpoint in found.items() if endpoint is not None}


def _noting(problems: list[str], make: Callable[[], _Made]) -> _Made | None:
    """What is made, or None and a note on why it cannot be."""
    try:
        return make()
    except ConfigError as error:
        problems.append(error.message)
        return None


def _default_provider(settings: Settings, environ: Mapping[str, str], remote: Mapping[str, object]) -> str:
    """Who is asked for names that nobody else knows: the built-in model where there is no other."""
    named = environ.get("GROUNDWIRE_DEFAULT_PROVIDER") or settings.default_provider
    return named or ("" if remote else SIMULATED)


def default_model(settings: Settings, environ: Mapping[str, str]) -> str:
    """The model to ask where nobody has named one."""
    if settings.default_model:
        return settings.default_model
    if any(info.is_default and info.name == SIMULATED for info in list_providers(settings, environ)):
        return SIMULATED
    raise ConfigError(
        "No model is named.", hint='groundwire models lists them; or set defaultModel = "…" in groundwire.toml'
    )


def scripted_model(wanted: SimulatorSettings) -> "ScriptedModel":
    """The model that says what the settings' script says, with the faults that they plan."""
    from groundwire.providers.faults import DEFAULT_FAULTS, ModelFaults, read_fault  # only who asks a model needs these
    from groundwire.providers.scripted import ScriptedModel
    from groundwire.providers.scripts import Script, read_script

    script = read_script(wanted.script) if wanted.script else Script()
    faults = None
    if wanted.faults is not None or wanted.kinds:
        usual = 0.1 if wanted.faults is not None else 1.0
        faults = ModelFaults(
            seed=wanted.faults or 0,
            rate=usual if wanted.rate is None else wanted.rate,
            faults=tuple(map(read_fault, wanted.kinds)) or DEFAULT_FAULTS,
        )
    return ScriptedModel(*script.answers, rules=script.rules, faults=faults)


def _simulated_provider(wanted: SimulatorSettings, clock: Clock) -> Provider:
    from groundwire.providers.scripted import ScriptedProvider

    note = WireWarning(code="simulated", path="model", message="The built-in model answered; it understands nothing.")
    return ScriptedProvider(scripted_model(wanted), clock=clock, name=SIMULATED, warnings=(note,))


def _endpoint(name: str, wanted: ProviderSettings, environ: Mapping[str, str]) -> Endpoint:
    from groundwire.providers.profiles import read_knobs  # it knows every codec, and most programs ask no model

    auth: Auth = wanted.auth or AUTH_OF[wanted.dialect]
    if wanted.key_env and not environ.get(wanted.key_env):
        raise ConfigError(f"The provider {name!r} wants its key in {wanted.key_env}, which is not set.")
    return Endpoint(
        name=name,
        dialect=wanted.dialect,
        base_url=checked_url(wanted.base_url, f"providers.{name}.baseUrl"),
        key=Secret(environ.get(wanted.key_env, "")),
        auth=auth,
        headers=wanted.headers,
        timeouts=wanted.timeouts,
        retry=wanted.retry,
        overrides=wanted.overrides,
        knobs=read_knobs(wanted.dialect, wanted.profile, f"providers.{name}.profile") if wanted.profile else {},
        proxy=wanted.proxy,
        ca_file=wanted.ca_file,
    )


def _http_provider(endpoint: Endpoint, clock: Clock, cache: "ToolCache | None") -> Provider:
    try:
        from groundwire.providers.http import HttpProvider
        from groundwire.providers.reqwest import ReqwestTransport
    except ImportError:
        from groundwire.providers.failing import UnusableProvider

        hint = "pip install 'groundwire[providers]'"
        return UnusableProvider(ConfigError(f"Asking {endpoint.name} needs an HTTP client.", hint=hint))
    transport = ReqwestTransport(endpoint.timeouts, proxy=endpoint.proxy, ca_file=endpoint.ca_file)
    return HttpProvider(endpoint, transport, clock=clock, cache=cache)


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
    if settings.simulator.script:
        script = str(file.parent / settings.simulator.script)
        settings = msgspec.structs.replace(
            settings, simulator=msgspec.structs.replace(settings.simulator, script=script)
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
    return _checked(values, str(file))


def _checked(values: object, source: str) -> Settings:
    """The settings, if each is what it may be. Python does not look at them when it makes them, so this does."""
    try:
        settings = msgspec.convert(msgspec.to_builtins(values), Settings)
    except msgspec.ValidationError as error:
        fault, hint = explain_misfit(str(error), Settings)
        fault = name_entry(fault, str(error), msgspec.to_builtins(values), Settings)
        hint = hint or "docs/reference/settings.md lists every setting"
        raise ConfigError(f"{source}: {fault}", hint=hint) from None
    except TypeError as error:
        raise ConfigError(f"{source}: {error}") from None
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


def _telemetry(wanted: TelemetrySettings, environ: Mapping[str, str]) -> Telemetry | None:
    """Only where the environment names somebody to tell, because what it takes is heavy."""
    exporter = environ.get("OTEL_TRACES_EXPORTER", "")
    endpoint = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    is_off = exporter == "none" or environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if is_off or not (exporter or endpoint):
        return None
    try:
        from groundwire.telemetry import open_telemetry

        return open_telemetry(environ, with_content=wanted.capture_content)
    except ImportError as error:
        log.info("telemetry is configured, but %s is not installed: pip install 'groundwire[otel]'", error.name)
        return None


def _audit_key(audit: AuditSettings) -> bytes | None:
    key = os.environ.get(audit.key_env, "")
    return key.encode() if key else None
