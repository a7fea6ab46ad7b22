"""The seventeen settings of tool calling: how tools are offered, what failure means, what is corrected on the way.

They have a dict form with the same names, in which lists may be comma strings. Names of corrections that the provider
applies are checked where providers are known.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.requests import ToolChoice
from groundwire.contracts.shapes import did_you_mean, plain_members, read_as
from groundwire.contracts.transforms import parse_names
from groundwire.runtime.policies.access import EVERYTHING, Mask
from groundwire.runtime.policies.limits import MAX_BYTES, Overrides
from groundwire.runtime.transforms import TOOL_CALL_TRANSFORMS, TOOL_RESULT_TRANSFORMS

FINISH_NOW = "Please give your final answer now, in words for the user, based on the results above."

TRANSFORM_LISTS = (
    "message_transforms",
    "tool_transforms",
    "response_transforms",
    "tool_call_transforms",
    "tool_result_transforms",
)
_MODES: dict[str, Literal["auto", "none", "required"]] = {
    "auto": "auto",
    "none": "none",
    "required": "required",
    "any": "required",
}


class RunSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Every default is the requirement's own."""

    tool_use_mode: Literal["enforced", "relaxed", "disabled"] = "relaxed"
    tool_failure_policy: Literal["fatal", "tolerated"] = "fatal"
    max_tool_args_bytes: Annotated[int, Meta(ge=0)] = MAX_BYTES
    max_tool_output_bytes: Annotated[int, Meta(ge=0)] = MAX_BYTES
    tool_choice: str | JsonObject = "auto"
    fallback_retry_count: Annotated[int, Meta(ge=0)] = 0
    tool_allowlist: tuple[str, ...] | None = None
    tool_denylist: tuple[str, ...] = ()
    fix_empty_final: bool = True
    fix_empty_final_user_text: str = FINISH_NOW
    fix_empty_final_disable_tools: bool = True
    request_overrides: JsonObject = field(default_factory=dict)
    message_transforms: tuple[str, ...] = ()
    tool_transforms: tuple[str, ...] = ()
    response_transforms: tuple[str, ...] = ()
    tool_call_transforms: tuple[str, ...] = ()
    tool_result_transforms: tuple[str, ...] = ()

    @property
    def mask(self) -> Mask | None:
        """What may be offered and called. Without tools, a model that calls one all the same has made up a name."""
        if self.tool_use_mode == "disabled":
            return Mask(allow=())
        if self.tool_allowlist is None and not self.tool_denylist:
            return None
        return Mask(allow=self.tool_allowlist, deny=self.tool_denylist)

    @property
    def sizes(self) -> Overrides | None:
        """The size limits that are not the usual ones; what is, leaves a profile's own limit as it is."""
        if self.max_tool_args_bytes == self.max_tool_output_bytes == MAX_BYTES:
            return None
        return Overrides(
            max_args_bytes=None if self.max_tool_args_bytes == MAX_BYTES else self.max_tool_args_bytes,
            max_output_bytes=None if self.max_tool_output_bytes == MAX_BYTES else self.max_tool_output_bytes,
        )

    def as_dict(self) -> JsonObject:
        """What is not at its default, in plain JSON: the hash that presets build and that traces keep."""
        values: JsonObject = msgspec.to_builtins(self)
        return values


def read_settings(values: Mapping[str, Any] | RunSettings | None) -> RunSettings:
    """Settings from their dict form, checked; a ConfigError says which is wrong and what was probably meant."""
    if not isinstance(values, Mapping | RunSettings | None):
        raise ConfigError(
            f"settings: they cannot be {values!r:.200}", hint="RunSettings(…), or a dict of single settings"
        )
    given = plain_members({} if values is None else values, "settings")
    for name in ("tool_allowlist", "tool_denylist", *TRANSFORM_LISTS):
        value = given.get(name)
        listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        names = [one for one in listed if isinstance(one, str)]
        if names and len(names) == len(listed):
            given[name] = [*parse_names(",".join(names))]
    if given.get("tool_allowlist") == [EVERYTHING]:
        given["tool_allowlist"] = None
    settings = read_as(RunSettings, given, "settings")
    read_choice(settings.tool_choice)
    _check_names("tool_call_transforms", settings.tool_call_transforms, TOOL_CALL_TRANSFORMS)
    _check_names("tool_result_transforms", settings.tool_result_transforms, TOOL_RESULT_TRANSFORMS)
    return settings


def read_choice(value: str | JsonObject) -> ToolChoice:
    """A tool choice as clients write it: a mode, or an object that names a function or several."""
    if isinstance(value, str):
        mode = _MODES.get(value)
        if mode is None:
            hint = did_you_mean(value, _MODES) or 'a mode, or {"type": "function", "function": {"name": "…"}}'
            raise ConfigError(f"settings: tool_choice: {value!r} is not one of {', '.join(_MODES)}", hint=hint)
        return ToolChoice(mode=mode)
    kind = value.get("type")
    if kind in ("auto", "none", "any", "required") and isinstance(kind, str):
        return ToolChoice(mode=_MODES[kind])
    if kind == "allowed_tools":
        allowed = value.get("allowed_tools", value)
        tools = allowed.get("tools") if isinstance(allowed, dict) else None
        names = tuple(name for tool in tools if (name := _name_in(tool))) if isinstance(tools, list) else ()
        is_required = isinstance(allowed, dict) and allowed.get("mode") == "required"
        if names:
            return ToolChoice(mode="required" if is_required else "auto", names=names)
    name = _name_in(value)
    if name and kind in ("function", "tool", "custom", None):
        return ToolChoice(mode="required", names=(name,))
    raise ConfigError("settings: tool_choice: the object names no tool", hint='{"type": "function", "name": "…"}')


def _name_in(value: JsonValue) -> str:
    if not isinstance(value, dict):
        return ""
    inner = value.get("function")
    name = inner.get("name") if isinstance(inner, dict) else value.get("name")
    return name if isinstance(name, str) else ""


def _check_names(setting: str, names: tuple[str, ...], known: Mapping[str, object]) -> None:
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"known: {', '.join(known)}"
            raise ConfigError(f"settings: {setting}: there is no {name!r}", hint=hint)
