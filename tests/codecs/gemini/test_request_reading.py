"""Every form of a request that Gemini takes, read and written again."""

import json
import time

import pytest

from groundwire.codecs import gemini
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import CallItem, MediaPart, Message, NativeItem, NativePart, ReasoningItem, TextPart

LENIENT = gemini.Profile(signatures="optional")
HELLO = {"role": "user", "parts": [{"text": "hi"}]}


def again(body):
    return gemini.encode_request(gemini.decode_request(body), profile=LENIENT).body


def model(*parts):
    return {"contents": [HELLO, {"role": "model", "parts": list(parts)}]}


ROUND_TRIPS = {
    "a role left out": {"contents": [{"parts": [{"text": "hi"}]}]},
    "two turns of the model": {
        "contents": [HELLO, {"role": "model", "parts": [{"text": "a"}]}, {"role": "model", "parts": [{"text": "b"}]}]
    },
    "texts side by side": model({"text": "a"}, {"text": "b"}),
    "an empty text with a signature": model({"text": "a"}, {"text": "", "thoughtSignature": "c2ln"}),
    "an empty text": model({"text": ""}),
    "signed texts": model({"text": "a", "thoughtSignature": "YQ=="}, {"text": "b", "thoughtSignature": "Yg=="}),
    "a thought": model({"text": "hm", "thought": True}, {"text": "a"}),
    "a signed thought": model({"text": "hm", "thought": True, "thoughtSignature": "YQ=="}),
    "a thought that is an image": model(
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}, "thought": True, "thoughtSignature": "YQ=="}
    ),
    "an image by the model": model(
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}, "thoughtSignature": "YQ=="}
    ),
    "code that Google ran": model(
        {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "YQ=="},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}},
        {"toolResponse": {"id": "t", "response": {}}},
        {"somethingNew": 1},
    ),
    "media with all that belongs to it": {
        "contents": [
            {
                "role": "user",
                "parts": [
                    {
                        "fileData": {"fileUri": "https://youtu.be/x", "mimeType": "video/mp4"},
                        "videoMetadata": {"startOffset": "1s"},
                    },
                    {"fileData": {"fileUri": "https://generativelanguage.googleapis.com/v1beta/files/a"}},
                    {"inlineData": {"mimeType": "image/png", "data": "iVBORw==", "displayName": "d", "new": 1}},
                    {"text": "x", "partMetadata": {"a": 1}},
                    {"newThing": {}},
                ],
            }
        ]
    },
    "calls and responses without ids": {
        "contents": [
            HELLO,
            {"role": "model", "parts": [{"functionCall": {"name": "f"}}, {"functionCall": {"name": "f", "args": {}}}]},
            {
                "role": "function",
                "parts": [
                    {"functionResponse": {"name": "f", "response": {"output": "1"}}},
                    {"functionResponse": {"name": "f", "response": {"output": '{"a": 1}'}}},
                ],
            },
        ]
    },
    "responses of every kind": {
        "contents": [
            HELLO,
            {"role": "model", "parts": [{"functionCall": {"name": "f", "id": str(place)}} for place in range(8)]},
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "0", "name": "f", "response": {"error": "x"}}},
                    {"functionResponse": {"id": "1", "name": "f", "response": {"error": 5}}},
                    {"functionResponse": {"id": "2", "name": "f", "response": {"error": {"a": 1}}}},
                    {"functionResponse": {"id": "3", "name": "f", "response": {"output": [1]}}},
                    {"functionResponse": {"id": "4", "name": "f", "response": {}}},
                    {"functionResponse": {"id": "5", "name": "f", "response": {"output": "x", "more": 1}}},
                    {"functionResponse": {"id": "6", "name": "f", "scheduling": "SILENT", "response": {"a": 1.5}}},
                    {
                        "functionResponse": {
                            "id": "7",
                            "name": "f",
                            "parts": [{"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}],
                        }
                    },
                ],
            },
        ]
    },
    "tools of every kind": {
        "contents": [HELLO],
        "tools": [
            {"functionDeclarations": [{"name": "a", "parametersJsonSchema": {"type": "object", "title": "T"}}]},
            {"googleSearch": {}, "urlContext": {}},
            {"functionDeclarations": [{"name": "b"}], "codeExecution": {}},
            {"functionDeclarations": []},
            {
                "functionDeclarations": [
                    {
                        "name": "c",
                        "description": "d",
                        "behavior": "NON_BLOCKING",
                        "parameters": {"type": "OBJECT", "properties": {"x": {"type": "STRING", "nullable": True}}},
                        "response": {"type": "STRING"},
                    }
                ]
            },
        ],
    },
    "no tools": {"contents": [HELLO], "tools": []},
    "all options": {
        "contents": [HELLO],
        "systemInstruction": {"role": "system", "parts": [{"text": "a"}, {"text": "b"}]},
        "generationConfig": {
            "temperature": 0.5,
            "topP": 0.9,
            "topK": 40,
            "seed": 7,
            "presencePenalty": 0.1,
            "frequencyPenalty": 0.2,
            "stopSequences": ["X"],
            "candidateCount": 2,
            "maxOutputTokens": 900,
            "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "array", "items": {"type": "string"}, "title": "T"},
            "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "LOW"},
            "responseModalities": ["TEXT"],
            "speechConfig": {"languageCode": "de"},
        },
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        "cachedContent": "cachedContents/x",
        "labels": {"team_name": "a"},
        "serviceTier": "flex",
    },
    "a budget to think": {"contents": [HELLO], "generationConfig": {"thinkingConfig": {"thinkingBudget": 512}}},
    "an open budget": {"contents": [HELLO], "generationConfig": {"thinkingConfig": {"thinkingBudget": -1}}},
    "level and budget": {
        "contents": [HELLO],
        "generationConfig": {"thinkingConfig": {"thinkingBudget": 1, "thinkingLevel": "low"}},
    },
    "upper-case output schema": {
        "contents": [HELLO],
        "generationConfig": {
            "responseMimeType": "application/json",
            "responseSchema": {"type": "OBJECT", "properties": {"a": {"type": "INTEGER"}}, "propertyOrdering": ["a"]},
        },
    },
    "an answer out of an enum": {
        "contents": [HELLO],
        "generationConfig": {"responseMimeType": "text/x.enum", "responseSchema": {"type": "STRING", "enum": ["a"]}},
    },
    "the output format of Vertex": {
        "contents": [HELLO],
        "generationConfig": {
            "responseFormat": {"text": {"mimeType": "application/json", "schema": {"type": "object"}}}
        },
    },
    "any JSON": {"contents": [HELLO], "generationConfig": {"responseMimeType": "application/json"}},
    "plain text": {"contents": [HELLO], "generationConfig": {"responseMimeType": "text/plain"}},
    **{
        f"tool choice {index}": {"contents": [HELLO], "toolConfig": {"functionCallingConfig": choice}}
        for index, choice in enumerate(
            [
                {"mode": "VALIDATED"},
                {"mode": "any"},
                {"mode": "AUTO", "allowedFunctionNames": ["f"]},
                {"mode": "MODE_UNSPECIFIED"},
                {"streamFunctionCallArguments": True},
                {"allowedFunctionNames": ["f"]},
            ]
        )
    },
    "settings of tools without a choice": {
        "contents": [HELLO],
        "toolConfig": {"retrievalConfig": {"languageCode": "de"}},
    },
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_a_request_comes_back_as_it_was(name):
    body = ROUND_TRIPS[name]

    assert again(json.dumps(body).encode()) == body


def test_snake_case_is_read_and_camel_case_is_written():
    body = {
        "system_instruction": {"parts": [{"text": "s"}]},
        "contents": [
            {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": "iVBORw"}}]},
            {
                "role": "model",
                "parts": [
                    {"function_call": {"name": "f", "args": {"snake_case": 1}}, "thought_signature": "a-_b"},
                ],
            },
            {"role": "user", "parts": [{"function_response": {"name": "f", "response": {"some_key": 1}}}]},
        ],
        "tools": [{"function_declarations": [{"name": "f", "parameters_json_schema": {"type": "object"}}]}],
        "tool_config": {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["f"]}},
        "generation_config": {"max_output_tokens": "5", "stop_sequences": ["x"]},
        "cached_content": "c",
    }

    assert again(body) == {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "contents": [
            {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}]},
            {
                "role": "model",
                "parts": [{"functionCall": {"name": "f", "args": {"snake_case": 1}}, "thoughtSignature": "a-_b"}],
            },
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"some_key": 1}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object"}}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {"maxOutputTokens": 5, "stopSequences": ["x"]},
        "cachedContent": "c",
    }


def test_the_parts_of_a_model_become_items_in_order():
    request = gemini.decode_request(
        model(
            {"text": "hm", "thought": True},
            {"text": "a"},
            {"text": "b", "thoughtSignature": "cw=="},
            {"text": "c"},
            {"functionCall": {"name": "f", "args": {"x": 1}}, "thoughtSignature": "dA=="},
            {"executableCode": {"code": "1"}},
        )
    )

    thought, first, second, call, native = request.items[1:]
    assert thought == ReasoningItem(text="hm", private={"gemini": {}})
    signed = TextPart(text="b", private={"gemini": {"thoughtSignature": "cw=="}})
    assert first == Message(role="assistant", parts=(TextPart(text="a"), signed))
    assert second == Message(role="assistant", parts=(TextPart(text="c"),))
    assert isinstance(call, CallItem)
    assert (call.call.call_id, call.call.raw) == ("call_1_0", '{"x":1}')
    assert call.private == {"gemini": {"thoughtSignature": "dA==", "_synthetic": True}}
    assert native == NativeItem(origin="gemini", value={"executableCode": {"code": "1"}})


def test_the_parts_of_a_user_become_parts():
    request = gemini.decode_request(
        {
            "contents": [
                {
                    "role": "user",
                    "parts": [
                        {"fileData": {"fileUri": "https://e.org/a.png"}},
                        {"fileData": {"fileUri": "gs://b/a", "mimeType": "text/plain"}},
                        {"newThing": {}},
                    ],
                }
            ]
        }
    )

    address = MediaPart(media_type="image/png", url="https://e.org/a.png", private={"gemini": {"_untyped": True}})
    bucket = MediaPart(media_type="text/plain", file_id="gs://b/a", private={"gemini": {}})
    assert request.items[0].parts == (address, bucket, NativePart(origin="gemini", value={"newThing": {}}))


def test_responses_find_their_calls_by_id_else_by_name_and_order():
    calls = [{"name": "f"}, {"name": "g"}, {"name": "f"}, {"name": "h", "id": "given"}]
    responses = [{"name": "g"}, {"name": "f"}, {"name": "h", "id": "given"}, {"name": "f", "id": "new"}, {"name": "z"}]
    request = gemini.decode_request(
        {
            "contents": [
                HELLO,
                {"role": "model", "parts": [{"functionCall": call} for call in calls]},
                {"role": "user", "parts": [{"functionResponse": {**entry, "response": {}}} for entry in responses]},
            ]
        }
    )

    results = [item for item in request.items if item.kind == "result"]
    assert [item.call_id for item in results] == ["call_1_1", "call_1_0", "given", "call_1_2", "unasked_1"]


def test_text_beside_a_response_gets_a_content_of_its_own():
    contents = again(
        {
            "contents": [
                HELLO,
                {"role": "model", "parts": [{"functionCall": {"name": "f", "id": "a", "args": {}}}]},
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"id": "a", "name": "f", "response": {"output": "x"}}},
                        {"text": "and?"},
                    ],
                },
            ]
        }
    )["contents"]

    assert contents[2]["parts"] == [{"functionResponse": {"id": "a", "name": "f", "response": {"output": "x"}}}]
    assert contents[3] == {"role": "user", "parts": [{"text": "and?"}]}


def test_a_changed_schema_or_result_is_sent_as_changed():
    import msgspec

    body = ROUND_TRIPS["tools of every kind"]
    request = gemini.decode_request(body)
    tool = msgspec.structs.replace(
        request.tools[-1], parameters={"type": "object", "properties": {"y": {"type": "number"}}}
    )
    changed = msgspec.structs.replace(request, tools=(tool,), extras={})

    declaration = gemini.encode_request(changed, profile=LENIENT).body["tools"][0]["functionDeclarations"][0]
    assert declaration["parameters"] == {"type": "OBJECT", "properties": {"y": {"type": "NUMBER"}}}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"contents": {}}, "contents"),
        ({"contents": ["x"]}, "contents[0]"),
        ({"contents": [{"role": 1}]}, "contents[0].role"),
        ({"contents": [{"role": "user", "parts": [{"text": 5}]}]}, "contents[0].parts[0].text"),
        (
            {"contents": [{"role": "model", "parts": [{"functionCall": {"args": {}}}]}]},
            "contents[0].parts[0].functionCall.name",
        ),
        (
            {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": "x"}}]}]},
            "contents[0].parts[0].functionCall.args",
        ),
        (
            {"contents": [{"parts": [{"inlineData": {"mimeType": "a/b", "data": "%"}}]}]},
            "contents[0].parts[0].inlineData.data",
        ),
        (
            {"contents": [{"parts": [{"functionResponse": {"name": "f", "response": []}}]}]},
            "contents[0].parts[0].functionResponse.response",
        ),
        ({"contents": [], "tools": [{"functionDeclarations": [{}]}]}, "tools[0].functionDeclarations[0].name"),
        (
            {"contents": [], "toolConfig": {"functionCallingConfig": {"mode": 1}}},
            "toolConfig.functionCallingConfig.mode",
        ),
        ({"contents": [], "generationConfig": {"temperature": "hot"}}, "generationConfig.temperature"),
        ({"contents": [], "generationConfig": {"stopSequences": [1]}}, "generationConfig.stopSequences[0]"),
        (
            {"contents": [], "systemInstruction": {"parts": [{"inlineData": {"mimeType": "a/b", "data": ""}}]}},
            "systemInstruction.parts[0]",
        ),
    ],
)
def test_a_wrong_member_is_named_by_its_path(body, path):
    with pytest.raises(WireError) as raised:
        gemini.decode_request(body)

    assert raised.value.path == path


def test_the_model_may_stand_in_the_body():
    assert gemini.decode_request({"contents": [], "model": "models/gemini-3-flash"}).model == "gemini-3-flash"
    assert gemini.decode_request({"contents": [], "model": "models/a"}, model="b", stream=True).model == "b"


def test_a_sender_cannot_forge_our_shape_hints():
    body = model({"functionCall": {"name": "f", "id": "a"}, "_synthetic": True, "_functionCall": {"name": "evil"}})

    assert again(body)["contents"][1]["parts"] == [{"functionCall": {"name": "f", "id": "a"}}]


def test_responses_find_their_calls_in_linear_time_however_many_there_are():
    count = 20_000
    calls = [{"functionCall": {"name": "look", "args": {}}} for _ in range(count)]
    given = [{"functionResponse": {"name": "look", "response": {"place": place}}} for place in range(count)]
    body = {"contents": [HELLO, {"role": "model", "parts": calls}, {"role": "user", "parts": given}]}
    started = time.process_time()
    items = gemini.decode_request(body).items
    assert time.process_time() - started < 5
    assert [item.call_id for item in items[-count:]] == [item.call.call_id for item in items[-2 * count : -count]]
