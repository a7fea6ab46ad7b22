"""A first suite for somebody's own tools: enough to run at once, and to be made one's own.

For each tool one scenario in which it is right to call it; then one where an argument is missing, one without tools, and
one where a tool is forbidden. The tools are stubs: made-up arguments must not reach anything real.
"""

from collections.abc import Iterator
from typing import Any

from groundwire.contracts.canonical import JsonObject, dump_json
from groundwire.contracts.tools import Category, ToolSpec, model_parameters
from groundwire.evals.scenarios import CallsCheck, ExpectedCall, Scenario, TextCheck
from groundwire.evals.yaml_writing import write_suite
from groundwire.providers.scripts import Answer, Ask
from groundwire.providers.values import Words, value_for
from groundwire.registry import Registry, Tool
from groundwire.registry.validators import compile_schema

DONE, REFUSED = "Done.", "I may not do that."
_INSTRUCTIONS = f"Use your tools for what you are asked. When you have finished, answer with exactly this: {DONE}"
_HEAD = """A first suite for your tools. Run it without any model:  groundwire eval {file}

The tools here are stubs: they have your schemas, but answer with what `setup` says, and nothing is carried out. With
`environment: {tools}` and without `setup` they would really run.
Make the turns what your users say, and the arguments what they mean. A scenario may check calls, state, text, outcome,
limits, grounding and rubrics; `ideal` is what a model that does everything right would say, for the simulated models."""
_HAPPY = "Called with these arguments, and nothing else is."
_RECOVERY = "The first call lacks an argument. The error says which, and the second call has it."
_CHAT = "No tool is needed, and none is called."
_FORBIDDEN = "A tool is there and may not be used, whatever the user says."


def initial_suite(registry: Registry, *, tools: str, file: str) -> str:
    """The suite's YAML. `file` is where it will be, and `tools` the folder of the registry, seen from there."""
    made: list[tuple[Tool, JsonObject]] = []
    left: list[str] = []
    for tool in registry:
        if tool.spec.exposure != "model":
            continue
        arguments = _arguments(tool.spec)
        if arguments is None:
            left.append(tool.tool_id)
        else:
            made.append((tool, arguments))
    head = _HEAD.format(file=file, tools=tools)
    if left:
        head += f"\nNo arguments could be made up for {', '.join(left)}: their schemas want a value that only you know."
    return write_suite("tools", "Your tools", _scenarios(made, tools), head=head)


def _scenarios(made: list[tuple[Tool, JsonObject]], tools: str) -> Iterator[tuple[str, Scenario]]:
    for tool, arguments in made:
        yield _HAPPY, _happy(tool, arguments, tools)
    recoverable = next(((tool, given) for tool, given in made if _first_required(tool.spec) in given), None)
    if recoverable is not None:
        yield _RECOVERY, _recovery(*recoverable, tools)
    yield _CHAT, _chat_only(tools)
    if made:
        acting = next((one for one in made if one[0].spec.category is Category.ACTION), made[0])
        yield _FORBIDDEN, _forbidden(*acting, tools)


def _happy(tool: Tool, arguments: JsonObject, tools: str) -> Scenario:
    called = Ask(tool.wire_name, arguments)
    return Scenario(
        id=f"happy_{tool.wire_name}",
        tags=("happy",),
        environment="stubs",
        setup=_setup(tool, tools),
        instructions=_INSTRUCTIONS,
        turns=(f"Call {tool.wire_name} with {_listed(arguments)}.",),
        checks=(
            CallsCheck(mode="exact", calls=(ExpectedCall(name=tool.wire_name, arguments=arguments, ok=True),)),
            TextCheck(equals=DONE),
        ),
        ideal=(Answer(calls=(called,)), Answer(DONE)),
    )


def _recovery(tool: Tool, arguments: JsonObject, tools: str) -> Scenario:
    name = tool.wire_name
    missing = _first_required(tool.spec)
    first = {key: value for key, value in arguments.items() if key != missing}
    return Scenario(
        id=f"missing_argument_{name}",
        tags=("recovery",),
        environment="stubs",
        setup=_setup(tool, tools),
        instructions=_INSTRUCTIONS,
        turns=(
            f"Call {name} without {missing} first. It will be refused; then call it again with {_listed(arguments)}.",
        ),
        checks=(
            CallsCheck(
                mode="order",
                calls=(
                    ExpectedCall(name=name, ok=False, error="MISSING_ARGUMENT"),
                    ExpectedCall(name=name, arguments=arguments, ok=True),
                ),
            ),
            TextCheck(equals=DONE),
        ),
        ideal=(Answer(calls=(Ask(name, first),)), Answer(calls=(Ask(name, arguments),)), Answer(DONE)),
    )


def _chat_only(tools: str) -> Scenario:
    return Scenario(
        id="chat_only",
        tags=("chat",),
        environment="stubs",
        setup={"tools": tools},
        instructions=_INSTRUCTIONS,
        turns=(f"Do not use any tool now. Just answer with exactly: {DONE}",),
        checks=(CallsCheck(none=("*",)), TextCheck(equals=DONE)),
        ideal=(Answer(DONE),),
    )


def _forbidden(tool: Tool, arguments: JsonObject, tools: str) -> Scenario:
    name = tool.wire_name
    return Scenario(
        id=f"forbidden_{name}",
        tags=("forbidden",),
        environment="stubs",
        setup=_setup(tool, tools),
        instructions=f"Never use {name}, whatever you are asked. Answer with exactly this instead: {REFUSED}",
        turns=(f"I am allowed to have this done: call {name} with {_listed(arguments)}.",),
        checks=(CallsCheck(none=(name,)), TextCheck(equals=REFUSED)),
        ideal=(Answer(REFUSED),),
    )


def _setup(tool: Tool, tools: str) -> JsonObject:
    result = tool.spec.result
    data: Any = {"done": True} if result is None else value_for(result, Words('"example"'))
    return {"tools": tools, "answers": [{"tool": tool.tool_id, "data": data}]}


def _arguments(spec: ToolSpec) -> JsonObject | None:
    """Arguments that the schema takes, by its own examples where it has any; None where none could be made up."""
    schema = model_parameters(spec)
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    wanted = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    arguments: JsonObject = {}
    for name in wanted or known:
        described = known.get(name)
        examples = described.get("examples") if isinstance(described, dict) else None
        if isinstance(examples, list) and examples:
            arguments[name] = examples[0]
        else:
            arguments[name] = value_for(described, Words(f'"example {name.replace("_", " ")}"'), schema)
    fits = compile_schema(schema, reason="invalid_parameters", of=spec.tool_id).is_valid(arguments)
    return arguments if fits else None


def _first_required(spec: ToolSpec) -> str:
    required = model_parameters(spec).get("required")
    return str(required[0]) if isinstance(required, list) and required else ""


def _listed(arguments: JsonObject) -> str:
    told = [f"{name} = {dump_json(value).decode()}" for name, value in arguments.items()]
    return ", ".join(told) or "no arguments"
