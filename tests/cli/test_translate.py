import json
import re
import time

import pytest

from groundwire.cli import main
from tests.codecs.recordings import load, recordings

CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "seed": 7}
STREAM = ("openai-chat", "openai-chat/run-stream-sync-streams-real-model-t0.json")


def run(runner, body, *options):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return runner.invoke(main, ["translate", *options], input=data)


@pytest.fixture
def runner():
    from click.testing import CliRunner

    return CliRunner()


def test_a_request_is_written_in_the_other_api_and_losses_go_to_stderr(runner):
    done = run(runner, CHAT, "--from", "openai-chat", "--to", "anthropic")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    assert [json.loads(line)["code"] for line in done.stderr.splitlines()] == ["option_dropped"]


def test_canonical_shows_what_was_understood_the_same_every_time(runner):
    first, second = (run(runner, CHAT, "--from", "openai-chat", "--to", "canonical") for _ in range(2))
    assert first.stdout == second.stdout
    assert json.loads(first.stdout) == {
        "items": [{"kind": "message", "parts": [{"kind": "text", "text": "hi"}], "role": "user"}],
        "model": "m",
        "sampling": {"seed": 7},
    }


def test_a_response_and_a_stream_are_translated_too(runner):
    recording = load("openai-chat/prefect-agent-with-hitl-tool-sync-t1.json")
    done = run(runner, recording["response"], "--from", "openai-chat", "--to", "gemini", "--kind", "response")
    assert "has been deleted" in json.loads(done.stdout)["candidates"][0]["content"]["parts"][0]["text"]
    stream = load(STREAM[1])["response"].encode()
    done = run(runner, stream, "--from", "openai-chat", "--to", "anthropic", "--kind", "stream")
    assert done.stdout.startswith("event: message_start\n")
    assert done.stdout.rstrip().endswith('data: {"type":"message_stop"}')
    done = run(runner, stream, "--from", "openai-chat", "--to", "canonical", "--kind", "stream")
    assert json.loads(done.stdout)["finish"]["reason"] == "tool_calls"


def test_the_model_of_a_gemini_request_comes_from_the_command_line(runner):
    body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    done = run(runner, body, "--from", "gemini", "--to", "openai-chat", "--model", "gpt-x")
    assert json.loads(done.stdout)["model"] == "gpt-x"


@pytest.mark.parametrize(
    ("body", "kind", "code", "words"),
    [
        (b"{", "request", "invalid_body", "not JSON"),
        (b"\xff\xfe\x00", "request", "invalid_body", "not JSON"),
        (
            b'{"model":"m","messages":[{"role":"user","content":[{"type":"text"}]}]}',
            "request",
            "invalid_body",
            r"messages\[0\]",
        ),
        (b"no events here", "stream", "invalid_body", "no events"),
    ],
)
def test_bad_input_ends_with_a_named_error_and_exit_code_one(runner, body, kind, code, words):
    done = run(runner, body, "--from", "openai-chat", "--to", "canonical", "--kind", kind)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"error[{code}]:")
    assert re.search(words, done.stderr)


@pytest.mark.parametrize(("dialect", "file"), recordings(stream=False)[::6])
def test_recordings_pass_through_the_command_as_through_the_library(runner, dialect, file):
    from groundwire.codecs.dialects import translate

    recording = load(file)
    body = json.dumps(recording["request"]).encode()
    done = run(runner, body, "--from", dialect, "--to", "openai-responses", "--model", recording["model"])
    assert done.exit_code == 0
    assert done.stdout.encode().rstrip() == translate(body, dialect, "openai-responses", model=recording["model"]).body


@pytest.mark.parametrize("kind", ["response", "stream"])
def test_the_model_of_an_answer_can_be_another_too(runner, kind):
    recording = load(STREAM[1] if kind == "stream" else "openai-chat/prefect-agent-with-hitl-tool-sync-t1.json")
    body = recording["response"].encode() if kind == "stream" else recording["response"]
    done = run(runner, body, "--from", "openai-chat", "--to", "canonical", "--kind", kind, "--model", "own")
    assert json.loads(done.stdout)["model"] == "own"


@pytest.mark.parametrize(
    ("body", "options", "hint"),
    [
        ({"contents": []}, ("--from", "openai-chat"), "this looks like a request of gemini: say --from gemini"),
        ({**CHAT, "system": "s"}, ("--from", "openai-chat"), "a request of anthropic: say --from anthropic"),
        (
            {"choices": []},
            ("--from", "anthropic"),
            "this looks like a response of openai-chat: say --from openai-chat --kind response",
        ),
        ({"choices": []}, ("--from", "openai-chat"), "a response of openai-chat: say --kind response"),
        (b"data: {}\n\n", ("--from", "openai-chat"), "this looks like a stream: say --kind stream"),
        ({"contents": []}, ("--from", "gemini"), "name the model with --model"),
    ],
)
def test_what_was_perhaps_meant_is_pointed_out(runner, body, options, hint):
    done = run(runner, body, *options, "--to", "openai-responses")
    assert done.exit_code == 1
    assert hint in done.stderr.partition("hint:")[2]


def test_a_stream_that_was_cut_is_written_as_far_as_it_came_and_the_command_fails(runner):
    stream = load(STREAM[1])["response"].encode()
    events = stream.split(b"\n\n")
    cut = b"\n\n".join(events[:3]) + b"\n\n"
    for target in ("anthropic", "openai-responses", "canonical"):
        done = run(runner, cut, "--from", "openai-chat", "--to", target, "--kind", "stream")
        assert done.exit_code == 1
        assert done.stdout
        assert (
            done.stderr.splitlines()[-1] == "error[provider_error]: The stream was cut before its end. (bad_response)"
        )
    assert json.loads(done.stdout)["finish"]["reason"] == "incomplete"


def test_an_error_inside_a_stream_is_written_and_the_command_fails(runner):
    body = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"error":{"message":"quota"}}\n\n'
    done = run(runner, body, "--from", "openai-chat", "--to", "anthropic", "--kind", "stream")
    assert done.exit_code == 1
    assert '"type":"error"' in done.stdout
    assert done.stderr.splitlines()[-1] == "error[provider_error]: quota (server, status 500)"


def test_an_answer_without_a_time_gets_the_present_one(runner):
    body = {"candidates": [{"content": {"role": "model", "parts": [{"text": "a"}]}, "finishReason": "STOP"}]}
    before = int(time.time())
    done = run(runner, body, "--from", "gemini", "--to", "openai-chat", "--kind", "response")
    assert before <= json.loads(done.stdout)["created"] <= time.time()


def test_an_error_instead_of_an_answer_is_written_in_the_other_api_and_the_command_fails(runner):
    body = {"error": {"message": "Slow down.", "type": "rate_limit_error", "code": "rate_limit_exceeded"}}
    done = run(runner, body, "--from", "openai-chat", "--to", "gemini", "--kind", "response")
    assert done.exit_code == 1
    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["message"], error["status"]) == (429, "Slow down.", "RESOURCE_EXHAUSTED")
    assert done.stderr == "error[provider_error]: Slow down. (rate_limit, status 429)\n"
    done = run(runner, body, "--from", "openai-chat", "--to", "canonical", "--kind", "response")
    assert (done.exit_code, json.loads(done.stdout)["kind"]) == (1, "rate_limit")


@pytest.mark.parametrize("nothing", [b"", b" \n"])
def test_an_empty_input_is_named_as_that(runner, nothing):
    done = run(runner, nothing, "--from", "openai-chat", "--to", "gemini")
    assert done.exit_code == 1
    assert done.stderr == (
        "error[invalid_json]: There was nothing on standard input.\nhint: pipe it in, or name a file behind <\n"
    )


def test_a_file_as_an_argument_is_pointed_to_standard_input(runner):
    done = run(runner, CHAT, "--from", "openai-chat", "--to", "gemini", "body.json")
    assert done.exit_code == 2
    assert "translate reads standard input: groundwire translate … < body.json" in done.stderr


def test_canonical_output_has_no_notes_of_codecs_in_it(runner):
    body = {"model": "m", "input": "hi", "stream": False, "store": False, "metadata": {"_own": "kept"}}
    done = run(runner, body, "--from", "openai-responses", "--to", "canonical")
    assert json.loads(done.stdout)["extras"] == {"openai-responses": {"metadata": {"_own": "kept"}, "store": False}}
    del body["store"], body["metadata"]
    assert "extras" not in json.loads(run(runner, body, "--from", "openai-responses", "--to", "canonical").stdout)
