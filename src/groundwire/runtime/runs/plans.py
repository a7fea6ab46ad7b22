"""The plan of a step: the whole request but for the conversation, with a digest that is the same on any machine."""

import hashlib
from collections.abc import Container, Iterable, Sequence

import msgspec

from groundwire.contracts.canonical import digest
from groundwire.contracts.messages import Item, TextPart
from groundwire.contracts.requests import FunctionTool, ModelRequest, SendOptions, ToolChoice
from groundwire.contracts.runs import Plan
from groundwire.contracts.tools import ToolSpec, function_tool
from groundwire.registry import Tool
from groundwire.runtime.runs.options import RunOptions
from groundwire.runtime.runs.settings import read_choice

_AUTO = ToolChoice()
_encode = msgspec.json.Encoder().encode


def make_plan(options: RunOptions, tools: Iterable[Tool], *, has_called: bool = False) -> Plan:
    """`tools` are those on offer now, in the registry's order: the same order every time, for prompt caches.

    `has_called`: the model has called a tool in this run, as it perhaps had to; a choice forces no second call.
    """
    settings = options.settings
    specs = [tool.spec for tool in tools]
    own = tuple([function_tool(spec) for spec in specs])
    offered = (*own, *clients_among(options, {tool.name for tool in own})) if options.client_tools else own
    return Plan(
        model=options.model,
        instructions=write_instructions(options.instructions, specs, options.mode),
        tools=offered,
        tool_choice=_choice(options, specs, has_called=has_called) if offered else None,
        parallel_calls=options.parallel_calls if offered else None,
        sampling=options.sampling,
        max_output_tokens=options.max_output_tokens,
        output=options.output,
        reasoning=options.reasoning,
        overrides=settings.request_overrides,
        message_transforms=settings.message_transforms,
        tool_transforms=settings.tool_transforms,
        response_transforms=settings.response_transforms,
        fallbacks=options.fallbacks,
    )


def clients_among(options: RunOptions, taken: Container[str]) -> list[FunctionTool]:
    """The caller's tools; where one is called like one of ours, ours is meant. Schemas are read: digests are of meanings."""
    others = [tool for tool in options.client_tools if tool.name not in taken]
    return [msgspec.structs.replace(tool, parameters=tool.schema) for tool in others]


def write_instructions(instructions: str, specs: Iterable[ToolSpec], mode: str) -> str:
    """The system prompt with the guides of the tools: whole in text, one line each where every word is heard."""
    guides: list[str] = []
    for spec in specs:
        if not spec.documentation:
            continue
        is_short = mode == "voice"
        guides.append(
            f"- {spec.wire_name}: {spec.summary}" if is_short else f"## {spec.wire_name}\n\n{spec.documentation}"
        )
    if not guides:
        return instructions
    written = "\n".join(guides) if mode == "voice" else "\n\n".join(guides)
    return f"{instructions}\n\n# Tools\n\n{written}" if instructions else f"# Tools\n\n{written}"


def _choice(options: RunOptions, specs: list[ToolSpec], *, has_called: bool) -> ToolChoice | None:
    """None for `auto`, which is what every provider does anyway. Names may be given by id or as on the wire."""
    given = options.settings.tool_choice
    choice = read_choice(given)
    if has_called and choice.mode == "required":
        is_list = isinstance(given, dict) and given.get("type") == "allowed_tools"
        choice = msgspec.structs.replace(choice, mode="auto", names=choice.names if is_list else ())
    if choice == _AUTO:
        return None
    if not choice.names:
        return choice
    wire_names = {spec.tool_id: spec.wire_name for spec in specs}
    return msgspec.structs.replace(choice, names=tuple(wire_names.get(name, name) for name in choice.names))


def digest_of(plan: Plan) -> str:
    """SHA-256 over canonical JSON."""
    return digest(msgspec.to_builtins(plan))


class Fingerprints:
    """The digest of plan and conversation at each step, in the same time however long the conversation is."""

    def __init__(self) -> None:
        self._items = hashlib.sha256()

    def add(self, items: Sequence[Item]) -> None:
        """The items one after another, whichever of them came together."""
        if items:
            self._items.update(_encode(items)[1:-1] + b",")

    def take(self, plan_digest: str) -> str:
        both = self._items.copy()
        both.update(plan_digest.encode())
        return both.hexdigest()


def to_request(plan: Plan, items: Iterable[Item], *, stream: bool) -> ModelRequest:
    return ModelRequest(
        model=plan.model,
        items=tuple(items),
        instructions=(TextPart(text=plan.instructions),) if plan.instructions else (),
        tools=plan.tools,
        tool_choice=plan.tool_choice,
        parallel_calls=plan.parallel_calls,
        sampling=plan.sampling,
        max_output_tokens=plan.max_output_tokens,
        output=plan.output,
        reasoning=plan.reasoning,
        stream=stream,
    )


def to_send_options(plan: Plan) -> SendOptions:
    return SendOptions(
        overrides=plan.overrides,
        message_transforms=plan.message_transforms,
        tool_transforms=plan.tool_transforms,
        response_transforms=plan.response_transforms,
        fallbacks=plan.fallbacks,
    )
