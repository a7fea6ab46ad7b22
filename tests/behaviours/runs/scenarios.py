"""What models say, and what a run must come to. Each scenario is played by `test_matrix` in every upstream that can say it."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from groundwire import Outcome
from groundwire.testing import Answer, Ask, FaultKind, FinishReason
from tests.behaviours.runs.stage import IN_PROCESS

OSLO = Ask("get_weather", {"city": "Oslo"})
ROME = Ask("get_weather", {"city": "Rome"})
OK = "get_weather ok"
SKY = {
    "type": "object",
    "properties": {"sky": {"type": "string"}},
    "required": ["sky"],
    "additionalProperties": False,
}
NO_ANSWER = "The model gave no answer."


@dataclass(frozen=True)
class Scenario:
    """`results` are the calls that were dispatched, each with `ok` or its error; `requests` how often the model was asked."""

    answers: tuple[Answer | str, ...]
    outcome: Outcome = Outcome.COMPLETED
    text: str = "Done."
    results: tuple[str, ...] = ()
    requests: int | None = None
    faults: dict[int, FaultKind] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    unsaid: dict[str, str] = field(default_factory=dict)
    """Upstreams that cannot say such a thing, and why."""


def calls(*asks: Ask, **more: Any) -> Answer:
    return Answer(calls=asks, **more)


def settings(**values: Any) -> dict[str, Any]:
    return {"settings": values}


def limits(**values: Any) -> dict[str, Any]:
    return {"limits": values}


COVERAGE = [
    pytest.param(
        Scenario((calls(Ask("get_weather", {})), calls(OSLO), "Done."), results=("get_weather VALIDATION/MISSING_ARGUMENT", OK)),
        id="a_missing_argument_is_corrected",
        marks=pytest.mark.requirement("C-196", "C-045", "C-046"),
    ),
    pytest.param(
        Scenario((calls(Ask("get_weather", raw='{"city": ')), calls(OSLO), "Done."), results=("get_weather VALIDATION/INVALID_JSON", OK)),
        id="arguments_that_are_no_json_are_corrected",
        marks=pytest.mark.requirement("C-197"),
    ),
    pytest.param(
        Scenario(
            (calls(Ask("get_weather", {"city": "Oslo", "days": "two"})), calls(OSLO), "Done."),
            results=("get_weather VALIDATION/TYPE_MISMATCH", OK),
        ),
        id="a_wrong_type_is_corrected",
        marks=pytest.mark.requirement("C-198"),
    ),
    pytest.param(
        Scenario(
            (
                calls(Ask("patch_state", {"path": "/elsewhere", "value": 1})),
                calls(Ask("patch_state", {"path": "/notes/a", "value": 1})),
                "Done.",
            ),
            results=("patch_state VALIDATION/INVALID_PATH", "patch_state ok"),
        ),
        id="a_wrong_path_is_corrected",
        marks=pytest.mark.requirement("C-198"),
    ),
    pytest.param(
        Scenario((calls(OSLO, ROME), "Done."), results=(OK, OK), faults={0: FaultKind.DUPLICATE_IDS}),
        id="two_calls_of_one_answer_under_one_id_both_run",
        marks=pytest.mark.requirement("C-199"),
    ),
    pytest.param(
        Scenario(
            (
                calls(Ask("get_weather", {"city": "Oslo"}, call_id="call_0")),
                calls(Ask("get_weather", {"city": "Rome"}, call_id="call_0")),
                calls(Ask("get_weather", {"city": "Rome"}, call_id="call_0")),
                "Done.",
            ),
            results=(OK, OK, OK),
        ),
        id="an_id_that_every_answer_uses_again_is_a_new_call_each_time",
        marks=pytest.mark.requirement("C-199"),
    ),
    pytest.param(
        Scenario(
            (calls(Ask("get_weather", {"city": "O" * 60})), calls(OSLO), "Done."),
            results=("get_weather ARGUMENTS_TOO_LARGE", OK),
            options=settings(max_tool_args_bytes=50),
        ),
        id="arguments_that_are_too_large_are_replaced",
        marks=pytest.mark.requirement("C-200", "C-139"),
    ),
    pytest.param(
        Scenario(
            (calls(Ask("read_book", {"pages": 30})), calls(Ask("read_book", {"pages": 2})), "Done."),
            results=("read_book TOOL_OUTPUT_TOO_LARGE", "read_book ok"),
            options=settings(max_tool_output_bytes=100),
        ),
        id="an_output_that_is_too_large_is_replaced",
        marks=pytest.mark.requirement("C-201", "C-141"),
    ),
    pytest.param(
        Scenario(
            (calls(Ask("no_such_tool", offered=False)), calls(OSLO), "Done."),
            results=("no_such_tool NOT_FOUND/UNKNOWN_TOOL", OK),
        ),
        id="a_tool_that_does_not_exist_is_not_found",
        marks=pytest.mark.requirement("C-046", "C-027"),
    ),
    pytest.param(
        Scenario((Answer("Let me see.", (OSLO, ROME)), calls(Ask("read_book", {"pages": 1})), "Done."), results=(OK, OK, "read_book ok")),
        id="several_steps_and_several_calls_in_one_come_to_an_end",
        marks=pytest.mark.requirement("C-047", "C-035", "C-036", "C-028"),
    ),
]  # fmt: skip

NO_REASON = "it has no reason to stop of that name"
ONLY_GEMINI = dict.fromkeys(("openai-chat", "openai-responses", "anthropic"), "only Gemini reads the calls itself")
ONLY_TEXT = dict.fromkeys(
    ("anthropic", "gemini", "gemini-2.0"), "what it says instead of an answer is text like any other"
)
THOUGHT = Answer(reasoning="Let me think about the weather.")
CUT = Answer("Half an ans", finish=FinishReason.LENGTH)
MALFORMED = Answer(finish=FinishReason.MALFORMED_CALL)
BROKEN = Answer("Somethi", finish=FinishReason.INCOMPLETE)
FORBIDDEN = Answer("I would r", finish=FinishReason.CONTENT_FILTER)
AGAIN = Ask("get_weather", {"city": "Oslo"}, offered=False)
GOING_ROUND = (calls(AGAIN),) * 7
ROUND_RESULTS = (
    OK,
    OK,
    *("get_weather LOOP_DETECTED/REPEATED_CALL",) * 2,
    *("get_weather NOT_FOUND/UNKNOWN_TOOL",) * 3,
)
BAD_PATCH = calls(Ask("patch_state", {"path": "/x", "value": 1}))
BAD = "patch_state VALIDATION/INVALID_PATH"
ENFORCED = settings(tool_use_mode="enforced")

OUTCOMES = [
    pytest.param(Scenario((calls(OSLO), "Done."), results=(OK,)), id="completed"),
    pytest.param(
        Scenario(("Done.",), Outcome.NO_TOOL_CALL, options=ENFORCED),
        id="no_tool_call",
        marks=pytest.mark.requirement("C-130"),
    ),
    pytest.param(
        Scenario((BAD_PATCH, "Done."), Outcome.TOOL_FAILED, results=(BAD,), options=ENFORCED),
        id="tool_failed",
        marks=pytest.mark.requirement("C-136"),
    ),
    pytest.param(
        Scenario((BAD_PATCH, "Done."), results=(BAD,)),
        id="completed_with_a_failed_tool_where_tools_are_best_effort",
        marks=pytest.mark.requirement("C-131"),
    ),
    pytest.param(
        Scenario((Answer(), Answer(), Answer()), Outcome.EMPTY_ANSWER, NO_ANSWER),
        id="empty_answer",
    ),
    pytest.param(
        Scenario((calls(OSLO), Answer(), "Done."), results=(OK,)),
        id="completed_after_an_empty_answer",
        marks=pytest.mark.requirement("C-157"),
    ),
    pytest.param(
        Scenario((calls(OSLO), "Lost.", "Done."), results=(OK,), faults={1: FaultKind.EMPTY}),
        id="completed_after_an_answer_that_came_without_content",
        marks=pytest.mark.requirement("C-157"),
    ),
    pytest.param(Scenario((THOUGHT, THOUGHT, THOUGHT), Outcome.THINKING_ONLY, NO_ANSWER), id="thinking_only"),
    pytest.param(Scenario((THOUGHT, "Done.")), id="completed_after_nothing_but_thoughts"),
    pytest.param(
        Scenario(
            (Answer("Wait.", (OSLO,)), "Done."),
            results=(OK,),
            faults={0: FaultKind.THINKING_LEAK, 1: FaultKind.THINKING_LEAK},
        ),
        id="completed_with_thoughts_that_leaked_into_the_text",
        marks=pytest.mark.requirement("A-166"),
    ),
    pytest.param(
        Scenario(("<think>I do not know yet", "  <think>Nor now.</think>\n", "Done.")),
        id="completed_after_nothing_but_thoughts_in_the_text",
        marks=pytest.mark.requirement("A-166"),
    ),
    pytest.param(
        Scenario(("Write <think> before it and </think> behind.",), text="Write <think> before it and </think> behind."),
        id="completed_with_words_about_tags",
        marks=pytest.mark.requirement("A-166"),
    ),
    pytest.param(
        Scenario((MALFORMED,) * 3, Outcome.MALFORMED_CALL, "This could not be done: the model's call could not be read.", unsaid=ONLY_GEMINI),
        id="malformed_call",
    ),
    pytest.param(
        Scenario((calls(OSLO), calls(OSLO), "Done."), results=(OK,), faults={0: FaultKind.MALFORMED_CALL}, unsaid={IN_PROCESS: "it has no wire", **ONLY_GEMINI}),
        id="completed_after_a_malformed_function_call",
    ),
    pytest.param(
        Scenario(
            (calls(OSLO), calls(OSLO), "Done."),
            results=("get_weather VALIDATION/INVALID_JSON", OK),
            faults={0: FaultKind.MALFORMED_CALL},
            unsaid=dict.fromkeys(("gemini", "gemini-2.0"), "it says that the call was malformed, and not how"),
        ),
        id="completed_after_a_call_that_is_no_json",
        marks=pytest.mark.requirement("C-197"),
    ),
    pytest.param(
        Scenario((Answer(refusal="I will not."),), Outcome.REFUSED, "I will not.", unsaid=ONLY_TEXT),
        id="refused_in_words_of_its_own",
    ),
    pytest.param(Scenario((FORBIDDEN,), Outcome.REFUSED, "I would r"), id="refused_by_a_filter"),
    pytest.param(
        Scenario((Answer(finish=FinishReason.PROMPT_BLOCKED),), Outcome.REFUSED, "The model declined to answer."),
        id="refused_before_it_was_asked",
    ),
    pytest.param(Scenario((CUT,), Outcome.CUT_OFF, "Half an ans"), id="cut_off"),
    pytest.param(
        Scenario((calls(OSLO),) * 3, Outcome.CUT_OFF, "The answer was cut off before it was complete.", faults=dict.fromkeys(range(3), FaultKind.TRUNCATED_CALL)),
        id="cut_off_in_the_middle_of_a_call",
    ),
    pytest.param(
        Scenario((calls(OSLO), calls(ROME), "Done."), results=(OK,), faults={0: FaultKind.TRUNCATED_CALL}),
        id="completed_after_a_call_that_was_cut_off",
    ),
    pytest.param(
        Scenario((BROKEN,) * 3, Outcome.UNEXPECTED_ANSWER, "The model's answer could not be used.", unsaid=dict.fromkeys(("openai-chat", "anthropic"), NO_REASON)),
        id="unexpected_answer",
    ),
    pytest.param(
        Scenario(
            (calls(OSLO), Answer(), calls(AGAIN), calls(AGAIN)),
            Outcome.UNEXPECTED_ANSWER,
            "The model's answer could not be used.",
            results=(OK,),
        ),
        id="unexpected_answer_of_a_model_that_calls_what_it_was_not_offered_any_more",
    ),
    pytest.param(
        Scenario((Answer("One mom", finish=FinishReason.PAUSED), "Done."), unsaid={"openai-chat": NO_REASON, "anthropic": "this model takes back no words of its own to go on from"}),
        id="completed_after_a_pause_of_the_model",
    ),
    pytest.param(
        Scenario(
            ("It is blue.", '{"sky": 7}', "{}"),
            Outcome.INVALID_OUTPUT,
            "The answer did not have the form that was asked for.",
            options={"output": SKY},
        ),
        id="invalid_output",
    ),
    pytest.param(
        Scenario(("It is blue.", '{"sky": "blue"}'), text='{"sky": "blue"}', options={"output": SKY}),
        id="completed_after_an_output_of_the_wrong_form",
    ),
    pytest.param(
        Scenario(
            (*GOING_ROUND, *(calls(AGAIN),) * 3),
            Outcome.LOOP_DETECTED,
            "This could not be finished: the model kept repeating itself.",
            results=ROUND_RESULTS,
        ),
        id="loop_detected",
    ),
    pytest.param(Scenario((*GOING_ROUND, "Done."), results=ROUND_RESULTS), id="completed_after_going_round_in_circles"),
    pytest.param(
        Scenario(
            (calls(OSLO), calls(ROME), "Done."),
            Outcome.STEP_LIMIT,
            "This could not be finished within the number of steps that is allowed.",
            results=(OK, OK),
            requests=2,
            options=limits(max_steps=2),
        ),
        id="step_limit",
    ),
    pytest.param(
        Scenario((calls(OSLO), calls(ROME), "Done."), results=(OK, OK), options=limits(max_steps=3)),
        id="completed_in_the_last_step_that_is_allowed",
    ),
    pytest.param(
        Scenario(
            (calls(Ask("wait", {"seconds": 60})), "Done."),
            Outcome.TIME_LIMIT,
            "This could not be finished in the time that is allowed.",
            results=("wait ok",),
            requests=1,
            options=limits(max_seconds=60),
        ),
        id="time_limit",
    ),
    pytest.param(
        Scenario((calls(Ask("wait", {"seconds": 50})), "Done."), results=("wait ok",), options=limits(max_seconds=60)),
        id="completed_in_the_time_that_is_allowed",
    ),
    pytest.param(
        Scenario(
            (calls(OSLO), "Done."),
            Outcome.TOKEN_LIMIT,
            "This could not be finished within the number of tokens that is allowed.",
            results=(OK,),
            requests=1,
            options=limits(max_tokens=2),
        ),
        id="token_limit",
    ),
    pytest.param(
        Scenario(
            (calls(OSLO), "Done."),
            Outcome.COST_LIMIT,
            "This could not be finished for the cost that is allowed.",
            results=(OK,),
            requests=1,
            options={"price": lambda _model, _usage: 0.5, **limits(max_cost=0.5)},
        ),
        id="cost_limit",
    ),
    pytest.param(
        Scenario(
            (calls(OSLO), "Done."),
            options={"price": lambda _model, _usage: 0.5, **limits(max_cost=0.51)},
            results=(OK,),
        ),
        id="completed_for_the_cost_that_is_allowed",
    ),
    pytest.param(
        Scenario(
            (calls(OSLO),),
            Outcome.PROVIDER_ERROR,
            "The model could not be reached. Nothing is lost; try again later.",
            results=(OK,),
            faults={1: FaultKind.STATUS},
        ),
        id="provider_error",
    ),
    pytest.param(
        Scenario((calls(OSLO),), Outcome.PROVIDER_ERROR, "The model could not be reached. Nothing is lost; try again later.", results=(OK,), faults={1: FaultKind.WRONG_CONTENT_TYPE}),
        id="provider_error_for_a_web_page",
    ),
    pytest.param(
        Scenario(
            (calls(OSLO, Ask("local_time", {})),),
            Outcome.CLIENT_CALLS,
            "",
            results=(OK,),
            options={"client_tools": [{"kind": "function", "name": "local_time", "parameters": {"type": "object", "properties": {}}}]},
        ),
        id="client_calls",
    ),
    pytest.param(
        Scenario(
            (calls(Ask("book_table", {"place": "Nonna's"})),),
            Outcome.AWAITING_APPROVAL,
            "This needs somebody's agreement before it can go on.",
        ),
        id="awaiting_approval",
    ),
    pytest.param(
        Scenario(
            (calls(Ask("book_table", {"place": "Nonna's"})), "Done."),
            results=("book_table CONFIRMATION_REQUIRED",),
            options={"approvals": "answer"},
        ),
        id="completed_where_the_model_is_told_that_it_may_not",
    ),
]  # fmt: skip

SCENARIOS = [*COVERAGE, *OUTCOMES]
