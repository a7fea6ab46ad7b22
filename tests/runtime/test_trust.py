"""Which card counts: exact sampling, else the worst profile; all who may answer; the unknown; and a file that expires."""

import pytest

from groundwire import tool
from groundwire.contracts.trust import Asked, Trust
from groundwire.runtime.policies.trust import MAX_GRANTS, TrustBook, is_kept_from, is_reliable
from tests.evals.trusted import card, file_of

HOT = {"temperature": 1.5}


@tool(category="action")
async def pay(amount: int) -> dict:
    """Pay."""
    return {}


@tool(category="retrieval")
async def look(place: str) -> dict:
    """Look."""
    return {}


def judged(book, *models, sampling=None, spec=pay.spec, now=0.0):
    return book.grant(Asked(models=models, sampling=sampling or {}), now=now).judge(spec)


def test_the_card_of_the_very_sampling_counts_else_the_worst_of_the_model():
    book = TrustBook(file_of(card("m", "pay", "reliable"), card("m", "pay", "deny", profile="hot", sampling=HOT)))
    assert judged(book, "m").trust == "reliable"
    assert judged(book, "m", sampling={"temperature": 1.5}).trust == "deny"
    assert judged(book, "m", sampling={"temperature": 1.4}).trust == "deny"


def test_a_profile_whose_card_is_about_other_tools_says_nothing_of_this_one():
    book = TrustBook(file_of(card("m", "look", "reliable"), card("m", "pay", "read-only", sampling=HOT)))
    assert judged(book, "m").trust == "read-only"


def test_whole_numbers_and_floats_are_one_sampling():
    book = TrustBook(
        file_of(card("m", "pay", "reliable", sampling={"top_k": 40}), card("m", "pay", "deny", sampling=HOT))
    )
    assert judged(book, "m", sampling={"top_k": 40.0}).trust == "reliable"


def test_of_all_who_may_answer_the_one_that_is_trusted_least_counts():
    book = TrustBook(file_of(card("m", "pay", "reliable"), card("backup", "pay", "read-only")))
    assert judged(book, "m", "backup").trust == "read-only"
    assert judged(book, "m", "stranger").trust == "ask"


@pytest.mark.parametrize("unknown", ["ask", "read-only", "deny"])
def test_the_operators_word_holds_for_models_and_tools_that_no_card_names(unknown):
    book = TrustBook(file_of(card("m", "pay", "reliable")), unknown=Trust(unknown))
    model, known = judged(book, "stranger"), judged(book, "m", spec=look.spec)
    assert (model.trust, model.why) == (unknown, "no trust card is about stranger")
    assert (known.trust, known.why) == (unknown, "no trust card is about m with look")


def test_a_reason_names_the_model_the_profile_the_evidence_and_the_run():
    book = TrustBook(file_of(card("m", "pay", "ask", why="3 of 4 trials passed", run="20260102T000000Z")))
    assert judged(book, "m").why == "m (default) is ask with pay: 3 of 4 trials passed, 20260102T000000Z"


def test_a_file_that_expires_while_it_is_used_gives_nobody_more_than_the_unknown_get():
    book = TrustBook(file_of(card("m", "pay", "reliable"), card("bad", "pay", "deny"), expires=100.0))
    assert [judged(book, "m", now=now).trust for now in (99.999, 100.0)] == ["reliable", "ask"]
    assert judged(book, "m", now=100.0).why == "the trust file expired at 1970-01-01T00:01:40.000Z"
    assert [judged(book, "bad", now=now).trust for now in (99.999, 100.0)] == ["deny", "deny"]


def test_the_same_question_gets_the_same_grant_and_grants_do_not_add_up():
    book = TrustBook(file_of(card("m", "pay", "reliable")))
    first = book.grant(Asked(models=("m",), sampling={}), now=0.0)
    assert book.grant(Asked(models=("m",), sampling={}), now=1.0) is first
    for number in range(2 * MAX_GRANTS):
        book.grant(Asked(models=(f"m{number}",), sampling={}), now=0.0)
    assert len(book._grants) <= MAX_GRANTS


def test_what_is_kept_from_a_model():
    book = TrustBook(file_of(*(card(trust, name, trust) for trust in Trust for name in ("pay", "look"))))
    kept = {
        (trust.value, spec.tool_id): is_kept_from(judged(book, trust.value, spec=spec), spec)
        for trust in Trust
        for spec in (pay.spec, look.spec)
    }
    assert [place for place, is_kept in kept.items() if is_kept] == [
        ("read-only", "pay"), ("deny", "pay"), ("deny", "look"),
    ]  # fmt: skip


@pytest.mark.requirement("C-194")
def test_a_model_is_reliable_if_it_is_with_every_tool_on_offer():
    book = TrustBook(file_of(card("m", "pay", "reliable"), card("m", "look", "ask")))
    good, doubted = judged(book, "m"), judged(book, "m", spec=look.spec)
    assert is_reliable([good, good])
    assert not is_reliable([good, doubted])
    assert not is_reliable([])
