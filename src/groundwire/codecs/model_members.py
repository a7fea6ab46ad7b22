"""Finds members of a wire request that select a model, besides its own `model`. One search for all dialects. Pure.

Providers add such members faster than any list of them can follow (OpenRouter's `models`, Anthropic's `fallbacks`, tools
that run a model of their own), and a gateway passes on members that it does not know. So names are recognised by their
form, everywhere but in what is data: the conversation, JSON Schemas, and labels that callers make up.
"""

from collections import deque
from typing import Literal, TypeAlias

from msgspec import Struct

from groundwire.contracts.canonical import JsonObject, JsonValue


class ModelMember(Struct, frozen=True):
    """A place in a request that selects a model. `name` is empty where it leaves the choice to the provider."""

    path: str
    name: str = ""


_Kind: TypeAlias = Literal["settings", "names", "tool", "conversation"]

_CONVERSATION = frozenset({"messages", "input", "contents"})
_CONTENT = frozenset({"content", "parts"})
_DATA = frozenset({
    "system", "systeminstruction", "instructions", "metadata", "clientmetadata", "labels", "trace", "toolchoice",
    "schema", "jsonschema", "responseschema", "responsejsonschema", "inputschema", "outputschema",
    "parametersjsonschema", "inputexamples", "response",
})  # fmt: skip
"""Text, schemas and labels: a property called `model` in there selects nothing."""
_FUNCTION_TYPES = ("function", "custom")
"""Tools that the caller runs: nothing in their declaration is for the provider."""
_FUNCTIONS = frozenset({"functions", "functiondeclarations"})
_PARAMETERS = "parameters"
"""The schema of a function without a type, but the settings of a provider's own tool."""

_NAME_ENDINGS = ("model", "models", "modelname", "modelnames", "modelid", "modelids", "modelslug")
_FALLBACK = "fallback"
_TOP_NAMES = frozenset({"engine", "deployment", "deploymentid", "deploymentname"})
_NOT_MODELS = frozenset({"excludedmodels", "ignoredmodels", "fallbackcredittoken"})
_NOT_NAMES = frozenset({"speed", "type", "servicetier", "effort"})
"""Text beside a name, such as in an entry of `fallbacks`."""
_PROVIDER_CHOOSES = frozenset({"preset", "automode", "modelselectionconfig", "modelconfig"})

_TOOLS_WITH_MODELS = {"imagegeneration": ("model",), "advisor": ("model",), "fusion": ("analysismodels",)}
"""Tools that run a model, and the members that say which: without them, the provider or the model itself decides."""
_PLUGINS_WITH_MODELS = {"fusion": ("analysismodels", "model")}


def find_model_members(body: JsonObject) -> list[ModelMember]:
    """Every member of a request that selects a model, except a `model` at the top, in the order of their depth."""
    found = [ModelMember(name) for name, value in body.items() if _is_choice_of_provider(name, value, body)]
    top = {name: value for name, value in body.items() if name != "model"}
    names = [(value, name) for name, value in top.items() if _folded(name) in _TOP_NAMES]
    return found + _walk(deque([(top, "", "settings"), *((value, name, "names") for value, name in names)]))


def find_tool_models(tools: list[JsonValue], path: str = "tools") -> list[ModelMember]:
    """Members that select a model in a list of tools, such as those that a conversation has stored."""
    return _walk(deque([(tools, path, "tool")]))


def find_item_models(items: list[JsonValue], path: str = "input") -> list[ModelMember]:
    """Members that select a model in items of a conversation, which may declare tools."""
    return _walk(deque([(items, path, "conversation")]))


def _is_choice_of_provider(name: str, value: JsonValue, body: JsonObject) -> bool:
    """A stored prompt brings a model, and OpenRouter's old `route` finds one where `models` names none."""
    folded = _folded(name)
    return (folded == "prompt" and isinstance(value, dict)) or (
        folded == "route" and value is not None and not body.get("models")
    )


def _walk(pending: "deque[tuple[JsonValue, str, _Kind]]") -> list[ModelMember]:
    """Without recursion: the body is untrusted, and may be nested as deeply as the parser allows."""
    found: list[ModelMember] = []
    while pending:
        value, path, kind = pending.popleft()
        if isinstance(value, list):
            pending.extend((entry, f"{path}[{place}]", kind) for place, entry in enumerate(value))
        elif isinstance(value, str):
            if kind == "names" and value:
                found.append(ModelMember(path, value))
        elif isinstance(value, dict) and not (kind == "tool" and value.get("type") in _FUNCTION_TYPES):
            if kind != "conversation" and _lacks_model(value, kind):
                found.append(ModelMember(path))
            for name, member in value.items():
                place = f"{path}.{name}" if path else name
                below = None if member is None else _kind_below(_folded(name), member, value, kind)
                if below == "choice":
                    found.append(ModelMember(place))
                elif below is not None:
                    pending.append((member, place, below))
    return found


def _kind_below(name: str, member: JsonValue, holder: JsonObject, kind: _Kind) -> "_Kind | Literal['choice'] | None":
    """How to search a member: None for not at all, `choice` if it leaves the choice to the provider."""
    if name == "tools" and isinstance(member, list):
        return "tool"
    if kind == "conversation":
        return "conversation" if name in _CONTENT else None
    if name in _CONVERSATION:
        return "conversation"
    if name in _DATA or name in _NOT_MODELS or name in _FUNCTIONS:
        return None
    if name == _PARAMETERS and kind == "tool" and "type" not in holder:
        return None
    if name in _PROVIDER_CHOOSES:
        return None if member is False else "choice"
    if name.endswith(_NAME_ENDINGS) or _FALLBACK in name:
        return "names"
    if kind == "names" and not isinstance(member, dict):
        return None if name in _NOT_NAMES else "names"
    return "settings"


def _lacks_model(value: JsonObject, kind: _Kind) -> bool:
    """Whether it is a tool or plugin that runs a model and does not say which."""
    given, wanted = (
        (value.get("type"), _TOOLS_WITH_MODELS) if kind == "tool" else (value.get("id"), _PLUGINS_WITH_MODELS)
    )
    if not isinstance(given, str):
        return False
    called = _folded(given.rpartition(":")[2])
    needed = next((members for name, members in wanted.items() if called.startswith(name)), ())
    if not needed:
        return False
    inner = value.get(_PARAMETERS)
    members = {**value, **inner} if isinstance(inner, dict) else value
    named = {_folded(name) for name, member in members.items() if member}
    return not named.issuperset(needed)


def _folded(name: str) -> str:
    """A name without case, underscores and hyphens: some providers accept any of these spellings."""
    return name.casefold().replace("_", "").replace("-", "")
