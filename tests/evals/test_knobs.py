"""Every variable of the environment, under its name."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.contracts.errors import ConfigError
from groundwire.evals.knobs import MAX_JOBS, MAX_TRIALS, Knobs, read_knobs
from groundwire.evals.planning import SamplingProfile


def test_without_any_variable_everything_is_at_its_default():
    assert read_knobs({}) == Knobs()
    assert read_knobs({"OPENROUTER_TRIALS": "", "OPENROUTER_SCENARIOS": " "}) == Knobs()


@pytest.mark.requirement("C-118", "C-121", "C-120", "C-116", "C-114")
def test_the_defaults_are_one_trial_one_worker_applicability_enforced_and_progress_told():
    knobs = read_knobs({})
    assert (knobs.trials, knobs.jobs, knobs.enforce_applicability) == (1, 1, True)
    assert (knobs.profiles, knobs.verbose, knobs.http_adapter) == ("default", 1, "httpx")
    assert knobs.settings == {}


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        pytest.param(
            "OPENROUTER_MODEL_FILTER", "openai,!x", "models", "openai,!x", marks=pytest.mark.requirement("C-052")
        ),
        pytest.param("OPENROUTER_TRIALS", "10", "trials", 10, marks=pytest.mark.requirement("C-061")),
        pytest.param("OPENROUTER_SCENARIOS", "all", "scenarios", "all", marks=pytest.mark.requirement("C-062")),
        pytest.param("OPENROUTER_JOBS", "3", "jobs", 3, marks=pytest.mark.requirement("C-063")),
        pytest.param(
            "OPENROUTER_FALLBACK_MATRIX",
            "1",
            "strategies",
            "fallback_off,fallback_on",
            marks=pytest.mark.requirement("C-064", "C-119"),
        ),
        pytest.param(
            "OPENROUTER_FALLBACK_MATRIX", "0", "strategies", "default", marks=pytest.mark.requirement("C-064")
        ),
        pytest.param(
            "OPENROUTER_SAMPLING_PROFILE_FILTER",
            "recommended",
            "profiles",
            "recommended",
            marks=pytest.mark.requirement("C-071"),
        ),
        pytest.param(
            "OPENROUTER_SAMPLING_PROFILE_ENFORCE_APPLICABILITY",
            "0",
            "enforce_applicability",
            False,
            marks=pytest.mark.requirement("C-121"),
        ),
        pytest.param(
            "OPENROUTER_HTTP_ADAPTER", "default", "http_adapter", "default", marks=pytest.mark.requirement("C-114")
        ),
        pytest.param("VERBOSE", "0", "verbose", 0, marks=pytest.mark.requirement("C-115")),
        pytest.param("VERBOSE", "2", "verbose", 2, marks=pytest.mark.requirement("C-117")),
        pytest.param("OPENROUTER_TEMPERATURE", "0.2", "temperature", 0.2, marks=pytest.mark.requirement("C-123")),
        pytest.param("OPENROUTER_TOP_P", "0.9", "top_p", 0.9, marks=pytest.mark.requirement("C-124")),
        pytest.param("OPENROUTER_TOP_K", "20", "top_k", 20, marks=pytest.mark.requirement("C-125")),
        pytest.param("OPENROUTER_MIN_P", "0.05", "min_p", 0.05, marks=pytest.mark.requirement("C-126")),
    ],
)
def test_a_variable_sets_its_field(name, text, field, value):
    assert read_knobs({name: text}) == Knobs(**{field: value})


@pytest.mark.parametrize(
    ("name", "text", "settings"),
    [
        pytest.param(
            "OPENROUTER_FIX_EMPTY_FINAL", "1", {"fix_empty_final": True}, marks=pytest.mark.requirement("C-070")
        ),
        pytest.param(
            "OPENROUTER_FIX_EMPTY_FINAL", "0", {"fix_empty_final": False}, marks=pytest.mark.requirement("C-159")
        ),
        pytest.param(
            "OPENROUTER_TOOL_USE_MODE",
            "enforced",
            {"tool_use_mode": "enforced"},
            marks=pytest.mark.requirement("C-129"),
        ),
        pytest.param(
            "OPENROUTER_TOOL_USE_MODE", "relaxed", {"tool_use_mode": "relaxed"}, marks=pytest.mark.requirement("C-129")
        ),
        pytest.param(
            "OPENROUTER_TOOL_USE_MODE",
            "disabled",
            {"tool_use_mode": "disabled"},
            marks=pytest.mark.requirement("C-129"),
        ),
        pytest.param(
            "OPENROUTER_TOOL_FAILURE_POLICY",
            "tolerated",
            {"tool_failure_policy": "tolerated"},
            marks=pytest.mark.requirement("C-134"),
        ),
        pytest.param(
            "OPENROUTER_TOOL_CALLING_FALLBACK_RETRY_COUNT",
            "2",
            {"fallback_retry_count": 2},
            marks=pytest.mark.requirement("C-145"),
        ),
        pytest.param(
            "OPENROUTER_TOOL_ALLOWLIST",
            "state_get, state_patch",
            {"tool_allowlist": ["state_get", "state_patch"]},
            marks=pytest.mark.requirement("C-148"),
        ),
        pytest.param(
            "OPENROUTER_TOOL_ALLOWLIST", "all", {"tool_allowlist": ["all"]}, marks=pytest.mark.requirement("C-149")
        ),
        pytest.param(
            "OPENROUTER_ENABLE_CONTENT_TAG_TOOL_CALL_FALLBACK",
            "1",
            {"response_transforms": ["assistant_content_tool_call_tags_to_tool_calls"]},
            marks=pytest.mark.requirement("C-128"),
        ),
        pytest.param(
            "OPENROUTER_ROUTE",
            "fallback",
            {"request_overrides": {"route": "fallback"}},
            marks=pytest.mark.requirement("C-167"),
        ),
        pytest.param(
            "OPENROUTER_TRANSFORMS",
            "middle-out, x",
            {"request_overrides": {"transforms": ["middle-out", "x"]}},
            marks=pytest.mark.requirement("C-168"),
        ),
        pytest.param(
            "OPENROUTER_PROVIDER_ONLY",
            "a,b",
            {"request_overrides": {"provider": {"only": ["a", "b"]}}},
            marks=pytest.mark.requirement("C-169"),
        ),
        pytest.param(
            "OPENROUTER_PROVIDER_ORDER",
            "b,a",
            {"request_overrides": {"provider": {"order": ["b", "a"]}}},
            marks=pytest.mark.requirement("C-170"),
        ),
        pytest.param(
            "OPENROUTER_PROVIDER_IGNORE",
            "c",
            {"request_overrides": {"provider": {"ignore": ["c"]}}},
            marks=pytest.mark.requirement("C-171"),
        ),
        pytest.param(
            "OPENROUTER_REQUEST_OVERRIDES_JSON",
            '{"max_tokens":9}',
            {"request_overrides": {"max_tokens": 9}},
            marks=pytest.mark.requirement("C-172"),
        ),
        pytest.param(
            "OPENROUTER_LLM_OPTIONS_DEFAULTS_JSON",
            '{"max_tokens":9}',
            {"request_overrides": {"max_tokens": 9}},
            marks=pytest.mark.requirement("C-122"),
        ),
    ],
)
def test_a_variable_sets_a_setting_of_every_trial(name, text, settings):
    assert read_knobs({name: text}) == Knobs(settings=settings)


@pytest.mark.requirement("C-122", "C-123", "C-172")
def test_a_variable_of_its_own_wins_over_defaults_and_the_body_has_the_last_word():
    knobs = read_knobs(
        {
            "OPENROUTER_LLM_OPTIONS_DEFAULTS_JSON": '{"temperature": 1.5, "top_p": 0.5, "seed": 7, "route": "a"}',
            "OPENROUTER_TEMPERATURE": "0.1",
            "OPENROUTER_ROUTE": "b",
            "OPENROUTER_REQUEST_OVERRIDES_JSON": '{"seed": 8}',
        }
    )
    assert (knobs.temperature, knobs.top_p) == (0.1, 0.5)
    assert knobs.settings == {"request_overrides": {"seed": 8, "route": "b"}}


@pytest.mark.requirement("C-122", "C-126")
def test_global_sampling_stands_above_every_profile():
    warm = SamplingProfile(id="warm", temperature=0.9, top_p=0.8, applies_to=("acme/*",))
    assert Knobs(temperature=0.0, min_p=0.1).over(warm) == SamplingProfile(
        id="warm", temperature=0.0, top_p=0.8, min_p=0.1, applies_to=("acme/*",)
    )
    assert Knobs().over(warm) is warm


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("OPENROUTER_TRIALS", "0", f"OPENROUTER_TRIALS must be a whole number from 1 to {MAX_TRIALS}, not '0'."),
        (
            "OPENROUTER_TRIALS",
            str(MAX_TRIALS + 1),
            f"OPENROUTER_TRIALS must be a whole number from 1 to {MAX_TRIALS}, not '100001'.",
        ),
        ("OPENROUTER_TRIALS", "ten", f"OPENROUTER_TRIALS must be a whole number from 1 to {MAX_TRIALS}, not 'ten'."),
        ("OPENROUTER_TRIALS", "٣", f"OPENROUTER_TRIALS must be a whole number from 1 to {MAX_TRIALS}, not '٣'."),
        (
            "OPENROUTER_JOBS",
            str(MAX_JOBS + 1),
            f"OPENROUTER_JOBS must be a whole number from 1 to {MAX_JOBS}, not '65'.",
        ),
        ("OPENROUTER_JOBS", "1.5", f"OPENROUTER_JOBS must be a whole number from 1 to {MAX_JOBS}, not '1.5'."),
        ("VERBOSE", "3", "VERBOSE must be a whole number from 0 to 2, not '3'."),
        ("OPENROUTER_FALLBACK_MATRIX", "maybe", "OPENROUTER_FALLBACK_MATRIX must be 1 or 0, not 'maybe'."),
        ("OPENROUTER_FIX_EMPTY_FINAL", "2", "OPENROUTER_FIX_EMPTY_FINAL must be 1 or 0, not '2'."),
        ("OPENROUTER_TEMPERATURE", "2.1", "OPENROUTER_TEMPERATURE must be a number from 0 to 2, not '2.1'."),
        ("OPENROUTER_TEMPERATURE", "nan", "OPENROUTER_TEMPERATURE must be a number from 0 to 2, not 'nan'."),
        ("OPENROUTER_TOP_P", "-0.1", "OPENROUTER_TOP_P must be a number from 0 to 1, not '-0.1'."),
        ("OPENROUTER_TOP_K", "0.5", "OPENROUTER_TOP_K must be a whole number from 0 to 10000, not '0.5'."),
        ("OPENROUTER_MIN_P", "inf", "OPENROUTER_MIN_P must be a number from 0 to 1, not 'inf'."),
        ("OPENROUTER_HTTP_ADAPTER", "curl", "OPENROUTER_HTTP_ADAPTER must be one of httpx, default, not 'curl'."),
        (
            "OPENROUTER_TOOL_USE_MODE",
            "enforce",
            "OPENROUTER_TOOL_USE_MODE must be one of enforced, relaxed, disabled, not 'enforce'.",
        ),
        (
            "OPENROUTER_TOOL_FAILURE_POLICY",
            "x",
            "OPENROUTER_TOOL_FAILURE_POLICY must be one of fatal, tolerated, not 'x'.",
        ),
        ("OPENROUTER_REQUEST_OVERRIDES_JSON", "[1]", "OPENROUTER_REQUEST_OVERRIDES_JSON must be a JSON object."),
        (
            "OPENROUTER_LLM_OPTIONS_DEFAULTS_JSON",
            '{"temperature": "hot"}',
            "OPENROUTER_LLM_OPTIONS_DEFAULTS_JSON: temperature must be a number from 0 to 2, not 'hot'.",
        ),
        (
            "OPENROUTER_CLIENT_TIMEOUT",
            "soon",
            "OPENROUTER_CLIENT_TIMEOUT must be a number of seconds, 0 or more, not 'soon'.",
        ),
        (
            "OPENROUTER_BASE_URL",
            "openrouter.ai",
            "OPENROUTER_BASE_URL must be an address with http:// or https://, not 'openrouter.ai'.",
        ),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_the_name_of_its_variable(name, text, message):
    environ = {"OPENROUTER_API_KEY": "sk-secret", name: text}
    with pytest.raises(ConfigError) as caught:
        read_knobs(environ)
    assert caught.value.message == message


def test_broken_json_is_refused_without_showing_it():
    with pytest.raises(ConfigError, match="OPENROUTER_REQUEST_OVERRIDES_JSON is not JSON") as caught:
        read_knobs({"OPENROUTER_REQUEST_OVERRIDES_JSON": '{"key": "sk-secret'})
    assert "sk-secret" not in str(caught.value)


def test_no_key_is_among_the_knobs():
    assert read_knobs({"OPENROUTER_API_KEY": "sk-secret"}) == Knobs()


VARIABLES = [
    *(f"OPENROUTER_{name}" for name in (
        "MODEL_FILTER", "TRIALS", "SCENARIOS", "JOBS", "FALLBACK_MATRIX", "SAMPLING_PROFILE_FILTER",
        "SAMPLING_PROFILE_ENFORCE_APPLICABILITY", "FIX_EMPTY_FINAL", "BASE_URL", "API_PREFIX", "CLIENT_TIMEOUT",
        "OPEN_TIMEOUT", "READ_TIMEOUT", "HTTP_ADAPTER", "LLM_OPTIONS_DEFAULTS_JSON", "TEMPERATURE", "TOP_P", "TOP_K",
        "MIN_P", "ENABLE_CONTENT_TAG_TOOL_CALL_FALLBACK", "TOOL_USE_MODE", "TOOL_FAILURE_POLICY",
        "TOOL_CALLING_FALLBACK_RETRY_COUNT", "TOOL_ALLOWLIST", "ROUTE", "TRANSFORMS", "PROVIDER_ONLY", "PROVIDER_ORDER",
        "PROVIDER_IGNORE", "REQUEST_OVERRIDES_JSON",
    )),
    "VERBOSE",
]  # fmt: skip


@given(name=st.sampled_from(VARIABLES), text=st.text() | st.integers().map(str) | st.floats().map(str))
def test_any_text_in_a_variable_is_read_or_refused_by_its_name(name, text):
    try:
        knobs = read_knobs({"OPENROUTER_API_KEY": "k", name: text})
    except ConfigError as error:
        assert error.message.startswith(name)  # noqa: PT017 - either outcome is right
    else:
        assert msgspec.convert(msgspec.to_builtins(knobs), Knobs) == knobs
