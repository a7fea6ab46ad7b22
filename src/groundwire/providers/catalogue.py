"""Which models there are, by which names, and at which provider each is asked.

A name is an alias or entry of the catalogue, `provider/model` or `provider:model`, or a bare name with a well-known
beginning. Moving to another model is a change of one alias here, nothing else.
"""

import difflib
import re
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from groundwire.contracts.errors import ConfigError, ProviderError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.replies import Usage
from groundwire.contracts.shapes import did_you_mean

_PREFIXES = (
    (re.compile(r"gpt-|chatgpt-|o[1-9](?:-|$)|codex-"), "openai"),
    (re.compile(r"claude-"), "anthropic"),
    (re.compile(r"(?:models/)?(?:gemini|gemma)-"), "gemini"),
)


_VENDORS = frozenset({"openai", "anthropic", "gemini", "openrouter", "local", "sim"})
"""Providers that may be named although they are not set up: their key is perhaps elsewhere."""

UNKNOWN_MODEL = "model_not_found"
"""The code of a failure that no provider gave: a name leads nowhere here."""


class ToolCalling(StrEnum):
    """Whether a model may be trusted to call when it must (`enforced` asks for `reliable`)."""

    UNKNOWN = "unknown"
    UNRELIABLE = "unreliable"
    RELIABLE = "reliable"


class Prices(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In dollars per million tokens. Cached input costs `cached`, or as much as other input."""

    input: float
    output: float
    cached: float | None = None

    def cost_of(self, usage: Usage) -> float:
        cached = min(usage.cached or 0, usage.input)
        fresh = usage.input - cached
        cached_price = self.input if self.cached is None else self.cached
        return (fresh * self.input + cached * cached_price + usage.output * self.output) / 1_000_000


class ModelEntry(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One model. `model` is its name at the provider; `id` is ours, and the same if nothing else is said."""

    id: str
    provider: str
    model: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    capabilities: frozenset[str] = frozenset()
    tool_calling: ToolCalling = ToolCalling.UNKNOWN
    presets: tuple[str, ...] = ()
    fallbacks: tuple[str, ...] = ()
    context_tokens: int | None = None
    prices: Prices | None = None

    @property
    def wire_name(self) -> str:
        return self.model or self.id


BUILT_IN = (
    ModelEntry(id="sim", provider="sim", tags=("built-in",)),
    ModelEntry(id="gemini-3.1-pro-preview", provider="gemini", aliases=("gemini-pro",), tags=("preview",)),
    ModelEntry(id="gemini-3-flash-preview", provider="gemini", aliases=("gemini-flash",), tags=("preview",)),
)


class ProviderInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """A provider as it may be shown: never with its key. `dialect` and `base_url` are empty for those in process."""

    name: str
    dialect: str = ""
    base_url: str = ""
    has_key: bool = False
    key_env: str = ""
    is_default: bool = False


class Route(Struct, frozen=True, kw_only=True):
    """Where a name leads: ask `provider` for `model`."""

    provider: str
    model: str
    entry: ModelEntry | None = None


_MAX_FOUND = 1000
"""Names that are not looked up again; clients may ask for any number of them."""


class Catalogue:
    """The entries, found by id or alias. Own entries win over built-in ones of the same name.

    Two own entries of one name, and those that lead to providers or fallbacks which nobody knows, are ConfigErrors.
    """

    def __init__(
        self, entries: Iterable[ModelEntry] = (), *, providers: Iterable[str] = (), default_provider: str = ""
    ) -> None:
        self.providers = tuple(providers)
        self.default_provider = default_provider
        self._entries: dict[str, ModelEntry] = {}
        self._by_name: dict[str, ModelEntry] = {}
        self._found: dict[str, Route] = {}
        own = tuple(entries)
        _refuse_shared_names(own)
        for entry in (*BUILT_IN, *own):
            self._entries[entry.id] = entry
            for name in (entry.id, *entry.aliases):
                self._by_name[name] = entry
        if self.providers:
            for entry in own:
                self._refuse_unknown(entry)

    @property
    def entries(self) -> tuple[ModelEntry, ...]:
        """Each with the aliases that lead to it."""
        return tuple(
            replace(entry, aliases=tuple(name for name in entry.aliases if self._by_name[name].id == entry.id))
            for entry in self._entries.values()
        )

    def find(self, name: str) -> Route:
        """Where this name leads, or a ProviderError of kind not_found with the nearest names."""
        found = self._found.get(name)
        if found is None:
            found = self._look_up(name)
            if len(self._found) < _MAX_FOUND:
                self._found[name] = found
        return found

    def _look_up(self, name: str) -> Route:
        entry = self._by_name.get(name)
        if entry is not None and (entry.provider in self.providers or entry not in BUILT_IN):
            return Route(provider=entry.provider, model=entry.wire_name, entry=entry)
        for separator in ("/", ":"):
            provider, found, model = name.partition(separator)
            if found and model and provider in self.providers:
                entry = self._by_name.get(model)
                known = entry if entry is not None and entry.provider == provider else None
                return Route(provider=provider, model=known.wire_name if known else model, entry=known)
        for pattern, provider in _PREFIXES:
            if pattern.match(name) and provider in self.providers:
                return Route(provider=provider, model=name)
        if name and self.default_provider:
            return Route(provider=self.default_provider, model=name)
        raise self._unknown(name)

    def usable(self) -> list[ModelEntry]:
        """Those that lead to a provider that is set up."""
        return [entry for entry in self.entries if entry.provider in self.providers]

    def entry_of(self, name: str) -> ModelEntry | None:
        """What is known of a model; nothing, where a name leads nowhere."""
        try:
            return self.find(name).entry
        except ProviderError:
            return None

    def fallbacks_of(self, name: str) -> tuple[str, ...]:
        """The models to ask after this one."""
        entry = self.entry_of(name)
        return entry.fallbacks if entry is not None else ()

    def _refuse_unknown(self, entry: ModelEntry) -> None:
        known = _VENDORS.union(self.providers)
        if entry.provider not in known:
            raise ConfigError(
                f"The model {entry.id!r} is asked at {entry.provider!r}, which is no provider.",
                hint=f"there are {', '.join(self.providers)}",
            )
        for name in entry.fallbacks:
            is_named = any(name.partition(separator)[0] in known for separator in "/:" if separator in name)
            is_known = name in self._by_name or any(pattern.match(name) for pattern, _ in _PREFIXES)
            if not (is_named or is_known or self.default_provider):
                raise ConfigError(
                    f"The model {entry.id!r} falls back to {name!r}, which is not known.",
                    hint=did_you_mean(name, self._by_name) or "name it provider/model",
                )

    def _unknown(self, name: str) -> ProviderError:
        near = difflib.get_close_matches(name, self._by_name, n=3)
        wanted = next((provider for pattern, provider in _PREFIXES if pattern.match(name)), None)
        if wanted:
            hint = f"no key and no base URL for {wanted} is set"
        elif near:
            hint = f"did you mean {' or '.join(near)}?"
        else:
            hint = (
                f"name it provider/model, with one of the providers {', '.join(self.providers) or '(none is set up)'}"
            )
        message = f"The model {name!r} is not known: {hint}."
        return ProviderError(Failure(kind=FailureKind.NOT_FOUND, message=message, status=404, code=UNKNOWN_MODEL))


def _refuse_shared_names(entries: tuple[ModelEntry, ...]) -> None:
    owners: dict[str, ModelEntry] = {}
    for entry in entries:
        for name in dict.fromkeys((entry.id, *entry.aliases)):
            if name in owners and owners[name].id == entry.id:
                raise ConfigError(f"The model {entry.id!r} is there twice.")
            if name in owners:
                raise ConfigError(f"The model name {name!r} belongs to {owners[name].id!r} and to {entry.id!r}.")
            owners[name] = entry
