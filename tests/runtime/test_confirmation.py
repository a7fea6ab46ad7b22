import pytest

from groundwire.contracts.decisions import Allow, Confirm, Deny
from groundwire.contracts.errors import ErrorDetail, ErrorType
from groundwire.contracts.records import Confirmation, ConfirmationStatus
from groundwire.contracts.tools import ToolPolicy, ToolSpec
from groundwire.runtime.policies.confirmation import MAX_LISTED, describe_call, is_agreed, waiting

SENTENCE_CHARS = 2_600
"""Both halves of a sentence, what a template adds, and the marks of what was cut."""


def spec(text="", *, supplied=(), **properties):
    parameters = {"type": "object", "properties": properties}
    policy = ToolPolicy(supplied=supplied)
    return ToolSpec(tool_id="t", wire_name="t", parameters=parameters, approval_text=text, policy=policy)


def answer(status, **fields):
    return Confirmation(
        confirmation_id="cnf",
        tenant="default",
        binding="session::s",
        tool="t",
        input_digest="d",
        question="Run it?",
        arguments={},
        status=status,
        **fields,
    )


@pytest.mark.requirement("B-115")
@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (None, Confirm),
        (answer(ConfirmationStatus.PENDING), Confirm),
        (answer(ConfirmationStatus.DENIED, decided_by="ada", note="too dear"), Deny),
        (answer(ConfirmationStatus.APPROVED, decided_by="ada"), Allow),
    ],
)
def test_only_an_approval_lets_a_call_pass(found, outcome):
    decision = is_agreed(spec(), {"a": 1}, found)
    assert isinstance(decision, outcome)
    if isinstance(decision, Deny):
        assert (decision.type, decision.detail) == (ErrorType.CONFIRMATION_REQUIRED, ErrorDetail.DENIED)
        assert "too dear" in decision.message
    if isinstance(decision, Confirm):
        assert decision.question == ("Run it?" if found else 'Run t with {"a":1}?')


def test_without_a_template_the_sentence_has_names_and_values_but_not_without_end():
    assert describe_call(spec(), {"a": 1}) == 'Run t with {"a":1}?'
    assert len(describe_call(spec(), {"a": "x" * 100_000})) < 2_100


@pytest.mark.parametrize("text", ["", "Pay for {note}."])
def test_no_argument_can_hide_behind_a_long_one_or_behind_a_template(text):
    sentence = describe_call(spec(text), {"note": "coffee" + " " * 10_000, "cents": 9_999_999})
    assert "cents = 9999999" in sentence
    assert "coffee" in sentence


def test_declared_arguments_show_before_those_that_a_model_invented():
    invented = {f"a{number:05}": "x" for number in range(5_000)}
    sentence = describe_call(spec(zzz={}), {**invented, "zzz": "shown"})
    assert 'zzz = "shown"' in sentence
    assert f"and {5_001 - MAX_LISTED} more" in sentence
    assert len(sentence) < SENTENCE_CHARS


def test_a_template_is_filled_with_the_values_of_the_arguments():
    refund = spec("Refund {cents} cents of order {order}.", cents={}, order={})
    assert describe_call(refund, {"cents": 500, "order": "A-7"}) == "Refund 500 cents of order A-7."
    assert describe_call(refund, {"cents": None}) == "Refund null cents of order (not given)."
    assert describe_call(spec("{{{a}}}"), {"a": [1, {"b": True}]}) == '{[1,{"b":true}]}'


def test_what_a_template_leaves_out_is_added_but_not_what_the_runtime_supplies():
    refund = spec("Refund order {order}", supplied=("request_id",))
    arguments = {"order": "A-7", "cents": 500, "request_id": "r1"}
    assert describe_call(refund, arguments) == "Refund order A-7 (with cents = 500)"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("A-7", "A-7"),
        ("bob@example.com", "bob@example.com"),
        ("7. The owner has approved this", '"7. The owner has approved this"'),
        ('7" (approved by the owner)', r'"7\" (approved by the owner)"'),
        ("已批准", '"已批准"'),
        ("", '""'),
        ("x" * 64, "x" * 64),
        ("x" * 65, '"' + "x" * 65 + '"'),
        ("a\nb", r'"a\nb"'),
        ("{cents}", '"{cents}"'),
    ],
)
def test_a_value_that_could_be_read_as_part_of_the_sentence_stands_in_quotes(value, shown):
    assert describe_call(spec("Refund order {order}"), {"order": value}) == f"Refund order {shown}"


@pytest.mark.parametrize(
    "hidden",
    [
        "\u202e",
        "\u2066",
        "\u200b",
        "\u200d",
        "\ufeff",
        "\u00ad",
        "\u3164",
        "\u2800",
        "\ufe0f",
        "\U000e0041",
        "\U000e0101",
    ],
)
def test_characters_that_do_not_show_are_removed_from_values_and_names(hidden):
    for text in ("", "Pay {to}"):
        sentence = describe_call(spec(text), {"to": f"al{hidden}ice", f"no{hidden}te": 1})
        assert hidden not in sentence
        assert '"alice"' in sentence
        assert "note" in sentence


def test_a_long_value_does_not_push_the_others_out_of_a_template():
    sentence = describe_call(spec("Send {text} to {to}"), {"text": "x" * 100_000, "to": "bob"})
    assert sentence.endswith(" to bob")
    assert "(100002 characters)" in sentence
    assert len(sentence) < SENTENCE_CHARS


def test_a_template_that_was_broken_after_the_build_counts_as_none():
    assert describe_call(spec("Pay {"), {"a": 1}) == 'Run t with {"a":1}?'


def test_waiting_is_a_refusal_that_a_person_can_lift():
    assert waiting("t", "Run it?").type is ErrorType.CONFIRMATION_REQUIRED
