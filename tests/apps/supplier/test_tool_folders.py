"""The seven tools as models see them."""

import subprocess
import sys

import pytest

from groundwire import Runtime, Settings
from groundwire.apps.supplier.agents import BOT_TOOLS, SUMMARY_TOOLS, supplier_registry, with_grounding
from groundwire.apps.supplier.contracts import TAXONOMY, BlockerType, GroundingMode

BLOCKERS = {"moq_mismatch", "spec_refusal", "authority_boundary", "price_dead_end", "quantity_too_low"}


def parameters_of(name):
    return supplier_registry().find(name).spec.parameters


def enum_of(name, argument):
    return set(parameters_of(name)["properties"][argument]["enum"])


@pytest.mark.requirement("A-017", "A-019", "A-021", "A-023", "A-051", "A-054", "A-056")
def test_the_bot_has_four_tools_and_the_summary_agent_three():
    assert {tool.spec.tool_id for tool in supplier_registry()} == {*BOT_TOOLS, *SUMMARY_TOOLS}


@pytest.mark.requirement(
    "A-030", "A-031", "A-032", "A-033", "A-034", "A-037", "A-038", "A-039", "A-040", "A-041", "A-042", "A-043",
    "A-045", "A-046", "A-052", "A-053", "X-15",
)  # fmt: skip
def test_the_values_that_a_model_may_choose_are_those_of_the_contract():
    assert enum_of("note_blocker", "blockerType") == BLOCKERS == {one.value for one in BlockerType}
    assert enum_of("flag_escalation", "blockerType") == BLOCKERS
    assert enum_of("note_file_request", "assetType") == {"logo", "design", "spec_sheet", "sample_photo", "other"}
    assert enum_of("note_file_request", "urgency") == {"blocking_quote", "nice_to_have"}
    assert enum_of("acknowledge_media", "mediaType") == {"image", "file"}
    assert enum_of("emit_signal", "signalType") == {"asset_request", "manual_review", "wechat_redirect"}
    assert enum_of("log_data", "goalId") == set(TAXONOMY) == enum_of("note_blocker", "goalId")


@pytest.mark.requirement("A-027", "A-028", "A-029", "A-035", "A-036", "A-044", "A-047", "A-100")
@pytest.mark.parametrize("name", BOT_TOOLS)
def test_every_capture_needs_all_of_its_arguments_and_the_words_that_bear_it_out(name):
    parameters = parameters_of(name)
    assert set(parameters["required"]) == set(parameters["properties"])
    assert parameters["properties"]["supplierQuote"]["type"] == "string"


REFUSED = {
    "a number for a text": {"goalId": "moq", "value": 300, "supplierQuote": "300起"},
    "a goal that nobody knows": {"goalId": "colour", "value": "300", "supplierQuote": "300起"},
    "no quote": {"goalId": "moq", "value": "300"},
    "more than there is": {"goalId": "moq", "value": "300", "supplierQuote": "300起", "note": "x"},
}


@pytest.mark.requirement("A-026", "A-027")
@pytest.mark.parametrize("case", REFUSED)
async def test_a_capture_that_breaks_its_schema_is_refused(case):
    async with Runtime(supplier_registry()) as runtime:
        envelope = await runtime.call("log_data", REFUSED[case])
    assert not envelope.ok
    assert envelope.error.type == "VALIDATION"


@pytest.mark.requirement("A-015", "A-014")
async def test_no_capture_reaches_out_of_its_process(monkeypatch):
    import socket

    def refuse(*_, **__):
        raise AssertionError("a capture opened a connection")

    captures = {
        "log_data": {"goalId": "moq", "value": "300", "supplierQuote": "300起"},
        "note_blocker": {
            "goalId": "moq",
            "blockerType": "moq_mismatch",
            "reason": "x",
            "supplierQuote": "300起",
        },
        "note_file_request": {"assetType": "logo", "urgency": "nice_to_have", "supplierQuote": "300起"},
        "acknowledge_media": {"mediaType": "image", "description": "x", "supplierQuote": "300起"},
    }
    settings = with_grounding(Settings(), GroundingMode.REPORT)
    async with Runtime(supplier_registry(), settings=settings) as runtime:
        monkeypatch.setattr(socket, "socket", refuse)
        results = [await runtime.call(name, arguments) for name, arguments in captures.items()]
    assert [(result.ok, result.data) for result in results] == [(True, {"recorded": True})] * 4


@pytest.mark.requirement("A-096")
def test_the_application_needs_no_agent_framework():
    code = "import sys, groundwire.apps.supplier.pipeline; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    frameworks = {
        "langchain",
        "langchain_core",
        "langgraph",
        "pydantic_ai",
        "agents",
        "smolagents",
        "crewai",
        "llama_index",
    }
    assert not frameworks & {name.partition(".")[0] for name in loaded}
