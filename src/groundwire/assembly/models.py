"""Models: who can be asked by the settings and the environment, and all of them behind one provider."""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import msgspec

from groundwire.assembly.settings import ProviderSettings, Settings, SimulatorSettings, checked_settings
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.ports import Clock, Provider
from groundwire.contracts.replies import WireWarning
from groundwire.contracts.shapes import did_you_mean
from groundwire.extras import missing_extra
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
from groundwire.providers.router import ModelRouter
from groundwire.providers.secrets import Secret
from groundwire.runtime.clock import SystemClock
from groundwire.runtime.runs.presets import PRESETS

if TYPE_CHECKING:
    from groundwire.codecs.caching import ToolCache
    from groundwire.providers.scripted import ScriptedModel

SIMULATED = "sim"
"""The provider that is always there: a scripted model in this process."""

_Made = TypeVar("_Made")


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
    settings = checked_settings(settings, "the settings") if settings is not None else Settings()
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


def refuse_stand_in(models: ModelRouter, name: str) -> None:
    """A ConfigError where the built-in model would answer to a name that is not its own.

    For those who ask what a certain model says: its answers would be taken for that one's.
    """
    route = models.catalogue.find(name)
    given = name.replace(":", "/").partition("/")[0]
    if route.provider != SIMULATED or route.entry is not None or given == SIMULATED:
        return
    hint = (
        f"set {given.upper()}_API_KEY"
        if given in VENDORS
        else "groundwire models lists them, and the keys that they want"
    )
    raise ConfigError(f"Nobody is set up who can be asked for {name!r}.", hint=hint)


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
    from groundwire.providers.scripts import Script, is_function, load_rules, read_script

    rules = load_rules(wanted.script) if is_function(wanted.script) else None
    script = read_script(wanted.script) if wanted.script and rules is None else Script()
    faults = None
    if wanted.faults is not None or wanted.kinds:
        usual = 0.1 if wanted.faults is not None else 1.0
        faults = ModelFaults(
            seed=wanted.faults or 0,
            rate=usual if wanted.rate is None else wanted.rate,
            faults=tuple(map(read_fault, wanted.kinds)) or DEFAULT_FAULTS,
        )
    return ScriptedModel(*script.answers, rules=script.rules, otherwise=rules, faults=faults)


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
        from groundwire.providers.sockets import SocketTransport
    except ImportError as error:
        from groundwire.providers.failing import UnusableProvider

        return UnusableProvider(missing_extra("providers", f"Calling {endpoint.name}", error.name or "an HTTP client"))
    transport = SocketTransport(endpoint.timeouts, proxy=endpoint.proxy, ca_file=endpoint.ca_file)
    return HttpProvider(endpoint, transport, clock=clock, cache=cache)
