import json

import pytest
from msgspec.structs import replace

from groundwire.codecs import gemini
from groundwire.codecs.caching import ToolCache
from groundwire.codecs.dialects import codec_of
from groundwire.codecs.wire.json import dump
from groundwire.contracts.errors import WireError
from groundwire.contracts.requests import DIALECTS
from tests.codecs.recordings import load, recordings


def chat(*names, text="hi", **more):
    tools = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
        for name in names
    ]
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], "tools": tools, **more}).encode()


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize(("dialect", "file"), recordings()[::3])
def test_with_a_cache_everything_is_read_and_written_as_without_one(dialect, file, target):
    cache = ToolCache()
    body, model = dump(load(file)["request"]), load(file)["model"]
    plain = codec_of(dialect).decode_request(body, model=model)
    wanted = codec_of(target).encode_request(plain)
    for _ in range(2):
        read = codec_of(dialect).decode_request(body, model=model, cache=cache)
        assert read == plain
        written = codec_of(target).encode_request(read, cache=cache, fragments=True)
        assert json.loads(dump(written.body)) == json.loads(dump(wanted.body))
        assert (written.warnings, written.names) == (wanted.warnings, wanted.names)


def test_the_same_bytes_give_the_same_tools_and_other_bytes_other_ones():
    cache = ToolCache()
    decode = codec_of("openai-chat").decode_request
    first, again = decode(chat("a"), cache=cache), decode(chat("a", text="other"), cache=cache)
    assert again.tools is first.tools
    assert again.items != first.items
    assert [tool.name for tool in decode(chat("b"), cache=cache).tools] == ["b"]


def test_each_profile_and_each_dialect_has_its_own_form_of_one_list():
    cache = ToolCache()
    request = codec_of("openai-chat").decode_request(chat("a", "b.c"), cache=cache)
    old, new = (gemini.profile_for(model) for model in ("gemini-2.0-flash", "gemini-3-pro"))
    forms = [
        json.loads(dump(gemini.encode_request(request, profile=profile, cache=cache).body))
        for profile in (old, new, old)
    ]
    assert forms[0] == forms[2]
    assert forms[0]["tools"] != forms[1]["tools"]
    renamed = replace(request, tools=request.tools[:1])
    assert (
        len(json.loads(dump(gemini.encode_request(renamed, cache=cache).body))["tools"][0]["functionDeclarations"]) == 1
    )


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"tools":', b'{"tools":[1],"messages":[]}', b"\xff", b'{"model":"m","tools":{}}']
)
def test_what_is_wrong_is_said_as_without_a_cache(body):
    decode = codec_of("openai-chat").decode_request
    with pytest.raises(WireError) as plain:
        decode(body)
    with pytest.raises(WireError) as cached:
        decode(body, cache=ToolCache())
    assert cached.value.message == plain.value.message


def test_only_so_many_lists_and_so_many_bytes_are_remembered():
    decode = codec_of("openai-chat").decode_request
    cache = ToolCache(size=2)
    first = decode(chat("a"), cache=cache)
    decode(chat("b"), cache=cache)
    assert decode(chat("a"), cache=cache).tools is first.tools
    decode(chat("c"), cache=cache)
    assert decode(chat("a"), cache=cache).tools is not first.tools
    small = ToolCache(max_total=200)
    kept = decode(chat("a"), cache=small)
    assert decode(chat("a"), cache=small).tools is kept.tools
    decode(chat("b"), cache=small)
    decode(chat("c"), cache=small)
    assert decode(chat("a"), cache=small).tools is not kept.tools
    strict = ToolCache(max_bytes=10)
    assert decode(chat("a"), cache=strict).tools is not decode(chat("a"), cache=strict).tools
