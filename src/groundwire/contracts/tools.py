"""What a tool is, as data: everything about it except the code that runs.

The same value comes from a decorated function, a tool folder or a client's request, and goes into the artifact.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.requests import FunctionTool

Mode: TypeAlias = Literal["text", "voice"]
GroundingMode: TypeAlias = Literal["off", "report", "strict"]
Unit: TypeAlias = Literal["calls", "tokens", "money", "ms"]
Milliseconds: TypeAlias = Annotated[int, Meta(ge=1, le=365 * 86_400_000)]
Amount: TypeAlias = Annotated[float, Meta(ge=0, le=1e15)]

OBJECT_SCHEMA: JsonObject = {"type": "object", "properties": {}}


class Category(StrEnum):
    RETRIEVAL = "retrieval"
    ACTION = "action"
    UTILITY = "utility"


class Exposure(StrEnum):
    """`model`: offered to models. `internal`: for applications and other tools only."""

    MODEL = "model"
    INTERNAL = "internal"


class BargeIn(StrEnum):
    """What happens to a call in flight when the user interrupts."""

    CANCEL = "cancel"
    FINISH = "finish"


class Budget(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """At most `max` units per `by`: `turn`, `session`, `request`, or the value of the argument of that name.

    Budgets of one name share one count. `category` narrows a profile's budget to the tools of that category.
    """

    name: str
    by: str = "turn"
    max: Amount
    unit: Unit = "calls"
    category: Category | None = None


class Gate(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """A feature flag that must be on. With `answer`, a closed gate answers with that data instead of refusing."""

    flag: str
    answer: JsonValue | msgspec.UnsetType = msgspec.UNSET


class Ground(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """How an argument must be evidenced by the conversation.

    `quote`: it holds words that the speaker said. `value`: what it holds must itself occur in their words.
    `optional`: the argument may be absent; empty is a failure all the same. `value`, for a quote: the arguments whose
    numbers must occur in it; true for all that are neither grounded by a rule of their own nor supplied.
    """

    by: Literal["quote", "value"] = "quote"
    speaker: str = "user"
    optional: bool = False
    value: bool | tuple[str, ...] = False


class Variant(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """Another implementation, for named users, organisations, or a percentage of everybody."""

    name: str
    percent: float = 0.0
    users: tuple[str, ...] = ()
    organisations: tuple[str, ...] = ()
    handler: str = ""


class ToolPolicy(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """What a tool asks of the runtime. An operator's configuration has the last word."""

    soft_ms: Milliseconds | None = None
    hard_ms: Milliseconds | None = None
    budget: tuple[Budget, ...] = ()
    scope: Literal["run", "conversation", "call"] | tuple[str, ...] = "run"
    ground: dict[str, Ground] = field(default_factory=dict)
    supplied: tuple[str, ...] = ()
    gates: tuple[str | Gate, ...] = ()
    empty_field: str | None = None
    repeatable: bool = False
    blocking: bool | None = None
    background: bool = False
    commits: bool = False
    spill: bool = False
    variants: tuple[Variant, ...] = ()
    barge_in: BargeIn | None = None


class ToolSpec(Struct, frozen=True, kw_only=True):
    """One tool, provider-neutral. `tool_id` may be dotted; `wire_name` is what models and providers see."""

    tool_id: str
    wire_name: str
    category: Category = Category.UTILITY
    modes: tuple[Mode, ...] = ("text", "voice")
    requires_confirmation: bool = False
    exposure: Exposure = Exposure.MODEL
    description: str = ""
    parameters: JsonObject = field(default_factory=lambda: dict(OBJECT_SCHEMA))
    result: JsonObject | None = None
    policy: ToolPolicy = field(default_factory=ToolPolicy)
    summary: str = ""
    documentation: str = ""
    handler_path: str = ""
    handler_hash: str = ""
    approval_text: str = ""
    """Template of the sentence that a person reads before approving a call, such as `Refund {cents} cents`."""


def wire_name(tool_id: str) -> str:
    """`marketplace.search_vendors` → `marketplace__search_vendors`. The way back is a look-up, never a replacement."""
    return tool_id.replace(".", "__")


def model_parameters(spec: ToolSpec) -> JsonObject:
    """The argument schema as a model sees it: without what the executor supplies."""
    hidden = spec.policy.supplied
    if not hidden:
        return spec.parameters
    view: dict[str, Any] = dict(spec.parameters)
    properties = view.get("properties")
    if isinstance(properties, dict):
        view["properties"] = {name: schema for name, schema in properties.items() if name not in hidden}
    required = view.get("required")
    if isinstance(required, list):
        view["required"] = [name for name in required if name not in hidden]
        if not view["required"]:
            del view["required"]
    return view


def function_tool(spec: ToolSpec) -> FunctionTool:
    """The tool as a model is told of it, before any dialect: without the arguments that the executor supplies."""
    return FunctionTool(
        name=spec.wire_name, description=spec.description or spec.summary or None, parameters=model_parameters(spec)
    )


def barge_in_of(spec: ToolSpec) -> BargeIn:
    if spec.policy.barge_in is not None:
        return spec.policy.barge_in
    return BargeIn.FINISH if spec.category is Category.ACTION else BargeIn.CANCEL
