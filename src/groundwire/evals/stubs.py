"""Tools that are only declared: what they answer stands in the scenario, and nothing is carried out.

So any registry can be tried offline, and a recorded run again. A stub has its tool's words and schema and none of its
policies; arguments are checked as always.
"""

from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from groundwire.contracts.canonical import JsonObject, JsonValue, canonical_json
from groundwire.contracts.errors import ConfigError, ErrorDetail, ErrorType, RegistryError, ToolError
from groundwire.contracts.tools import OBJECT_SCHEMA, Exposure, model_parameters
from groundwire.registry import Registry, Tool

EVERY_TOOL = "*"


class StubTool(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    name: str
    description: str = ""
    parameters: JsonObject = field(default_factory=lambda: dict(OBJECT_SCHEMA))
    guide: str = ""


class StubError(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    type: ErrorType
    message: str = ""
    detail: str | None = None


class StubAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a tool answers to these arguments; to any, where none are given. `*` is every tool."""

    tool: str
    arguments: JsonObject | None = None
    data: Any = None
    error: StubError | None = None


class StubSetup(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """`tools` are declared here, or read from a folder."""

    tools: str | tuple[StubTool, ...]
    answers: tuple[StubAnswer, ...] = ()


class StubEnvironment:
    """Answers to the same call come in their order, the last one then again; a call without an answer fails."""

    def __init__(self, setup: JsonObject) -> None:
        try:
            read = msgspec.convert(setup, StubSetup)
        except msgspec.ValidationError as error:
            raise ConfigError(f"The setup is none for stubs: {error}", hint="tools and answers") from None
        self._answers: dict[tuple[str, bytes | None], deque[StubAnswer]] = {}
        for answer in read.answers:
            self._answers.setdefault(_key(answer.tool, answer.arguments), deque()).append(answer)
        declared = declared_in(Path(read.tools)) if isinstance(read.tools, str) else read.tools
        try:
            self.registry = Registry([self._tool(one) for one in declared])
        except RegistryError as error:
            raise ConfigError(f"The setup declares a tool that cannot be: {error}") from None

    def state(self) -> JsonValue:
        return None

    def answer(self, tool: str, arguments: JsonObject) -> JsonValue:
        for key in (_key(tool, arguments), _key(tool, None), _key(EVERY_TOOL, None)):
            if found := self._answers.get(key):
                answer = found.popleft() if len(found) > 1 else found[0]
                if answer.error is not None:
                    error = answer.error
                    raise ToolError(error.type, error.message or f"{tool} failed.", detail=error.detail)
                return answer.data
        message = f"Nobody has said what {tool} answers to these arguments, and nothing is carried out here."
        raise ToolError(ErrorType.NOT_FOUND, message, detail=ErrorDetail.NOT_RECORDED)

    def _tool(self, declared: StubTool) -> Tool:
        return Tool(
            declared.name,
            description=declared.description,
            parameters=declared.parameters,
            guide=declared.guide,
            handler=self._handler(declared.name),
        )

    def _handler(self, tool: str) -> Callable[..., Coroutine[Any, Any, JsonValue]]:
        async def stub(**arguments: Any) -> JsonValue:
            return self.answer(tool, arguments)

        return stub


def placed(setup: JsonObject, folder: Path) -> JsonObject:
    """The setup of a scenario that was read from a file in this folder: its folder of tools begins there."""
    tools = setup.get("tools")
    return {**setup, "tools": str(folder / tools)} if isinstance(tools, str) else setup


def declared_in(folder: Path) -> tuple[StubTool, ...]:
    """What the tools of a folder tell a model of themselves."""
    if not folder.is_dir():
        raise ConfigError(f"There is no folder {folder} with tools.")
    specs = [tool.spec for tool in Registry.build(folder) if tool.spec.exposure is Exposure.MODEL]
    return tuple(
        StubTool(
            name=spec.tool_id,
            description=spec.description or spec.summary,
            parameters=model_parameters(spec),
            guide=spec.documentation,
        )
        for spec in specs
    )


def _key(tool: str, arguments: Mapping[str, JsonValue] | None) -> tuple[str, bytes | None]:
    return tool, None if arguments is None else canonical_json(dict(arguments))
