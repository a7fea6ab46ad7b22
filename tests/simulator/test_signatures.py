import base64

import pytest

from groundwire.simulator.signatures import (
    family_of,
    is_call_signature,
    is_text_signature,
    seal,
    sign_call,
    sign_text,
    unseal,
)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gemini-3-flash", "gemini-3"),
        ("models/gemini-3.1-pro-preview", "gemini-3"),
        ("gemini-2.5-flash", "gemini-2"),
        ("claude-opus-4-6", "claude"),
        ("gpt-5.2", "gpt-5"),
        ("", ""),
    ],
)
def test_models_that_read_each_others_signatures_are_one_family(model, family):
    assert family_of(model) == family


def test_a_signature_holds_for_its_call_and_family_however_the_arguments_are_spelled():
    signature = sign_call("gemini-3-flash", "f", {"a": 1, "b": "x"})
    assert is_call_signature(signature, "gemini-3-pro", "f", {"b": "x", "a": 1.0})
    assert is_call_signature(
        signature.replace("+", "-").replace("/", "_").rstrip("="), "gemini-3-pro", "f", {"a": 1, "b": "x"}
    )


@pytest.mark.parametrize(
    ("model", "name", "arguments"),
    [("gemini-2.5-pro", "f", {"a": 1}), ("gemini-3-pro", "g", {"a": 1}), ("gemini-3-pro", "f", {"a": 2})],
)
def test_a_signature_of_another_call_or_family_is_foreign(model, name, arguments):
    assert not is_call_signature(sign_call("gemini-3-pro", "f", {"a": 1}), model, name, arguments)


@pytest.mark.parametrize("placeholder", ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"])
def test_the_documented_placeholders_pass_in_base64_and_plainly(placeholder):
    for signature in (placeholder, base64.b64encode(placeholder.encode()).decode()):
        assert is_call_signature(signature, "gemini-3-pro", "f", {})


@pytest.mark.parametrize("signature", ["", "%%%", "QUJD", "skip_thought_signature_validatoR"])
def test_anything_else_is_no_signature(signature):
    assert not is_call_signature(signature, "gemini-3-pro", "f", {})


def test_thoughts_are_signed_with_their_text():
    signature = sign_text("claude-opus-4-6", "hm")
    assert is_text_signature(signature, "claude-sonnet-5", "hm")
    assert not is_text_signature(signature, "claude-opus-4-6", "hm!")


def test_a_seal_gives_back_what_it_holds_and_notices_every_change():
    token = seal("gpt-5.2", "thoughts, über alles")
    assert unseal(token, "gpt-5.4") == "thoughts, über alles"
    data = bytearray(base64.b64decode(token))
    data[-1] ^= 1
    assert unseal(base64.b64encode(bytes(data)).decode(), "gpt-5.4") is None
    assert unseal(token, "gpt-6") is None
    assert unseal("QUJD", "gpt-5.2") is None
