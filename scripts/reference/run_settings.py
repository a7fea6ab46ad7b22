"""run-settings.md: what a run can be told, how it can end, and the corrections that there are."""

from collections.abc import Iterable, Mapping

import msgspec

from groundwire.contracts.runs import RESUMABLE, Outcome
from groundwire.providers.overrides import RESERVED
from groundwire.providers.transforms import MESSAGE_TRANSFORMS, RESPONSE_TRANSFORMS, TOOL_TRANSFORMS
from groundwire.runtime.runs.options import RunLimits, RunOptions
from groundwire.runtime.runs.presets import PRESETS
from groundwire.runtime.runs.settings import RunSettings
from groundwire.runtime.transforms import TOOL_CALL_TRANSFORMS, TOOL_RESULT_TRANSFORMS
from scripts.reference.markdown import code, explain, page, show_default, show_type, table

SETTINGS = {
    "tool_use_mode": "`relaxed`: tools may be called. `enforced`: a run without a call ends as `no_tool_call`. "
    "`disabled`: none is offered, and none is run.",
    "tool_failure_policy": "With `enforced`, whether a failed tool ends the run as `tool_failed`. `fatal`: if the last call "
    "of any tool failed. `tolerated`: only if every call did.",
    "max_tool_args_bytes": "The size of a call's argument text.",
    "max_tool_output_bytes": "The size of a result as JSON.",
    "tool_choice": "`auto`, `none`, `required`, `any`, or an object that names a tool or several, as clients write it. "
    "It can force the first call of a run, not a second one.",
    "fallback_retry_count": "With `relaxed`: how often a request that failed at the provider is made again without tools.",
    "tool_allowlist": "Names or globs of the tools that may be used. Left out: all. It holds when they are offered and when "
    "they are called.",
    "tool_denylist": "Names or globs of those that may not. Wins over the other.",
    "fix_empty_final": "Whether an empty answer is asked for again.",
    "fix_empty_final_user_text": "The words with which.",
    "fix_empty_final_disable_tools": "Whether no tools are offered then, if some were called before.",
    "request_overrides": "Members for the body of the request, such as `provider` or `temperature`.",
    "message_transforms": "Corrections of messages on their way out.",
    "tool_transforms": "Corrections of declarations on their way out.",
    "response_transforms": "Corrections of the answer before it is read.",
    "tool_call_transforms": "Corrections of calls before they are carried out.",
    "tool_result_transforms": "Corrections of results before a model is shown them.",
}

LIMITS = {
    "max_steps": "Requests to the model.",
    "max_seconds": "Time from the beginning; a request gets no more than what is left.",
    "max_tokens": "Tokens read and written, as the provider counts them.",
    "max_context_tokens": "Tokens of the whole conversation: what the last request read and wrote, in a session also that of the run before.",
    "max_cost": "What `price` makes of them.",
    "max_repairs": "How often an answer that cannot be used is asked for again.",
}

OPTIONS = {
    "model": "Who is asked; see [naming a model](../guides/models.md#naming-a-model).",
    "instructions": "The system prompt. The guides of the tools follow it.",
    "settings": "The settings above.",
    "limits": "The limits above.",
    "approvals": "What a call that needs a person does: [pause](../guides/approvals.md), or answer the model that it waits.",
    "client_tools": "Tools that are offered beside the runtime's own; what is called of them ends the run, for the caller to carry out.",
    "notices": "Whether a run that ends without an answer gets a sentence of ours.",
    "output": "The form of the answer.",
    "sampling": "`temperature`, `top_p`, `seed` and the like.",
    "max_output_tokens": "For each answer.",
    "reasoning": "How much to think.",
    "parallel_calls": "Whether the model may ask for several calls at once.",
    "fallbacks": "Models to ask when this one fails.",
    "session": "The conversation that it belongs to.",
    "tenant": "Whose data.",
    "mode": "`text` or `voice`.",
    "profile": "A profile of [the policies](../guides/policies.md).",
    "request_id": "The request that it is about.",
    "actor": "Who acts; it is recorded.",
    "key_id": "The API key that started the run, if one did through a server. Its calls are [that key's own](../guides/confirmation.md#who-may-decide).",
    "user": "The user, for variants of a tool and for approvals without a session.",
    "organisation": "The organisation, for variants of a tool.",
    "supplied": "Arguments that the executor gives, and the model does not see.",
}

OUTCOMES = {
    "completed": "The model answered.",
    "awaiting_approval": "Calls wait for a person.",
    "client_calls": "The model called tools that the caller carries out itself; those of the runtime are done.",
    "no_tool_call": "`enforced`, and no tool was called.",
    "tool_failed": "`enforced`, and tools failed.",
    "empty_answer": "The model said nothing, also when asked again.",
    "thinking_only": "It thought, and said nothing.",
    "malformed_call": "Its call could not be read.",
    "refused": "The model, or its provider, declined.",
    "cut_off": "The answer was too long for its limit; `text` has what there is.",
    "unexpected_answer": "The answer broke off, or is none that we know.",
    "invalid_output": "The answer does not have the form that was asked for.",
    "loop_detected": "The model kept calling after it was told to answer.",
    "step_limit": "`max_steps`.",
    "time_limit": "`max_seconds`.",
    "token_limit": "`max_tokens`.",
    "cost_limit": "`max_cost`.",
    "provider_error": "The model could not be asked; `failure` says why.",
    "cancelled": "The task was cancelled.",
}

TRANSFORMS = {
    "assistant_tool_calls_content_null_if_blank": "Blank text beside calls becomes null.",
    "assistant_tool_calls_reasoning_content_empty_if_missing": "Messages with calls get an empty `reasoning_content`.",
    "assistant_tool_calls_signature_skip_validator_if_missing": "The first call of a step without a signature gets the one "
    "that Gemini does not check.",
    "openai_tools_strip_function_descriptions": "Functions lose their description; arguments keep theirs.",
    "assistant_function_call_to_tool_calls": "The old `function_call` becomes `tool_calls`.",
    "assistant_tool_calls_object_to_array": "One call without its array, or numbered members, become an array.",
    "assistant_tool_calls_arguments_json_string_if_hash": "Arguments that are an object become JSON text.",
    "assistant_content_tool_call_tags_to_tool_calls": "Calls in `<tool_call>` tags, as Hermes and Qwen write them.",
    "assistant_content_mistral_marks_to_tool_calls": "Calls after `[TOOL_CALLS]`.",
    "assistant_content_llama_python_tag_to_tool_calls": "Calls after `<|python_tag|>`.",
    "assistant_content_llama_function_tags_to_tool_calls": "Calls in `<function=name>` tags.",
    "assistant_content_deepseek_marks_to_tool_calls": "Calls between DeepSeek's marks.",
    "assistant_content_kimi_marks_to_tool_calls": "Calls between Kimi's marks.",
    "assistant_content_harmony_commentary_to_tool_calls": "Calls in the commentary channel of Harmony.",
    "assistant_content_json_fences_to_tool_calls": "A fenced block of JSON that is a call and nothing else.",
    "assistant_content_qwen_coder_tags_to_tool_calls": "Calls in the tags of Qwen Coder.",
    "assistant_content_minimax_tags_to_tool_calls": "Calls in the tags of MiniMax.",
    "assistant_content_special_tokens_trimmed_at_end": "Special tokens at the end of a text are cut off.",
    "assistant_tool_calls_arguments_blank_to_empty_object": "Blank arguments become `{}`.",
    "assistant_tool_calls_arguments_double_encoded_to_object": "JSON text inside a JSON text is read once more.",
    "assistant_tool_calls_arguments_repair_json": "Single quotes, `True`, `None`, comments and a last comma become JSON.",
    "assistant_tool_calls_arguments_drop_repeated_object": "The same object said twice is taken once.",
    "assistant_tool_calls_arguments_unwrap": '`{"arguments": {…}}` becomes what is inside.',
    "assistant_tool_calls_arguments_nested_json_by_schema": "Objects and lists that came as their text, where the schema wants them.",
    "assistant_tool_calls_arguments_coerce_by_schema": '"5" as 5 and the like, where the schema wants it and nothing is lost.',
    "tool_result_compact_envelope": "Envelopes lose what says nothing.",
}

PRESET_MEANINGS = {
    "openai_compatible_reliability": "For servers that speak OpenAI's API more or less.",
    "content_tag_tool_call_fallback": "For models that write `<tool_call>` tags into their text.",
    "deepseek_openrouter_compat": "For DeepSeek over OpenRouter.",
    "gemini_openrouter_compat": "For Gemini over OpenRouter.",
}

_LISTS = {
    "message_transforms": (MESSAGE_TRANSFORMS, "each message, between the codec and the socket"),
    "tool_transforms": (TOOL_TRANSFORMS, "each declared tool, in the same place"),
    "response_transforms": (RESPONSE_TRANSFORMS, "the message of each choice, between the socket and the codec"),
    "tool_call_transforms": (TOOL_CALL_TRANSFORMS, "each call, before validation, whatever API it came from"),
    "tool_result_transforms": (TOOL_RESULT_TRANSFORMS, "each envelope, before it is written for the model"),
}


def generate() -> str:
    explain([name for known, _ in _LISTS.values() for name in known], TRANSFORMS, "transforms")
    explain(PRESETS, PRESET_MEANINGS, "presets")
    explain(Outcome, OUTCOMES, "outcomes")
    return page(
        "Run settings",
        "Everything that a run can be told, and every way in which it can end. How to use it: "
        "[run settings](../guides/run-settings.md), [agents](../guides/agent.md).",
        "## Settings",
        "`Agent(…, settings={…})`, `agent.run(…, settings={…})`, or `--set NAME=VALUE` of `groundwire chat`. Lists may be "
        "comma strings. Unknown names are errors.",
        table(("setting", "type", "default", "meaning"), _rows(RunSettings, SETTINGS, "settings")),
        f"Overrides of {', '.join(code(name) for name in sorted(RESERVED))} are ignored: these belong to the request.",
        "## Limits",
        "`limits={…}`. They are looked at before each request to the model.",
        table(("limit", "type", "default", "meaning"), _rows(RunLimits, LIMITS, "limits")),
        "## Options",
        "Further names that `Agent(…)` takes for all of its runs, and `agent.run(…)` for one.",
        table(("option", "type", "default", "meaning"), _rows(RunOptions, OPTIONS, "options")),
        "## Outcomes",
        "`result.outcome`, and `outcome` of the event `run.ended`. Only the first is a success.",
        table(
            ("outcome", "meaning", "can be resumed"),
            [(code(name), OUTCOMES[name], "yes" if name in RESUMABLE else "") for name in Outcome],
        ),
        "## Transforms",
        "All are off unless named, and are applied in the order named. The first three lists work on the shape of OpenAI "
        "Chat; a request to another API passes them by, with the warning `transforms_skipped`.",
        *[_transforms(name, known, where) for name, (known, where) in _LISTS.items()],
        "## Presets",
        "Functions of `groundwire.presets`; each gives settings in their dict form.",
        table(
            ("preset", "meaning", "settings"),
            [(code(name), PRESET_MEANINGS[name], _shown(preset())) for name, preset in PRESETS.items()],
        ),
    )


def _rows(kind: type[msgspec.Struct], meanings: Mapping[str, str], what: str) -> Iterable[tuple[str, ...]]:
    fields = msgspec.structs.fields(kind)
    explain([field.name for field in fields], meanings, what)
    return [(code(field.name), _type(field.type), show_default(field), meanings[field.name]) for field in fields]


def _type(annotation: object) -> str:
    """Structs of a request are objects to whoever writes them down."""
    shown = show_type(annotation)
    return "object" if shown in ("OutputFormat", "ReasoningOptions", "Sampling", "RunSettings", "RunLimits") else shown


def _transforms(name: str, known: Iterable[str], where: str) -> str:
    rows = table(("name", "what it does"), [(code(one), TRANSFORMS[one]) for one in known])
    return f"### {code(name)}\n\nApplied to {where}.\n\n{rows}"


def _shown(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{code(name)}: {_value(value)}" for name, value in settings.items())


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(code(one) for one in value)
    return code(msgspec.json.encode(value).decode())
