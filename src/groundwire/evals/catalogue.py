"""Who can be tried and how: models, sampling profiles and strategies that ship, and those that people add.

Real models are asked at OpenRouter unless an entry names another provider of the settings. What a model is trusted with
is not decided here: the marks say what to expect, trials say what is so.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.shapes import did_you_mean, plain_members, read_as
from groundwire.evals.files import read_plain, run_python
from groundwire.evals.planning import EvalModel, SamplingProfile, Strategy
from groundwire.providers.catalogue import Catalogue as ModelCatalogue
from groundwire.providers.catalogue import ModelEntry, Prices, ToolCalling
from groundwire.runtime.runs.presets import PRESETS
from groundwire.runtime.runs.settings import read_settings

SIMULATED = "simulated"
"""The tag, and the provider, of models that are none."""
SCRIPTED = "sim"
"""The provider of the built-in model, which understands nothing."""
BASELINE = "rules"
"""The model that is none: a suite's own rules, or the built-in choice of tools by words."""
TAG_FALLBACK = "content_tag_tool_call_fallback"

_Entry = TypeVar("_Entry", bound=EvalModel | SamplingProfile | Strategy)


class Catalogue(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    models: tuple[EvalModel, ...] = ()
    profiles: tuple[SamplingProfile, ...] = ()
    strategies: tuple[Strategy, ...] = ()

    def joined(self, own: "Catalogue") -> "Catalogue":
        """With more entries; one with a known id takes the place of the other."""
        return Catalogue(
            models=_joined(self.models, own.models),
            profiles=_joined(self.profiles, own.profiles),
            strategies=_joined(self.strategies, own.strategies),
        )


def model(model_id: str, *tags: str, prices: tuple[float, float] | None = None, **known: Any) -> EvalModel:
    """An entry of the catalogue: `vendor/name:route`, its tags, and its prices for a million tokens in and out."""
    price = None if prices is None else Prices(input=prices[0], output=prices[1])
    return _complete(EvalModel(id=model_id, tags=tags, prices=price, **known))


def profile(profile_id: str, *tags: str, **known: Any) -> SamplingProfile:
    return SamplingProfile(id=profile_id, tags=tags, **known)


def _complete(entry: EvalModel) -> EvalModel:
    """With what its id says anyway."""
    base_id = entry.base_id or entry.id.partition(":")[0]
    return replace(entry, base_id=base_id, provider=entry.provider or base_id.partition("/")[0])


def simulated_entry(name: str, note: str) -> EvalModel:
    return EvalModel(
        id=name,
        base_id=f"{SIMULATED}/{name}",
        provider=SIMULATED,
        via=SIMULATED,
        tags=(SIMULATED,),
        prices=Prices(input=0.0, output=0.0),
        is_simulated=True,
        note=note,
    )


_RELIABLE = ToolCalling.RELIABLE
_GEMINI = ("gemini_openrouter_compat",)

# Prices are those that OpenRouter listed in October 2026; replies that say what they cost are believed first.
# `stable` is cheap and was near-perfect in the reference run. `reliable` are all that were: 96 % or more.
MODELS = (
    model("qwen/qwen3-next-80b-a3b-instruct:nitro", "stable", tool_calling=_RELIABLE, prices=(0.09, 1.1)),
    model(
        "qwen/qwen3-235b-a22b-2507:nitro",
        "stable",
        tool_calling=_RELIABLE,
        presets=(TAG_FALLBACK,),
        prices=(0.09, 0.55),
    ),
    model("qwen/qwen3-30b-a3b-instruct-2507:nitro", "stable", tool_calling=_RELIABLE, prices=(0.09, 0.3)),
    model("google/gemini-2.5-flash:nitro", "stable", tool_calling=_RELIABLE, presets=_GEMINI, prices=(0.3, 2.5)),
    model(
        "google/gemini-3-flash-preview:nitro",
        "stable",
        "preview",
        tool_calling=_RELIABLE,
        presets=_GEMINI,
        prices=(0.5, 3.0),
    ),
    model("google/gemini-3-pro-preview:nitro", "preview", presets=_GEMINI, prices=(2.0, 12.0)),
    model("anthropic/claude-opus-4.6:nitro", tool_calling=_RELIABLE, prices=(5.0, 25.0)),
    model("openai/gpt-5.2:nitro", tool_calling=_RELIABLE, prices=(1.75, 14.0)),
    model("deepseek/deepseek-v3.2:nitro", presets=("deepseek_openrouter_compat",), prices=(0.28, 0.42)),
    model("x-ai/grok-4.1-fast", note="its provider has refused chat_only with 403, taking it for dangerous"),
    simulated_entry("perfect", "does everything right"),
    simulated_entry("flaky", "is wrong in one trial of ten"),
    simulated_entry("long-arguments", "repeats arguments that were too long"),
    simulated_entry("tags", "writes calls as text"),
    simulated_entry("empty-finals", "ends without a word"),
    simulated_entry(BASELINE, "no model: fixed rules"),
)

_SAMPLED = ("qwen/*", "google/*", "deepseek/*", "x-ai/*", f"{SIMULATED}/*")
"""Models that take sampling at all, and those that do not mind."""

PROFILES = (
    profile("default"),  # what the provider does if nothing is said
    profile("conversation", "conversation", temperature=0.8, top_p=0.95, applies_to=_SAMPLED),
    profile("creative", "creative", temperature=1.2, top_p=0.95, applies_to=_SAMPLED),
    profile("tool_calling", "tool_calling", temperature=0.2, top_p=0.9, applies_to=_SAMPLED),
    # Recalled from the vendors' model cards and guides, or chosen here where they give none: check them before relying on one.
    profile(
        "qwen_recommended", "recommended", temperature=0.7, top_p=0.8, top_k=20, min_p=0.0, applies_to=("qwen/qwen3-*",)
    ),
    profile(
        "deepseek_v3_2_local_recommended",
        "recommended",
        temperature=1.0,
        top_p=0.95,
        applies_to=("deepseek/deepseek-v3.2*",),
    ),
    profile(
        "deepseek_v3_2_general_conversation", "conversation", temperature=1.3, applies_to=("deepseek/deepseek-v3.2*",)
    ),
    profile("deepseek_v3_2_creative_writing", "creative", temperature=1.5, applies_to=("deepseek/deepseek-v3.2*",)),
    profile(
        "gemini_2_5_flash_creative", "creative", temperature=1.5, top_p=0.95, applies_to=("google/gemini-2.5-flash*",)
    ),
)

STRATEGIES = (
    Strategy(id="default"),  # with the presets that the model's entry names
    Strategy(id="fallback_off", without_presets=(TAG_FALLBACK,)),
    Strategy(id="fallback_on", settings=PRESETS[TAG_FALLBACK]()),
    Strategy(id="reliability", settings=PRESETS["openai_compatible_reliability"]()),
)

SHIPPED = Catalogue(models=MODELS, profiles=PROFILES, strategies=STRATEGIES)


def read_catalogue(values: Mapping[str, object], source: str) -> Catalogue:
    """Entries in their plain form, checked; a ConfigError says which one is wrong."""
    read = read_as(Catalogue, plain_members(values, source), source, "docs/guides/evals.md shows an entry of each kind")
    return _checked(replace(read, models=tuple(map(_complete, read.models))), source)


def load_catalogue(file: str | Path) -> Catalogue:
    """Entries from TOML, or from Python that defines `models`, `profiles` and `strategies`."""
    path = Path(file)
    if path.suffix.lower() != ".py":
        values = read_plain(path)
        if not isinstance(values, dict):
            raise ConfigError(f"{path}: it has no names", hint="[[models]], [[profiles]], [[strategies]]")
        return read_catalogue(values, str(path))
    found = run_python(path)
    own = {name: found[name] for name in Catalogue.__struct_fields__ if name in found}
    if not own:
        raise ConfigError(f"{path}: it defines none of models, profiles and strategies.")
    return read_catalogue(own, str(path))


def models_of_settings(entries: Iterable[ModelEntry]) -> Catalogue:
    """The models that groundwire.toml names anyway, and those that are built in, can be tried without naming them again."""
    own = tuple(entries)
    named = {entry.id for entry in own}
    return Catalogue(
        models=tuple(
            EvalModel(
                id=entry.id,
                base_id=entry.wire_name,
                aliases=entry.aliases,
                by_name=entry.id not in named,
                provider=entry.provider,
                via=entry.provider,
                tags=entry.tags,
                capabilities=entry.capabilities,
                tool_calling=entry.tool_calling,
                presets=entry.presets,
                prices=entry.prices,
            )
            for entry in ModelCatalogue(own).entries
            if entry.id in named or entry.provider != SCRIPTED
        )
    )


def open_catalogue(entries: Iterable[ModelEntry], own: JsonObject, file: str = "") -> Catalogue:
    """What ships, then the models of the settings, then `[evals]` of the settings, then a file: later ones win."""
    catalogue = SHIPPED.joined(models_of_settings(entries)).joined(read_catalogue(own, "evals"))
    return catalogue.joined(load_catalogue(file)) if file else catalogue


def _checked(catalogue: Catalogue, source: str) -> Catalogue:
    for kind, entries in (
        ("models", catalogue.models),
        ("profiles", catalogue.profiles),
        ("strategies", catalogue.strategies),
    ):
        seen: set[str] = set()
        for entry in entries:
            if entry.id in seen or not entry.id or any(char in entry.id for char in ",!*\n"):
                reason = "is there twice" if entry.id in seen else "is no name: it is empty or has one of , ! *"
                raise ConfigError(f"{source}: {kind}: {entry.id!r} {reason}")
            seen.add(entry.id)
    for entry in catalogue.models:
        if entry.is_simulated:
            raise ConfigError(f"{source}: models: {entry.id!r} cannot be simulated", hint="those that ship can")
    named = [(entry.id, name) for entry in catalogue.models for name in entry.presets]
    named += [(entry.id, name) for entry in catalogue.strategies for name in entry.without_presets]
    for owner, name in named:
        if name not in PRESETS:
            hint = did_you_mean(name, PRESETS) or f"there are {', '.join(PRESETS)}"
            raise ConfigError(f"{source}: {owner}: there is no preset {name!r}", hint=hint)
    for strategy in catalogue.strategies:
        try:
            read_settings(strategy.settings)
        except ConfigError as error:
            raise ConfigError(f"{source}: {strategy.id}: {error.message}", hint=error.hint) from None
    return catalogue


def _joined(entries: tuple[_Entry, ...], own: tuple[_Entry, ...]) -> tuple[_Entry, ...]:
    return tuple({entry.id: entry for entry in (*entries, *own)}.values())
