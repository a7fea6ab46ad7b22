"""The cases as data: who they come from, and that what is marked is so."""

import pytest

from groundwire.apps.supplier.contracts import Status
from groundwire.apps.supplier.evaluation.cases import cases_by_id, original_ten, read_cases


@pytest.mark.requirement("A-181", "X-13")
def test_there_are_thirteen_cases_of_the_benchmark_and_the_voice_case_of_our_own():
    origins = [case.origin for case in read_cases()]
    assert (origins.count("benchmark"), origins.count("project")) == (13, 1)
    assert [case.number for case in read_cases()] == list(range(1, 15))
    assert cases_by_id()["mes2-02-voice-message"].origin == "project"


def test_ten_cases_have_had_figures_from_the_beginning():
    assert sorted(int(name[5:7]) for name in original_ten()) == [1, 3, 4, 5, 6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize("case", read_cases(), ids=lambda case: case.id)
def test_what_is_marked_as_ungrounded_is_in_no_line_and_all_else_is_in_the_line_that_its_turn_answers(case):
    for row in case.captures:
        quote = row.args["supplierQuote"]
        if row.grounded:
            assert quote in case.lines[row.turn - 2]
        else:
            assert not any(quote in line for line in case.lines)
    for row in case.signals:
        quote = row.args.get("supplierQuote")
        assert (quote is None) == (row.grounded is None)
        assert any(quote in line for line in case.lines) if row.grounded else True
        assert not (row.grounded is False and any(quote in line for line in case.lines))


def test_a_case_asks_for_the_usual_goals_its_wish_and_what_its_rows_are_about():
    case = cases_by_id()["mes2-04-invented-figures"]
    assert [goal.goal_id for goal in case.goals] == ["moq", "unit_price", "lead_time", "customization", "sample"]


def test_every_way_to_end_is_among_the_cases():
    ends = {Status.COMPLETED, Status.REJECTED, Status.NO_REPLY, Status.WECHAT_REDIRECT}
    assert {case.status for case in read_cases()} == ends
