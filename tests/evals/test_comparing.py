import random

import msgspec
import pytest

from groundwire.evals.comparing import compare
from groundwire.evals.significance import Table, fisher_exact, mcnemar_exact
from groundwire.evals.verdicts import Comparison, Verdict
from tests.evals.made_records import record, records

OTHER_SEEDS = 1000


def unpaired(ends, **fields):
    return records(ends, seed=OTHER_SEEDS, **fields)


def test_a_scenario_that_surely_got_worse_is_named_in_one_sentence():
    scenarios = ["chat_only", "happy_path", "long_arguments_guard"]
    before = [one for scenario in scenarios for one in records("+" * 10, scenario=scenario)]
    after = [
        one
        for scenario in scenarios
        for one in unpaired("-" * 10 if scenario == "long_arguments_guard" else "+" * 10, scenario=scenario)
    ]
    comparison = compare(before, after)
    assert comparison.verdict is Verdict.WORSE
    assert comparison.sentence == "B is worse at long_arguments_guard; 95 % sure"
    assert [change.verdict for change in comparison.scenarios] == [Verdict.UNCLEAR, Verdict.UNCLEAR, Verdict.WORSE]
    assert comparison.scenarios[2].sentence == (
        "B is worse at long_arguments_guard; 95 % sure (0 of 10 passed instead of 10 of 10)"
    )
    assert compare(after, before).sentence == "B is better at long_arguments_guard; 95 % sure"


def test_where_nothing_is_found_the_sentence_says_what_would_have_been():
    comparison = compare(records("+" * 10), unpaired("+" * 10))
    assert comparison.verdict is Verdict.UNCLEAR
    assert comparison.sentence == (
        "no difference was found; with 10 trials only differences above 64 points would have been"
    )
    assert comparison.overall.detectable == pytest.approx(0.636, abs=0.001)
    assert comparison.scenarios[0].sentence == (
        "no difference was found at happy_path; with 10 trials only differences above 64 points would have been"
    )


def test_so_few_trials_that_nothing_can_be_found_are_called_so():
    assert compare(records("+++"), unpaired("---")).sentence == (
        "no difference was found (0 of 3 passed instead of 3 of 3); with 3 trials none would have been"
    )
    assert compare(records("+"), unpaired("+")).sentence == (
        "no difference was found; with 1 trial none would have been"
    )
    assert compare(records("+" * 10), unpaired("+" * 9)).sentence.startswith(
        "no difference was found; with 9 and 10 trials only differences above "
    )


@pytest.mark.parametrize(("failed", "verdict"), [(4, Verdict.UNCLEAR), (5, Verdict.WORSE)])
def test_a_claim_needs_a_p_value_of_at_most_five_percent(failed, verdict):
    overall = compare(records("+" * 10), unpaired("-" * failed + "+" * (10 - failed))).overall
    assert overall.p_value == fisher_exact([Table(10, 10, 10 - failed, 10)])
    assert overall.verdict is verdict


def test_trials_with_the_same_seeds_are_compared_in_pairs():
    overall = compare(records("+++++++-+-"), records("-------+--")).overall
    assert overall.is_paired
    assert overall.p_value == mcnemar_exact(8, 1)
    assert overall.verdict is Verdict.WORSE


def test_one_other_seed_or_one_trial_more_makes_them_two_samples():
    before = records("++++++++++")
    for after in ([*records("-----+++++")[:-1], record("+", 10, seed=99)], records("-----++++++")):
        overall = compare(before, after).overall
        assert not overall.is_paired
        assert overall.p_value == fisher_exact([Table(10, 10, sum(one.passed for one in after), len(after))])


def test_a_pair_with_an_invalid_trial_is_left_out():
    overall = compare(records("+++++++?"), records("-------+")).overall
    assert overall.is_paired
    assert (overall.before.passed, overall.before.scored) == (7, 7)
    assert (overall.after.passed, overall.after.scored) == (0, 7)
    assert overall.p_value == mcnemar_exact(7, 0)


def test_invalid_trials_say_nothing():
    comparison = compare(records("++++"), unpaired("????"))
    assert comparison.verdict is Verdict.UNCLEAR
    assert comparison.sentence == "nothing can be said: there are no scored trials to compare"
    assert (comparison.overall.difference, comparison.overall.interval) == (None, None)


def test_scenarios_and_the_whole_are_corrected_for_being_several():
    scenarios = [f"s{number}" for number in range(6)]
    before = [one for scenario in scenarios for one in records("+" * 10, scenario=scenario)]
    after = [one for name in scenarios for one in unpaired("+----+++++" if name == "s3" else "+" * 10, scenario=name)]
    alone = fisher_exact([Table(10, 10, 6, 10)])
    comparison = compare(before, after)
    assert comparison.scenarios[3].p_value == pytest.approx(min(1.0, 7 * alone))
    assert comparison.scenarios[3].detectable > compare(before[:10], after[:10]).scenarios[0].detectable


def test_chance_alone_leads_to_a_claim_in_at_most_one_of_twenty_comparisons():
    chance = random.Random("nothing has changed")

    def run(**fields):
        rates = {"easy": 0.95, "fair": 0.8, "hard": 0.5}
        return [
            one
            for scenario, rate in rates.items()
            for one in records(["-+"[chance.random() < rate] for _ in range(10)], scenario=scenario, **fields)
        ]

    runs = 400
    claims = sum(compare(run(), run(seed=OTHER_SEEDS)).verdict is not Verdict.UNCLEAR for _ in range(runs))
    paired_claims = sum(compare(run(), run()).verdict is not Verdict.UNCLEAR for _ in range(runs))
    assert claims <= 0.05 * runs
    assert paired_claims <= 0.05 * runs


def test_the_same_is_said_only_where_the_interval_is_narrower_than_the_margin():
    before, after = records("+" * 35), unpaired("+" * 35)
    assert compare(before[:34], after[:34]).verdict is Verdict.UNCLEAR
    comparison = compare(before, after)
    assert comparison.verdict is Verdict.SAME
    assert comparison.sentence == "B is as good; 95 % sure that less than 10 points lie between"
    assert compare(before, after, margin=0.05).verdict is Verdict.UNCLEAR


def test_pairs_that_end_alike_show_sameness_sooner():
    ends = "+" * 32 + "-" * 8
    assert compare(records(ends), records(ends)).verdict is Verdict.SAME
    assert compare(records(ends), unpaired(ends)).verdict is Verdict.UNCLEAR


def test_another_model_is_what_is_compared_where_each_side_has_one():
    before = [*records("+" * 10, model="old", profile="p1"), *records("+" * 10, model="old", profile="p2")]
    after = [*unpaired("-" * 10, model="new", profile="p1"), *unpaired("+" * 10, model="new", profile="p2")]
    comparison = compare(before, after)
    assert (comparison.before, comparison.after) == ("old", "new")
    assert comparison.sentence == "new is worse at happy_path; 95 % sure"
    assert [(change.model, change.profile, change.verdict) for change in comparison.combinations] == [
        ("", "p1", Verdict.WORSE),
        ("", "p2", Verdict.UNCLEAR),
    ]
    assert comparison.combinations[0].sentence == (
        "new is worse with p1 · s; 95 % sure (0 of 10 passed instead of 10 of 10)"
    )
    assert comparison.cells[0].sentence.startswith("new is worse at happy_path with p1 · s; 95 % sure")


def test_of_several_models_only_equal_ones_are_compared_and_the_others_are_listed():
    before = [*records("++", model="a"), *records("++", model="b"), *records("++", model="b", scenario="gone")]
    after = [*records("++", model="b"), *records("++", model="c")]
    comparison = compare(before, after)
    assert (comparison.before, comparison.after) == ("A", "B")
    assert comparison.overall.before.scored == comparison.overall.after.scored == 2
    assert comparison.unmatched == ("a · p · s · happy_path", "b · p · s · gone", "c · p · s · happy_path")
    assert comparison.combinations == comparison.cells == ()


def test_labels_may_be_given():
    comparison = compare(records("+" * 10), unpaired("-" * 10), labels=("1.2", "1.3"))
    assert (comparison.before, comparison.after) == ("1.2", "1.3")
    assert comparison.sentence == "1.3 is worse at happy_path; 95 % sure"


def test_without_anything_in_common_nothing_is_said():
    comparison = compare(records("++", scenario="a"), records("++", scenario="b"))
    assert comparison.verdict is Verdict.UNCLEAR
    assert comparison.sentence == "nothing can be said: there are no scored trials to compare"
    assert comparison.scenarios == ()
    assert compare([], []).verdict is Verdict.UNCLEAR


def test_bad_news_come_first_and_decide():
    before = [*records("+" * 10, scenario="a"), *records("-" * 10, scenario="b"), *records("-" * 10, scenario="c")]
    after = [*unpaired("-" * 10, scenario="a"), *unpaired("+" * 10, scenario="b"), *unpaired("+" * 10, scenario="c")]
    comparison = compare(before, after)
    assert comparison.verdict is Verdict.WORSE
    assert comparison.sentence == "B is worse at a and better at b and c; 95 % sure"


def test_small_losses_everywhere_are_worse_overall_though_nowhere_surely():
    scenarios = [f"s{number}" for number in range(8)]
    before = [one for scenario in scenarios for one in records("+" * 10, scenario=scenario)]
    after = [one for scenario in scenarios for one in unpaired("--++++++++", scenario=scenario)]
    comparison = compare(before, after)
    assert {change.verdict for change in comparison.scenarios} == {Verdict.UNCLEAR}
    assert comparison.sentence == "B is worse overall; 95 % sure"
    assert comparison.overall.sentence == "B is worse overall; 95 % sure (64 of 80 passed instead of 80 of 80)"
    assert comparison.overall.difference == pytest.approx(-0.2)


def test_another_mix_of_scenarios_is_no_difference():
    before = [*records("+" * 90, scenario="easy"), *records("-" * 10, scenario="hard")]
    after = [*records("+" * 10, scenario="easy"), *records("-" * 90, scenario="hard")]
    overall = compare(before, after).overall
    assert (overall.before.passed, overall.after.passed) == (90, 10)
    assert (overall.difference, overall.p_value) == (0.0, 1.0)


def with_times(times, **fields):
    return [record("+", number, latency_ms=float(time), **fields) for number, time in enumerate(times, 1)]


def test_slower_and_dearer_are_noted_beside_the_verdict():
    before = with_times(range(100, 120), cost=0.02)
    after = with_times(range(150, 170), cost=0.025)
    comparison = compare(before, after)
    assert comparison.notes == (
        "B is slower; 95 % sure (median 160 ms instead of 110 ms)",
        "a trial cost 25 % more",
    )
    assert comparison.overall.latency_verdict is Verdict.WORSE
    assert compare(after, before).notes == (
        "B is faster; 95 % sure (median 110 ms instead of 160 ms)",
        "a trial cost 20 % less",
    )


def test_times_that_may_differ_by_chance_and_costs_that_are_not_known_are_not_noted():
    times = [100, 200, 300]
    comparison = compare(with_times(times, cost=0.1), with_times([301, 302, 303]))
    assert comparison.overall.latency_verdict is Verdict.UNCLEAR
    assert comparison.notes == ()
    assert compare(with_times(times, cost=0.1), with_times(times, cost=0.1)).notes == ("a trial cost the same",)


def test_a_comparison_does_not_depend_on_the_order_of_records_and_can_be_written():
    before = [*records("+-+-+", scenario="a"), *records("++++-", scenario="b")]
    after = [*records("--+-+", scenario="a"), *records("-+++-", scenario="b")]
    comparison = compare(before, after)
    assert compare(before[::-1], after[::-1]) == comparison
    written = msgspec.json.encode(comparison)
    assert msgspec.json.decode(written, type=Comparison) == comparison
    assert {"isPaired", "pValue", "latencyVerdict"} <= msgspec.json.decode(written)["overall"].keys()
