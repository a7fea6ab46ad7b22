"""The rule of trust, on both sides of each of its edges, and what counts as evidence."""

import pytest

from groundwire.contracts.trust import Trust
from groundwire.evals.records import CallTrace, Finding
from groundwire.evals.trust import DEFAULT_RULE, RunRecord, TrustRule, judge, make_trust
from tests.evals.made_records import records

PATCH = CallTrace(name="patch", arguments={}, ok=True)
NOW = 1_800_000_000.0


def trial_records(passed, failed=0, *, run_id="r1", end="+", **fields):
    usual = {"profile": "default", "strategy": "off", "scenario": "one", "calls": (PATCH,), "sampling": {}}
    ends = end * passed + "-" * failed
    return [RunRecord(run_id=run_id, record=one) for one in records(ends, code="wrong_text", **{**usual, **fields})]


def cards_of(*groups, **options):
    made = make_trust([one for group in groups for one in group], now=NOW, **options)
    return {(card.model, card.profile, card.tool): card for card in made.cards}


def trust_of(passed, trials, **changes):
    return judge(passed, trials, {"one": (passed, trials)}, TrustRule(**changes))[0]


@pytest.mark.parametrize(
    ("passed", "trials", "trust"),
    [
        (49, 49, "ask"),
        (50, 50, "reliable"),
        (52, 53, "ask"),
        (53, 54, "reliable"),
        (959, 1000, "ask"),
        (960, 1000, "reliable"),
        (34, 50, "ask"),
        (33, 50, "read-only"),
        (18, 50, "read-only"),
        (17, 50, "deny"),
        (0, 5, "read-only"),
        (0, 6, "deny"),
        (0, 2, "ask"),
        (0, 3, "read-only"),
        (1, 1, "ask"),
    ],
)
def test_the_rule_at_its_edges(passed, trials, trust):
    assert trust_of(passed, trials) == trust


@pytest.mark.parametrize(
    ("passed", "trials", "why"),
    [
        (50, 50, "50 of 50 trials passed, so at 95 % certainty at least 92 % would"),
        (49, 49, "49 of 49 trials passed, and trust takes at least 50"),
        (49, 50, "49 of 50 trials passed, so 89 % are certain, and trust takes 90 %"),
        (950, 1000, "950 of 1000 trials passed, and trust takes 96 %"),
        (30, 50, "30 of 50 trials passed, so at 95 % certainty fewer than 80 % would"),
        (1, 50, "1 of 50 trials passed, so at 95 % certainty fewer than 50 % would"),
    ],
)
def test_the_reason_says_which_part_of_the_rule_it_was(passed, trials, why):
    assert judge(passed, trials, {}, DEFAULT_RULE)[1] == why


def test_a_scenario_that_mostly_fails_keeps_the_others_from_hiding_it():
    others = {"one": (990, 990)}
    assert judge(995, 1000, {**others, "two": (5, 10)}, DEFAULT_RULE)[0] is Trust.RELIABLE
    trust, why = judge(994, 1000, {**others, "two": (4, 10)}, DEFAULT_RULE)
    assert (trust, why) == (Trust.ASK, "994 of 1000 trials passed, but fewer than 50 % of two")


@pytest.mark.parametrize(
    ("changes", "trust"),
    [({"min_trials": 20, "min_low": 0.8}, "reliable"), ({"min_trials": 20, "min_low": 0.9}, "ask")],
)
def test_thresholds_can_be_others(changes, trust):
    assert trust_of(20, 20, **changes) == trust


@pytest.mark.requirement("C-192")
def test_there_is_a_card_for_each_model_profile_and_tool_with_its_evidence():
    get = CallTrace(name="get", arguments={}, ok=True)
    cards = cards_of(
        trial_records(25, calls=(get, PATCH)),
        trial_records(20, 5, scenario="two", run_id="r2", started_at="2026-01-09T00:00:00.000+00:00"),
        trial_records(3, profile="hot", sampling={"temperature": 1.5}),
        trial_records(3, model="other"),
    )
    assert {place: (card.trust.value, card.evidence.trials) for place, card in cards.items()} == {
        ("m", "default", "get"): ("ask", 25),
        ("m", "default", "patch"): ("ask", 50),
        ("m", "hot", "patch"): ("ask", 3),
        ("other", "default", "patch"): ("ask", 3),
    }
    evidence = cards["m", "default", "patch"].evidence
    assert (evidence.passed, evidence.low, evidence.high) == (45, 0.7819, 0.9667)
    assert (evidence.scenarios, evidence.runs) == (("one", "two"), ("r1", "r2"))
    assert (evidence.failures, evidence.strategy, evidence.invalid) == ({"wrong_text": 5}, "off", 0)
    assert evidence.last_at == "2026-01-09T00:00:00.000+00:00"
    assert cards["m", "hot", "patch"].sampling == {"temperature": 1.5}


def test_invalid_trials_are_no_evidence():
    invalid = trial_records(30, scenario="two", end="?")
    card = cards_of(trial_records(50), invalid)["m", "default", "patch"]
    assert (card.trust, card.evidence.trials, card.evidence.invalid) == ("reliable", 50, 0)
    mixed = cards_of(trial_records(50), trial_records(30, run_id="r2", end="?"))["m", "default", "patch"]
    assert (mixed.evidence.trials, mixed.evidence.invalid) == (50, 30)
    assert cards_of(invalid) == {}


def test_a_tool_is_judged_by_scenarios_whose_checks_name_it_even_if_it_was_never_called():
    silent = Finding(check="calls", passed=False, code="missing_call", tools=("patch",))
    cards = cards_of(trial_records(0, 10, calls=(), findings=(silent,)))
    assert cards["m", "default", "patch"].trust == "deny"


def test_trials_of_a_scenario_in_which_a_tool_was_called_once_all_count_for_it():
    cards = cards_of(trial_records(1), trial_records(0, 9, run_id="r2", calls=()))
    assert cards["m", "default", "patch"].evidence.trials == 10


def test_names_that_a_model_made_up_are_no_tools():
    invented = CallTrace(name="state_write", arguments={}, ok=False, error="UNKNOWN_TOOL")
    assert {tool for *_, tool in cards_of(trial_records(50, calls=(invented, PATCH)))} == {"patch"}


def test_the_strategy_that_deserves_least_counts_unless_one_is_chosen():
    good, bad = trial_records(50, strategy="on"), trial_records(0, 10, strategy="off")
    place = ("m", "default", "patch")
    assert [cards_of(*groups)[place].trust.value for groups in ((good, bad), (bad, good))] == ["deny", "deny"]
    assert cards_of(good, bad, strategy="on")[place].trust == "reliable"
    assert cards_of(good, bad)[place].evidence.strategy == "off"


def test_a_model_is_known_by_the_name_that_it_was_asked_by():
    assert [*cards_of(trial_records(1, route="openrouter/m"))] == [("openrouter/m", "default", "patch")]


def test_a_trial_that_two_reports_took_from_one_cache_counts_once():
    first, again = (trial_records(1, run_id=run, digest="abc") for run in ("r1", "r2"))
    card = cards_of(first, again)["m", "default", "patch"]
    assert (card.evidence.trials, card.evidence.runs) == (1, ("r2",))


@pytest.mark.parametrize("samplings", [({}, {"temperature": 1.0}), (None, None)])
def test_sampling_that_the_records_do_not_agree_on_is_not_known(samplings):
    groups = [trial_records(1, run_id=f"r{place}", sampling=one) for place, one in enumerate(samplings)]
    assert cards_of(*groups)["m", "default", "patch"].sampling is None


def test_a_file_is_valid_for_ninety_days_and_says_by_which_rule_it_was_made():
    made = make_trust(trial_records(1), now=NOW)
    assert (made.made_at, made.expires_at) == ("2027-01-15T08:00:00.000Z", "2027-04-15T08:00:00.000Z")
    assert made.rule["minLow"] == 0.9
    assert make_trust(trial_records(1), now=NOW, valid_seconds=60.0).expires_at == "2027-01-15T08:01:00.000Z"
