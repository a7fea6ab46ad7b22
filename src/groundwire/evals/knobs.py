"""Everything that the environment may say about a run of evaluations, read once into one typed value.

Flags win over it by replacing single fields. Keys are not among them: whoever asks a model reads its key where it is kept.
Addresses and times of OpenRouter are read by its endpoint; here it is only seen that they can be.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from groundwire.contracts.canonical import JsonObject, parse_json
from groundwire.contracts.errors import ConfigError, InvalidJson
from groundwire.contracts.shapes import did_you_mean
from groundwire.evals.planning import SamplingProfile
from groundwire.providers.endpoints import endpoint_from
from groundwire.runtime.runs.presets import content_tag_tool_call_fallback

MAX_TRIALS = 100_000
MAX_JOBS = 64
FALLBACK_MATRIX = "fallback_off,fallback_on"

Adapter = Literal["httpx", "default"]
_SAMPLING = ("temperature", "top_p", "top_k", "min_p")
_MODES = ("enforced", "relaxed", "disabled")
_POLICIES = ("fatal", "tolerated")
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")

_T = TypeVar("_T")


class Knobs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a run is asked for. `settings` are those of tool calling that hold for every trial.

    A temperature and its like stand above those of every sampling profile.
    """

    suite: str = "workspace"
    catalogue: str = ""
    models: str = ""
    profiles: str = "default"
    strategies: str = "default"
    scenarios: str = ""
    trials: int = 1
    jobs: int = 1
    seed: int = 1
    live: bool = False
    judge: str = ""
    max_cost: float | None = None
    enforce_applicability: bool = True
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    settings: JsonObject = field(default_factory=dict)
    options: JsonObject = field(default_factory=dict)
    """For the suite itself, which knows what they mean."""
    verbose: int = 1
    http_adapter: Adapter = "httpx"

    def over(self, profile: SamplingProfile) -> SamplingProfile:
        """The profile with what holds for all of them."""
        said = {name: value for name in _SAMPLING if (value := getattr(self, name)) is not None}
        return replace(profile, **said) if said else profile


def read_knobs(environ: Mapping[str, str]) -> Knobs:
    """A ConfigError names the variable that is wrong and what it may be. An empty one counts as not set."""
    reader = _Reader(environ)
    endpoint_from(environ, "openrouter")
    defaults, sampling = _option_defaults(reader)
    given: dict[str, Any] = {
        **sampling,
        "models": reader.text("OPENROUTER_MODEL_FILTER"),
        "scenarios": reader.text("OPENROUTER_SCENARIOS"),
        "profiles": reader.text("OPENROUTER_SAMPLING_PROFILE_FILTER"),
        "trials": reader.count("OPENROUTER_TRIALS", 1, MAX_TRIALS),
        "jobs": reader.count("OPENROUTER_JOBS", 1, MAX_JOBS),
        "enforce_applicability": reader.switch("OPENROUTER_SAMPLING_PROFILE_ENFORCE_APPLICABILITY"),
        "strategies": FALLBACK_MATRIX if reader.switch("OPENROUTER_FALLBACK_MATRIX") else None,
        "verbose": reader.count("VERBOSE", 0, 2),
        "http_adapter": reader.choice("OPENROUTER_HTTP_ADAPTER", get_args(Adapter)),
        "settings": {**_run_settings(reader), **_overrides(reader, defaults)},
    }
    return Knobs(**{name: value for name, value in given.items() if value is not None})


def _option_defaults(reader: "_Reader") -> tuple[JsonObject, dict[str, float]]:
    """Options for every request: those of sampling, which have variables of their own too, and all others."""
    name = "OPENROUTER_LLM_OPTIONS_DEFAULTS_JSON"
    options = reader.json_object(name)
    sampling = {
        option: _READ_SAMPLING[option](f"{name}: {option}", str(options[option]))
        for option in _SAMPLING
        if options.get(option) is not None
    }
    for option in _SAMPLING:
        own = reader.value(f"OPENROUTER_{option.upper()}", _READ_SAMPLING[option])
        if own is not None:
            sampling[option] = own
    return {option: value for option, value in options.items() if option not in _SAMPLING}, sampling


def _run_settings(reader: "_Reader") -> JsonObject:
    given: dict[str, Any] = {
        "tool_use_mode": reader.choice("OPENROUTER_TOOL_USE_MODE", _MODES),
        "tool_failure_policy": reader.choice("OPENROUTER_TOOL_FAILURE_POLICY", _POLICIES),
        "fallback_retry_count": reader.count("OPENROUTER_TOOL_CALLING_FALLBACK_RETRY_COUNT", 0, 100),
        "fix_empty_final": reader.switch("OPENROUTER_FIX_EMPTY_FINAL"),
        "tool_allowlist": reader.names("OPENROUTER_TOOL_ALLOWLIST"),
    }
    settings: JsonObject = {name: value for name, value in given.items() if value is not None}
    if reader.switch("OPENROUTER_ENABLE_CONTENT_TAG_TOOL_CALL_FALLBACK"):
        settings.update(content_tag_tool_call_fallback())
    return settings


def _overrides(reader: "_Reader", defaults: JsonObject) -> JsonObject:
    """Members of every request's body; the last word has whoever wrote JSON."""
    routing: dict[str, Any] = {
        "only": reader.names("OPENROUTER_PROVIDER_ONLY"),
        "order": reader.names("OPENROUTER_PROVIDER_ORDER"),
        "ignore": reader.names("OPENROUTER_PROVIDER_IGNORE"),
    }
    provider = {name: value for name, value in routing.items() if value is not None}
    given: dict[str, Any] = {
        "route": reader.text("OPENROUTER_ROUTE"),
        "transforms": reader.names("OPENROUTER_TRANSFORMS"),
        "provider": provider or None,
    }
    said = {name: value for name, value in given.items() if value is not None}
    overrides = {**defaults, **said, **reader.json_object("OPENROUTER_REQUEST_OVERRIDES_JSON")}
    return {"request_overrides": overrides} if overrides else {}


class _Reader:
    """Variables by name; each gives None where it is not set."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def text(self, name: str) -> str | None:
        return self._environ.get(name, "").strip() or None

    def value(self, name: str, read: Callable[[str, str], _T]) -> _T | None:
        text = self.text(name)
        return None if text is None else read(name, text)

    def names(self, name: str) -> list[str] | None:
        text = self.text(name)
        return None if text is None else [part.strip() for part in text.split(",") if part.strip()] or None

    def count(self, name: str, least: int, most: int) -> int | None:
        return self.value(name, lambda where, text: _whole(where, text, least, most))

    def switch(self, name: str) -> bool | None:
        text = (self.text(name) or "").lower()
        if text and text not in (*_YES, *_NO):
            raise ConfigError(f"{name} must be 1 or 0, not {text!r}.")
        return text in _YES if text else None

    def choice(self, name: str, allowed: tuple[str, ...]) -> str | None:
        text = self.text(name)
        if text is not None and text not in allowed:
            raise ConfigError(
                f"{name} must be one of {', '.join(allowed)}, not {text!r}.", hint=did_you_mean(text, allowed)
            )
        return text

    def json_object(self, name: str) -> JsonObject:
        text = self.text(name)
        if text is None:
            return {}
        try:
            value = parse_json(text)
        except InvalidJson as error:
            raise ConfigError(f"{name} is not JSON: {error}") from None
        if not isinstance(value, dict):
            raise ConfigError(f"{name} must be a JSON object.", hint='such as {"temperature": 0.2}')
        return value


def _whole(where: str, text: str, least: int, most: int) -> int:
    is_whole = text.isascii() and text.removeprefix("-").isdigit() and len(text) < 12
    if not is_whole or not least <= int(text) <= most:
        raise ConfigError(f"{where} must be a whole number from {least} to {most}, not {text!r}.")
    return int(text)


def _number(most: float) -> Callable[[str, str], float]:
    def read(where: str, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not 0 <= number <= most:
            raise ConfigError(f"{where} must be a number from 0 to {most:g}, not {text!r}.")
        return number

    return read


_READ_SAMPLING: dict[str, Callable[[str, str], float]] = {
    "temperature": _number(2),
    "top_p": _number(1),
    "top_k": lambda where, text: _whole(where, text, 0, 10_000),
    "min_p": _number(1),
}
