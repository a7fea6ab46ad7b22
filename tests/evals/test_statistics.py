import random

import msgspec
import pytest

from groundwire.evals.estimates import Interval, clustered_interval, pass_at_k, pass_hat_k, wilson_interval
from groundwire.evals.records import Blame, Finding
from groundwire.evals.statistics import MeanTokens, Summary, summarise
from tests.evals.made_records import failure, record, records, timed, tokens


def test_a_matrix_is_added_up_at_every_level():
    summary = summarise(
        [
            *records("++-", model="b", scenario="chat_only"),
            *records("+++", model="a", profile="warm", scenario="happy_path"),
            *records("---", model="a", profile="cold", scenario="happy_path"),
            *records("+?", model="a", profile="cold", scenario="chat_only"),
        ]
    )

    def rows(cells):
        return [(cell.model, cell.profile, cell.scenario, cell.passed, cell.scored, cell.invalid) for cell in cells]

    assert rows([summary.overall]) == [("", "", "", 6, 10, 1)]
    assert rows(summary.models) == [("a", "", "", 4, 7, 1), ("b", "", "", 2, 3, 0)]
    assert rows(summary.combinations) == [
        ("a", "cold", "", 1, 4, 1),
        ("a", "warm", "", 3, 3, 0),
        ("b", "p", "", 2, 3, 0),
    ]
    assert rows(summary.scenarios) == [("", "", "chat_only", 3, 4, 1), ("", "", "happy_path", 3, 6, 0)]
    assert rows(summary.cells) == [
        ("a", "cold", "chat_only", 1, 1, 1),
        ("a", "cold", "happy_path", 0, 3, 0),
        ("a", "warm", "happy_path", 3, 3, 0),
        ("b", "p", "chat_only", 2, 3, 0),
    ]


def test_a_cell_has_the_estimates_of_its_scored_trials():
    (cell,) = summarise(records("++-?+")).cells
    assert (cell.passed, cell.scored, cell.invalid, cell.rate) == (3, 4, 1, 0.75)
    assert cell.interval == wilson_interval(3, 4)
    assert cell.clustered is None
    assert cell.pass_at_k == pass_at_k(3, 4)
    assert cell.pass_hat_k == pass_hat_k(3, 4)
    assert (cell.flip_rate, cell.disagreement) == (1.0, 0.5)


def test_without_records_there_is_an_empty_row_and_no_rate():
    summary = summarise([])
    overall = summary.overall
    assert (overall.passed, overall.scored, overall.invalid, overall.rate) == (0, 0, 0, None)
    assert (overall.interval, overall.clustered) == (Interval(low=0.0, high=1.0), None)
    assert (overall.pass_at_k, overall.flip_rate, overall.p95_ms, overall.mean_tokens) == ((), None, None, None)
    assert (overall.cost, overall.unpriced) == (None, 0)
    assert summary.models == summary.combinations == summary.scenarios == summary.cells == ()


def test_invalid_trials_are_counted_and_never_scored():
    (cell,) = summarise(
        [
            record("+", 1, latency_ms=10.0, tokens=tokens(100, 10), cost=0.25),
            failure("timeout", Blame.PROVIDER, 2, latency_ms=9000.0, tokens=tokens(50, 0), cost=0.5),
        ]
    ).cells
    assert (cell.passed, cell.scored, cell.invalid, cell.rate) == (1, 1, 1, 1.0)
    assert (cell.p50_ms, cell.p95_ms) == (10.0, 10.0)
    assert cell.mean_tokens == MeanTokens(input=100.0, output=10.0)
    assert (cell.tokens, cell.cost) == (tokens(150, 10), 0.75)
    assert (cell.codes, cell.blames) == ({"timeout": 1}, {"provider": 1})


def test_rates_over_several_tries_are_means_over_cells_as_far_as_every_cell_reaches():
    overall = summarise(
        [*records("++--", scenario="a"), *records("++", scenario="b"), *records("??", scenario="c")]
    ).overall
    assert overall.pass_at_k == pytest.approx(((0.5 + 1) / 2, (5 / 6 + 1) / 2))
    assert overall.pass_hat_k == pytest.approx(((0.5 + 1) / 2, (1 / 6 + 1) / 2))


def test_flips_are_a_share_of_the_cells_that_could_have_flipped():
    overall = summarise(
        [
            *records("+-", scenario="a"),
            *records("+++-", scenario="b"),
            *records("++", scenario="c"),
            *records("--", scenario="d"),
            *records("+?", scenario="e"),
        ]
    ).overall
    assert overall.flip_rate == 0.5
    assert overall.disagreement == pytest.approx((1 + 0.5 + 0 + 0) / 4)


def test_trials_of_one_scenario_count_as_a_cluster_whatever_model_they_are_of():
    summary = summarise(
        [
            *records("++++", model="a", scenario="easy"),
            *records("++++", model="b", scenario="easy"),
            *records("+---", model="a", scenario="hard"),
            *records("----", model="b", scenario="hard"),
        ]
    )
    assert summary.overall.clustered == clustered_interval([(8, 8), (1, 8)])
    assert summary.models[0].clustered == clustered_interval([(4, 4), (1, 4)])
    assert [scenario.clustered for scenario in summary.scenarios] == [None, None]


def test_times_are_given_as_percentiles():
    overall = summarise(timed(range(100, 0, -1))).overall
    assert (overall.p50_ms, overall.p95_ms) == pytest.approx((50.5, 95.05))


def test_the_cost_of_trials_without_a_price_is_not_taken_for_nothing():
    priced = record("+", 1, cost=0.1)
    assert summarise([priced, record("+", 2)]).overall.cost == 0.1
    assert summarise([priced, record("+", 2)]).overall.unpriced == 1
    assert summarise([record("+", 2)]).overall.cost is None
    assert summarise([record("+", 1, cost=0.0)]).overall.cost == 0.0


def test_failures_are_counted_by_code_and_by_blame_the_most_frequent_first():
    overall = summarise(
        [
            failure("wrong_state", number=1),
            failure("empty_final", number=2),
            failure("wrong_state", number=3),
            failure("bad_gateway", Blame.PROVIDER, number=4),
            failure("", Blame.HARNESS, number=5),
            record("+", 6, code="ignored"),
        ]
    ).overall
    assert list(overall.codes.items()) == [
        ("wrong_state", 2),
        ("bad_gateway", 1),
        ("empty_final", 1),
        ("unspecified", 1),
    ]
    assert list(overall.blames.items()) == [("model", 3), ("harness", 1), ("provider", 1)]


def test_what_checks_count_is_summed_by_check():
    bot = Finding(check="bot", passed=True, counts={"quotes": 5, "grounded": 4})
    brief = Finding(check="summary", passed=True, counts={"quotes": 2, "grounded": 2})
    overall = summarise(
        [
            record("+", 1, findings=(bot, brief)),
            record("-", 2, findings=(bot, Finding(check="text", passed=False))),
            record("?", 3, findings=(bot,)),
        ]
    ).overall
    assert overall.counts == {"bot": {"grounded": 8, "quotes": 10}, "summary": {"grounded": 2, "quotes": 2}}


def test_of_a_trial_that_was_run_again_the_last_record_counts():
    overall = summarise([record("?", 1), record("-", 2), record("+", 1)]).overall
    assert (overall.passed, overall.scored, overall.invalid) == (1, 2, 0)


def test_the_summary_is_the_same_in_whatever_order_trials_end():
    matrix = [
        one
        for model in ("a", "b")
        for scenario in ("x", "y")
        for one in (
            *records("+-+?", model=model, scenario=scenario, cost=0.1, latency_ms=3.3),
            failure("late", number=9, model=model, scenario=scenario, cost=1e-9),
        )
    ]
    expected = msgspec.json.encode(summarise(matrix))
    for seed in range(10):
        shuffled = matrix[:]
        random.Random(seed).shuffle(shuffled)
        assert msgspec.json.encode(summarise(shuffled)) == expected


def test_a_summary_is_written_in_camel_case_and_can_be_read_again():
    summary = summarise([*records("+-"), failure("late", number=3, tokens=tokens(3, 4))])
    written = msgspec.json.encode(summary)
    cell = msgspec.json.decode(written)["cells"][0]
    assert {
        "model",
        "scenario",
        "passAtK",
        "passHatK",
        "flipRate",
        "p50Ms",
        "p95Ms",
        "meanTokens",
        "codes",
    } <= cell.keys()
    assert "model" not in msgspec.json.decode(written)["overall"]
    assert msgspec.json.decode(written, type=Summary) == summary
