import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire import ErrorType, ToolResult
from groundwire.codecs.mcp import decode_result, encode_result, is_block
from groundwire.contracts.results import ErrorInfo
from groundwire.mcp.upstream.tidying import raw_tools, tidy

WORDS = {"type": "text", "text": "words"}
IMAGE = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}
FILE = {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "blob": "aGVsbG8="}}
LINK = {"type": "resource_link", "uri": "file:///a", "name": "a"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "text", "content", "tools", "name", "isError", "resource"]), inner)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("data", "content", "structured"),
    [
        ({"a": 1}, [{"type": "text", "text": '{"a":1}'}], {"a": 1}),
        ([1, 2], [{"type": "text", "text": "[1,2]"}], None),
        ("plain", [{"type": "text", "text": "plain"}], None),
        (None, [{"type": "text", "text": "(no output)"}], None),
        (0, [{"type": "text", "text": "0"}], None),
        ({"content": [WORDS, IMAGE]}, [WORDS, IMAGE], None),
        ({"content": []}, [{"type": "text", "text": '{"content":[]}'}], {"content": []}),
        (
            {"content": [{"type": "text"}]},
            [{"type": "text", "text": '{"content":[{"type":"text"}]}'}],
            {"content": [{"type": "text"}]},
        ),
    ],
)
def test_data_becomes_content_and_structure(data, content, structured):
    encoded = encode_result(ToolResult.success(data))
    assert (encoded["content"], encoded.get("structuredContent"), encoded["isError"]) == (content, structured, False)


def test_a_failure_is_told_once_with_its_type_and_advice():
    first = ErrorInfo(type=ErrorType.RATE_LIMIT, message="Slowly. And again.", retryable=True, detail="BUSY")
    again = ErrorInfo(type=ErrorType.RATE_LIMIT, message="And again.")
    other = ErrorInfo(type=ErrorType.PERMANENT, message="Never.")
    encoded = encode_result(ToolResult(ok=False, errors=(first, again, other)))
    assert [block["text"] for block in encoded["content"]] == [
        "RATE_LIMIT (BUSY): Slowly. And again. The same call may succeed later.",
        "PERMANENT: Never.",
    ]
    assert (encoded["isError"], "structuredContent" in encoded) == (True, False)


@pytest.mark.parametrize(
    ("value", "data", "failed"),
    [
        ({"content": [WORDS], "structuredContent": {"a": 1}}, {"a": 1}, False),
        ({"content": [WORDS], "structuredContent": {"a": 1}, "isError": True}, "words", True),
        ({"content": [WORDS, WORDS]}, "words\nwords", False),
        ({"content": []}, None, False),
        ({"content": "bare"}, "bare", False),
        ({"content": [IMAGE]}, "(image, image/png, 6 bytes: not shown)", False),
        ({"content": [FILE]}, "(file file:///a, text/plain, 6 bytes: not shown)", False),
        ({"content": [LINK]}, {"content": [LINK]}, False),
        ({}, None, False),
    ],
)
def test_a_servers_result_becomes_data(value, data, failed):
    assert decode_result(value) == (data, failed)


def test_media_is_kept_where_that_is_wanted():
    assert decode_result({"content": [IMAGE, WORDS]}, keep_media=True) == ({"content": [IMAGE, WORDS]}, False)


@given(JSON)
def test_anything_that_a_server_sends_is_read(value):
    tidied = tidy(value)
    if isinstance(value, dict) and "content" in value and not isinstance(value.get("tools"), list):
        assert all(map(is_block, tidied["content"]))
        decode_result(tidied)
    for tool in raw_tools(value):
        assert isinstance(tool["name"], str)


def test_a_block_keeps_its_texts_only():
    noted = [{**WORDS, "annotations": 5}, {**FILE, "_meta": 1, "resource": FILE["resource"] | {"size": 5}}, 7]
    assert tidy({"content": noted})["content"] == [WORDS, FILE, {"type": "text", "text": "7"}]


def test_one_odd_tool_does_not_hide_the_others():
    good = {"name": "a", "inputSchema": {"type": "object", "properties": {"x": {"type": "string"}}}}
    listing = {"tools": [good, {"name": "b", "inputSchema": 5}, {"inputSchema": {}}, "c", None]}
    assert raw_tools(listing) == [good, {"name": "b", "inputSchema": 5}]
    assert tidy(listing)["tools"] == [good, {"name": "b", "inputSchema": {"type": "object", "properties": {}}}]
