"""The knobs of a provider's profile, for settings.md."""

from collections.abc import Iterator

from msgspec.structs import fields

from groundwire.codecs.dialects import codec_of
from groundwire.contracts.requests import DIALECTS
from scripts.reference.markdown import code, explain, show_default, show_type

MEANINGS = {
    "openai-chat.maxTokensField": "The member that limits the answer.",
    "openai-chat.callIds": "What it takes as a call id: `pattern`, and `prefix` and `length` of those made for it.",
    "openai-chat.mergeSameRole": "Neighbours of one role share a message.",
    "openai-chat.toolMessageName": "Results carry the tool's name.",
    "openai-chat.emptyContent": "What stands beside calls without text.",
    "openai-chat.requiresReasoningContent": "Every message of the model carries `reasoning_content`.",
    "openai-chat.droppedOptions": "Members of the body that are left out, by their names on the wire.",
    "openai-chat.effortWithTools": "The only `reasoning_effort` beside tools.",
    "openai-chat.systemRole": "The role of system messages. Left out: as they are.",
    "openai-chat.refusesRequired": "It does not know a forced choice.",
    "openai-chat.requiredWord": "How a forced choice is spelled.",
    "openai-chat.allowedTools": "It knows `allowed_tools`; else only the chosen tools are offered.",
    "openai-chat.customTools": "It knows tools of free text; else they take the argument `input`.",
    "openai-chat.maxDescription": "Longer descriptions of tools are cut.",
    "openai-chat.minimalMessages": "Messages without members that only some servers know.",
    "openai-chat.flatText": "Texts in several parts become one string.",
    "openai-chat.googleSignatures": "Thought signatures go along in `extra_content`.",
    "openai-chat.streamUsage": "Streams are asked for their usage.",
    "openai-chat.takesMaxTokens": "A limit that was written as `max_tokens` is sent so; else as `maxTokensField` says.",
    "openai-chat.takesTopK": "It knows `top_k`.",
    "openai-responses.sendItemIds": "Items are replayed with their ids.",
    "openai-responses.statusNull": "Replayed calls without a status say so.",
    "openai-responses.groupCalls": "All calls of a step come before all of its results.",
    "openai-responses.droppedOptions": "Members of the body that are left out.",
    "openai-responses.explicitStrict": "Tools say `strict: false` where nothing was said.",
    "openai-responses.audioInput": "It takes sound in messages.",
    "openai-responses.maxDescription": "Longer descriptions of tools are cut.",
    "anthropic.version": "The version of the API that the body is written for.",
    "anthropic.allowsSampling": "It takes temperature and its like.",
    "anthropic.allowsForcedChoice": "A call may be forced.",
    "anthropic.allowsSystemMessages": "System messages may stand in the conversation.",
    "anthropic.allowsPrefill": "The last message may be the model's.",
    "anthropic.strictTools": "Tools may be strict.",
    "anthropic.thinking": "Which configurations of thinking it takes.",
    "anthropic.defaultMaxTokens": "`max_tokens` where the request names none.",
    "anthropic.maxTemperature": "The highest temperature.",
    "gemini.signatures": "Whether calls must carry a thought signature.",
    "gemini.nativeSchema": "Functions are declared with `parameters` in upper case.",
    "gemini.mediaInResults": "Results may hold images and sounds.",
    "gemini.thinking": "How thinking is asked for.",
    "gemini.levels": "The levels of thinking that it knows.",
    "gemini.budgetRange": "The smallest and the largest budget for thinking.",
    "gemini.validatedMode": "Strict tools may be asked for with the mode VALIDATED.",
    "gemini.outputWithTools": "A form of the answer may be asked for beside tools; else the system prompt asks for it.",
    "gemini.droppedOptions": "Options that are left out, by our names: `seed`, `top_k` …",
}


def knob_rows() -> Iterator[tuple[str, ...]]:
    found = [(dialect, knob) for dialect in DIALECTS for knob in fields(codec_of(dialect).Profile)]
    explain([f"{dialect}.{knob.encode_name}" for dialect, knob in found], MEANINGS, "knobs")
    for dialect, knob in found:
        meaning = MEANINGS[f"{dialect}.{knob.encode_name}"]
        yield code(dialect), code(knob.encode_name), show_type(knob.type), show_default(knob), meaning
