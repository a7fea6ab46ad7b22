import pytest

from groundwire.contracts.errors import ConfigError, NotAllowed
from groundwire.contracts.keys import SCOPES, ApiKey, Caller, KeyLimit, caller_of


def caller(*scopes, **terms):
    return Caller(tenant="acme", key_id="key_1", scopes=frozenset(scopes), **terms)


def test_a_scope_allows_its_own_and_admin_allows_all():
    assert [scope for scope in SCOPES if caller("models", "tools").has_scope(scope)] == ["models", "tools"]
    assert [scope for scope in SCOPES if caller("admin").has_scope(scope)] == [*SCOPES]
    assert not any(caller().has_scope(scope) for scope in SCOPES)


def test_the_scope_api_contains_view_and_decide_and_neither_contains_the_other():
    assert [scope for scope in SCOPES if caller("api").has_scope(scope)] == ["view", "decide", "api"]
    assert [scope for scope in SCOPES if caller("view").has_scope(scope)] == ["view"]
    assert [scope for scope in SCOPES if caller("decide").has_scope(scope)] == ["decide"]
    assert not caller("view", "decide").has_scope("api")


@pytest.mark.parametrize(
    ("models", "names", "allowed"),
    [
        (("*",), ("anything",), True),
        ((), ("anything",), False),
        (("openai/*",), ("openai/gpt-5",), True),
        (("openai/*",), ("anthropic/claude",), False),
        (("openai/*",), ("gpt-5", "openai/gpt-5"), True),
        (("cheap",), ("cheap", "openai/gpt-5-mini"), True),
        (("gpt-?",), ("gpt-5",), True),
        (("gpt-?",), ("gpt-55",), False),
        (("GPT-5",), ("gpt-5",), False),
        (("a[b]*",), ("a[b]c",), True),
        (("a[b]*",), ("abc",), False),
    ],
)
def test_a_model_is_allowed_under_any_of_its_names(models, names, allowed):
    assert caller("models", models=models).may_use_model(*names) is allowed


def test_models_and_tools_take_their_scope_too():
    assert not caller("tools").may_use_model("any")
    assert not caller("models").may_use_tool("any")
    assert caller("tools", tools=("kb.*",)).may_use_tool("kb__search", "kb.search")
    assert not caller("tools", tools=("kb.*",)).may_use_tool("mail.send")
    assert caller("admin", tools=()).may_use_tool("any") is False


def test_a_check_says_what_is_missing():
    key = caller("models", "tools", models=("a",), tools=("a",))
    checks = {
        "scope": lambda: key.check_scope("api"),
        "model": lambda: key.check_model("b"),
        "tool": lambda: key.check_tool("b"),
    }
    for subject, check in checks.items():
        with pytest.raises(NotAllowed) as refused:
            check()
        assert (refused.value.code, refused.value.subject) == ("not_allowed", subject)
    with pytest.raises(NotAllowed) as refused:
        caller("tools").check_model("a")
    assert refused.value.subject == "scope"
    assert [key.check_scope("models"), key.check_model("a"), key.check_tool("a")] == [None, None, None]


def test_a_name_in_a_refusal_is_cut_to_a_bearable_length():
    with pytest.raises(NotAllowed) as refused:
        caller("models", models=()).check_model("m" * 100_000)
    assert len(refused.value.message) < 400


def test_a_caller_has_what_its_key_has():
    terms = {"models": ("m",), "tools": ("t",), "default_tools": ("d",), "limits": (KeyLimit("tokens", 1, "day"),)}
    key = ApiKey(key_id="key_1", tenant="acme", name="n", digest="d", prefix="p", scopes=("api",), **terms)
    assert caller_of(key) == caller("api", name="n", **terms)


def test_a_caller_is_called_like_its_key_and_by_the_id_of_one_without_a_name():
    key = ApiKey(key_id="key_1", tenant="acme", name="", digest="d", prefix="p", scopes=("api",))
    assert caller_of(key).name == "key_1"


def test_a_call_belongs_to_its_key_and_on_a_server_without_keys_to_the_local_person():
    assert caller().owner_id == "key_1"
    assert Caller(tenant="acme", key_id="", scopes=frozenset()).owner_id == "local"


@pytest.mark.parametrize("limit", [(-1, "day"), (float("inf"), "day"), (float("nan"), "day"), (1, 0), (1, -5)])
def test_a_limit_that_makes_no_sense_is_refused(limit):
    with pytest.raises(ConfigError):
        KeyLimit("requests", *limit)


def test_a_limit_reads_as_people_say_it():
    assert str(KeyLimit("requests", 60, "minute")) == "60 requests per minute"
    assert str(KeyLimit("money", 0.5, 90)) == "0.5 dollars per 90 seconds"
