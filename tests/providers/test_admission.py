"""What the router says to a request that is made of the wrong things."""

from enum import StrEnum

import pytest
from msgspec.structs import replace

from groundwire import ConfigError, ModelRequest, Registry, ResultItem, TextPart, open_models, say, tool


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return city


def a_function():
    """Not a tool yet."""


REQUEST = ModelRequest(model="sim", items=(say("user", "hi"),))
WRONG = [
    ({"model": None}, "request.model is of type NoneType, and must be str.", "the name of a model"),
    ({"items": "hi"}, "request.items is of type str, and must be a tuple of CallItem or Message", 'say("user"'),
    ({"items": ({"role": "user"},)}, "request.items[0] is of type dict, and must be CallItem or Message", 'say("user"'),
    ({"items": (say("user", "a"), "b")}, "request.items[1] is of type str", 'say("user"'),
    (
        {"instructions": "Be brief."},
        "request.instructions is of type str, and must be a tuple of TextPart.",
        "TextPart",
    ),
    ({"instructions": ("Be brief.",)}, "request.instructions[0] is of type str, and must be TextPart.", "TextPart"),
    ({"tools": ({"name": "x"},)}, "request.tools[0] is of type dict, and must be FunctionTool or", "FunctionTool("),
    ({"tools": (get_weather,)}, "request.tools[0] is of type Tool", "registry.function_tools()"),
    ({"tools": [a_function]}, "request.tools[0] is of type function", "registry.function_tools()"),
    ({"tools": Registry([get_weather])}, "request.tools is of type Registry", "registry.function_tools()"),
    ({"tool_choice": "required"}, "request.tool_choice is of type str, and must be None or ToolChoice.", "ToolChoice("),
    ({"parallel_calls": 1}, "request.parallel_calls is of type int, and must be None or bool.", "True"),
    ({"sampling": {"temperature": 1}}, "request.sampling is of type dict, and must be Sampling.", "Sampling("),
    ({"max_output_tokens": 9.5}, "request.max_output_tokens is of type float, and must be None or int.", "tokens"),
    ({"output": "json"}, "request.output is of type str, and must be None or OutputFormat.", "OutputFormat("),
    ({"reasoning": "low"}, "request.reasoning is of type str, and must be None or ReasoningOptions.", "effort"),
    ({"stream": "yes"}, "request.stream is of type str, and must be bool.", "models.stream"),
    ({"extras": ()}, "request.extras is of type tuple, and must be dict.", "dialect"),
]


@pytest.mark.parametrize(
    ("wrong", "message", "hint"), WRONG, ids=[f"{next(iter(w))}-{n}" for n, (w, *_) in enumerate(WRONG)]
)
async def test_a_value_of_a_wrong_type_is_named_with_what_belongs_there(wrong, message, hint):
    models = open_models(environ={})
    request = replace(REQUEST, **wrong)
    with pytest.raises(ConfigError) as whole:
        await models.complete(request)
    with pytest.raises(ConfigError) as streamed:
        [part async for part in models.stream(request)]
    assert whole.value.message.startswith(message)
    assert hint in whole.value.hint
    assert streamed.value.message == whole.value.message


async def test_what_is_no_request_and_no_options_is_refused():
    models = open_models(environ={})
    with pytest.raises(ConfigError, match="request is of type dict, and must be ModelRequest"):
        await models.complete({"model": "sim"})
    with pytest.raises(ConfigError, match="options is of type dict, and must be SendOptions"):
        await models.complete(REQUEST, {"timeout": 1})


async def test_a_name_may_be_a_member_of_an_enumeration():
    names = StrEnum("names", {"BUILT_IN": "sim"})
    assert (await open_models(environ={}).complete(replace(REQUEST, model=names.BUILT_IN))).text == "You said: hi"


async def test_lists_are_as_good_as_tuples():
    result = ResultItem(call_id="c", parts=[TextPart(text="sunny")])
    reply = await open_models(environ={}).complete(
        replace(REQUEST, items=[say("user", "hi"), result], instructions=[TextPart(text="Be brief.")], tools=[])
    )
    assert reply.text == "Here is what I found: sunny"
