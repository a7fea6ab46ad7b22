"""What is hidden in a text, and what stays."""

import json

import pytest

from groundwire.contracts.redaction import HIDDEN, redact, redact_bytes, secrets_in

BODY = "Zk3xVn8Qw1Lr7Tp5"  # 16 characters, the least that a key of ours or OpenAI's is taken for


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"/v1/models/gw_{BODY}", "/v1/models/[hidden]"),
        (f"/v1/models/gw%5F{BODY}:generateContent", "/v1/models/[hidden]:generateContent"),
        (f"xxgw_{BODY}", "xx[hidden]"),
        (f"no model 'sk-ant-api03-{BODY}'", "no model '[hidden]'"),
        ("AIzaSyD3xVn8Qw1Lr7Tp5Yb2MabcdefghIJKLMN.", "[hidden]."),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw==", "[hidden]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.c2lnbmF0dXJl", "[hidden]"),
        ("authorization: Bearer abc", "authorization: [hidden]"),
        ("Bearer abcdefg1", "Bearer [hidden]"),
        ("basic dXNlcjpwYXNzd29yZA==", "basic [hidden]"),
        ("GET /v1beta/models?key=right&alt=sse", "GET /v1beta/models?key=[hidden]&alt=sse"),
        ('{"x-api-key": "right"}', '{"x-api-key": "[hidden]"}'),
        ("{'api_key': 'right', 'a': 1}", "{'api_key': '[hidden]', 'a': 1}"),
        ("postgresql://me:secret@host/db", "postgresql://me:[hidden]@host/db"),
        ("see postgres://me:se:cr@et@host:5432/db?x=1 there", "see postgres://me:[hidden]@host:5432/db?x=1 there"),
        ("postgresql://host/db?user=me&password=secret&x=1", "postgresql://host/db?user=me&password=[hidden]&x=1"),
        ("host=h password=secret", "host=h password=[hidden]"),
    ],
)
def test_a_credential_is_hidden_and_its_surroundings_stay(text, shown):
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing to hide",
        f"gw_{BODY[1:]}",
        f"sk-{BODY[1:]}",
        f"task-{BODY}",
        "resp_0123456789abcdef0123456789abcdef0123456789abcdef",
        "run_0123456789abcdef",
        "http://host:80/a@b",
        "Bearer authentication is required",
        "the scope api of this key: it takes that to look",
        "Unknown cursor 'x'. Use the `next` value.",
        "key: value",
        "東京 🗼",
    ],
)
def test_what_is_no_credential_stays(text):
    assert redact(text) == text


def test_given_secrets_are_hidden_whatever_they_look_like():
    assert redact("a correct horse", ["correct horse"]) == "a [hidden]"
    assert redact("a cat", ["cat"]) == "a cat"


def test_json_stays_json():
    told = {"error": f"Bearer {BODY}", "path": f'/"gw_{BODY}"', "key": f"?key={BODY}", "half": "\ud800", "x": "\\"}
    body = json.dumps(told).encode() + b"\xff"
    shown = redact_bytes(body)
    assert (shown[-1:], BODY.encode() in shown) == (b"\xff", False)
    assert json.loads(shown[:-1])["path"] == f'/"{HIDDEN}"'


def test_the_environments_secrets_are_known_by_the_names_of_their_variables():
    environ = {
        "A_API_KEY": "abcdef",
        "GROUNDWIRE_MASTER_KEY": "longer than that",
        "B_TOKEN": "short",
        "HOME": "/home/me",
    }
    assert secrets_in(environ) == ("longer than that", "abcdef")


def test_a_long_text_is_searched_in_a_time_that_grows_with_its_length():
    """Each of these begins like a credential at every character; a search that goes back would never end."""
    for piece in ("Bearer ", "key=", "sk-", "a://b:", "eyJ", "api_key:", "gw_", "?key", "a.", "-eyJ", "a.://"):
        text = piece * 20_000
        assert len(redact(text)) <= len(text) + len(HIDDEN) * 20_000
