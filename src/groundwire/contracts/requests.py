"""A request to a model, in no provider's dialect: the conversation, the tools on offer, and how to answer.

Members that only one dialect knows stand in `extras` under its name, so that the same dialect gets them back.
"""

from typing import ClassVar, Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct, field

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.messages import Item, Private, TextPart

Dialect: TypeAlias = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]
DIALECTS: tuple[Dialect, ...] = ("openai-chat", "openai-responses", "anthropic", "gemini")


_LONGEST = 86_400


class FunctionTool(
    Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, eq=False, tag_field="kind", tag="function"
):
    """A tool that the caller runs. `parameters` is JSON Schema; None means that the sender named no parameters.

    A schema that every provider takes as it is may stay the text that it came as, until somebody reads `schema`: most
    requests only carry it from one body to the next.

    `freeform` is the format of a tool that takes plain text instead of JSON (OpenAI's custom tools); elsewhere it
    is offered as a function with the one argument `input`.
    """

    kind: ClassVar[Literal["function"]] = "function"
    name: str
    description: str | None = None
    parameters: JsonObject | Raw | None = None
    strict: bool | None = None
    freeform: JsonObject | None = None
    private: Private = field(default_factory=dict)

    @property
    def schema(self) -> JsonObject | None:
        """The parameters, read."""
        parameters = self.parameters
        return msgspec.json.decode(parameters) if isinstance(parameters, Raw) else parameters

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionTool) and self._meaning() == other._meaning()

    __hash__ = None  # type: ignore[assignment]  # it holds objects that can change

    def _meaning(self) -> tuple[object, ...]:
        return self.name, self.description, self.schema, self.strict, self.freeform, self.private


class NativeTool(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="native_tool"):
    """A tool that the provider runs itself, as its own dialect declares it."""

    kind: ClassVar[Literal["native_tool"]] = "native_tool"
    origin: str
    value: JsonObject


DeclaredTool: TypeAlias = FunctionTool | NativeTool


class ToolChoice(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Whether the model may call, and which of the tools. `names` empty: any; one name with `required`: that one."""

    mode: Literal["auto", "none", "required"] = "auto"
    names: tuple[str, ...] = ()
    private: Private = field(default_factory=dict)


class Sampling(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    stop: tuple[str, ...] = ()
    count: int | None = None
    """How many answers to give (`n`, `candidateCount`)."""


class OutputFormat(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What the text of the answer must be: free (`text`), any JSON (`json`), or JSON of a schema (`schema`)."""

    type: Literal["text", "json", "schema"] = "text"
    schema: JsonObject | None = None
    name: str | None = None
    description: str | None = None
    strict: bool | None = None
    private: Private = field(default_factory=dict)


class ReasoningOptions(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """How much to think. `effort` is a word of the dialect it came from (`low`, `high` …), in lower case.

    `budget` counts tokens; 0 turns thinking off. `summary` asks for the thoughts to be told.
    """

    effort: str | None = None
    budget: int | None = None
    summary: bool | None = None
    private: Private = field(default_factory=dict)


_DEFAULT_SAMPLING = Sampling()


class ModelRequest(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """`instructions` is the system prompt of this request; system messages further on are items like any other."""

    model: str
    items: tuple[Item, ...] = ()
    instructions: tuple[TextPart, ...] = ()
    tools: tuple[DeclaredTool, ...] = ()
    tool_choice: ToolChoice | None = None
    parallel_calls: bool | None = None
    sampling: Sampling = _DEFAULT_SAMPLING
    max_output_tokens: int | None = None
    output: OutputFormat | None = None
    reasoning: ReasoningOptions | None = None
    stream: bool = False
    extras: Private = field(default_factory=dict)


class SendOptions(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """How one request is sent, beside what it says.

    `overrides` are merged into the wire body, except for the members that the request owns. The transforms are named,
    and work on the OpenAI-chat shape. `fallbacks` are models to try when this one fails. `timeout` is how many seconds
    one attempt may take from beginning to end, streamed or not; 0: while pieces keep coming, None: as the provider is set up.
    """

    overrides: JsonObject = field(default_factory=dict)
    message_transforms: tuple[str, ...] = ()
    tool_transforms: tuple[str, ...] = ()
    response_transforms: tuple[str, ...] = ()
    fallbacks: tuple[str, ...] = ()
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None and not 0 <= self.timeout <= _LONGEST:
            raise ConfigError(f"timeout must be seconds from 0 to {_LONGEST}, not {self.timeout}.")
