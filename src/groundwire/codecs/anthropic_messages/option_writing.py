"""Everything of a request beside the conversation: tools and the choice among them, sampling, output, thinking."""

from groundwire.codecs.anthropic_messages.declarations import write_tool
from groundwire.codecs.anthropic_messages.profile import DIALECT, Profile
from groundwire.codecs.anthropic_messages.request_reading import EFFORTS
from groundwire.codecs.anthropic_messages.strict_schema import to_strict
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.private import give_back, take_own
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import NotExpressible
from groundwire.contracts.requests import (
    DeclaredTool,
    FunctionTool,
    ModelRequest,
    NativeTool,
    OutputFormat,
    ReasoningOptions,
)

_MIN_BUDGET = 1024
_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 24576, "max": 32768}
JSON_ONLY = "Answer with one JSON value and nothing else."


def write_tools(
    tools: tuple[DeclaredTool, ...], offered: tuple[str, ...], names: NameTable, profile: Profile, losses: Losses
) -> list[JsonObject]:
    """The offered tools; all, if none is named."""
    written: list[JsonObject] = []
    for place, tool in enumerate(tools):
        is_foreign = isinstance(tool, NativeTool) and tool.origin != DIALECT
        name = tool.name if isinstance(tool, FunctionTool) else tool.value.get("name")
        if offered and name not in offered and not is_foreign:
            continue
        value = write_tool(tool, f"tools[{place}]", names, profile, losses)
        if value is not None:
            written.append(value)
    if offered:
        losses.add("choice_approximated", "tool_choice", "Only the tools that may be chosen are offered.")
    return written


def offered_names(request: ModelRequest, profile: Profile) -> tuple[str, ...]:
    """The tools that the choice is limited to: the API has no list of allowed names, so only these are offered."""
    choice = request.tool_choice
    if choice is None or choice.mode == "none" or not choice.names:
        return ()
    can_force = profile.allows_forced_choice and not _has_own_budget(request.reasoning, profile)
    return () if choice.mode == "required" and len(choice.names) == 1 and can_force else choice.names


def _has_own_budget(reasoning: ReasoningOptions | None, profile: Profile) -> bool:
    """Whether thinking was asked for in this dialect, in the way that forbids a forced choice."""
    if reasoning is None or DIALECT not in reasoning.private:
        return False
    thinking = _thinking(reasoning, profile, Losses())
    return thinking is not None and thinking.get("type") == "enabled"


def write_choice(request: ModelRequest, body: JsonObject, names: NameTable, profile: Profile, losses: Losses) -> None:
    """Set `tool_choice`, as far as the rest of the body allows it."""
    choice = request.tool_choice
    parallel = request.parallel_calls
    if not body.get("tools"):
        if choice is not None and choice.mode == "required":
            if choice.names:
                raise NotExpressible("The tool choice names no tool that is on offer.", path="tool_choice")
            losses.add("choice_approximated", "tool_choice", "Without tools nothing can be required.")
        return
    if choice is None and parallel is not False:
        return
    mode = "auto" if choice is None else choice.mode
    written: JsonObject = {"type": mode}
    if choice is not None and mode == "required":
        thinking = body.get("thinking")
        is_thinking = isinstance(thinking, dict) and thinking.get("type") == "enabled"
        if is_thinking or not profile.allows_forced_choice:
            written = {"type": "auto"}
            reason = "while thinking" if is_thinking else "on this model"
            losses.add(
                "choice_approximated", "tool_choice", f"A call cannot be forced {reason}; it is left to the model."
            )
        elif len(choice.names) == 1:
            written = {"type": "tool", "name": names.wire(choice.names[0], "tool_choice")}
        else:
            written = {"type": "any"}
    if parallel is not None and mode != "none":
        written["disable_parallel_tool_use"] = not parallel
    if choice is not None:
        give_back(written, take_own(choice.private, DIALECT, "tool_choice", losses))
    body["tool_choice"] = written


def write_sampling(request: ModelRequest, body: JsonObject, profile: Profile, losses: Losses) -> None:
    sampling = request.sampling
    wanted: list[tuple[str, float | None]] = [
        ("temperature", sampling.temperature),
        ("top_p", sampling.top_p),
        ("top_k", sampling.top_k),
    ]
    for name, value in wanted:
        if value is None:
            continue
        if not profile.takes_sampling:
            losses.add("option_dropped", f"sampling.{name}", "This model or version has no sampling options.")
            continue
        if name == "temperature" and value > profile.max_temperature:
            losses.add("option_adjusted", "sampling.temperature", f"{value} was lowered to {profile.max_temperature}.")
            value = profile.max_temperature  # noqa: PLW2901 - the value to send
        body[name] = int(value) if name == "top_k" and float(value).is_integer() else value
    for name, left_out in (
        ("seed", sampling.seed is not None),
        ("presence_penalty", bool(sampling.presence_penalty)),
        ("frequency_penalty", bool(sampling.frequency_penalty)),
    ):
        if left_out:
            losses.add("option_dropped", f"sampling.{name}", f"The dialect has no {name}.")
    if sampling.count is not None and sampling.count > 1:
        losses.add(
            "option_dropped",
            "sampling.count",
            "Only one answer can be asked for here, not several (n, candidateCount).",
        )
    stops = [stop for stop in sampling.stop if stop and not stop.isspace()]
    if len(stops) < len(sampling.stop):
        losses.add("option_dropped", "sampling.stop", "Stop strings of whitespace alone are refused.")
    if stops:
        body["stop_sequences"] = list(stops)


def write_format(output: OutputFormat | None, body: JsonObject, losses: Losses) -> None:
    """The schema, named and described inside itself if the sender did so beside it."""
    if output is None or output.type == "text":
        return
    if output.type == "json" or output.schema is None:
        losses.add("format_approximated", "output", "JSON without a schema is asked for in the system prompt.")
        return
    own = take_own(output.private, DIALECT, "output", losses)
    schema = output.schema
    if "_own" not in own:
        converted = to_strict(schema)
        losses.add_schema("output.schema", converted.warnings)
        schema = converted.schema
    if output.description is not None and "description" not in schema:
        schema = {"description": output.description, **schema}
    if output.name is not None and "title" not in schema:
        schema = {"title": output.name, **schema}
    written = give_back({"type": "json_schema", "schema": schema}, own)
    if "_beta" in own:
        body["output_format"] = written
    else:
        _output_config(body)["format"] = written


def write_reasoning(request: ModelRequest, body: JsonObject, profile: Profile, losses: Losses) -> None:
    """Set `thinking`, `output_config.effort` and a `max_tokens` that leaves room for the budget."""
    options = request.reasoning
    if options is None:
        return
    own = take_own(options.private, DIALECT, "reasoning", losses)
    thinking = _thinking(options, profile, losses)
    if thinking is not None and not own.get("thinking"):
        thinking = _beside_choice(thinking, request, body, profile, losses)
    if thinking is not None and not own.get("thinking"):
        thinking = _fitting(thinking, request, body, losses)
    if thinking is not None:
        body["thinking"] = thinking
    effort = options.effort
    if effort is None or effort == "none":
        return
    if profile.thinking in ("budget", "none") and not own:
        return
    if effort == "minimal" and not own:
        effort = "low"
        losses.add("option_adjusted", "reasoning.effort", "'minimal' was raised to 'low'.")
    if effort not in EFFORTS and not own:
        losses.add("option_dropped", "reasoning.effort", f"{effort!r} is no effort of this dialect.")
        return
    _output_config(body)["effort"] = effort


def _thinking(options: ReasoningOptions, profile: Profile, losses: Losses) -> JsonObject | None:
    own = options.private.get(DIALECT)
    original = None if own is None else own.get("thinking")
    if isinstance(original, dict):
        return _accepted(original, options, profile, losses)
    if own is not None:
        return None
    if options.budget == 0 or options.effort == "none":
        return None if profile.thinking == "none" else {"type": "disabled"}
    if options.budget is None and options.effort is None:
        if options.summary:
            losses.add("option_dropped", "reasoning.summary", "Thoughts are told only when thinking is asked for.")
        return None
    wanted: JsonObject = {"type": "adaptive"}
    if options.budget is not None and options.budget > 0:
        wanted = {"type": "enabled", "budget_tokens": options.budget}
    if options.summary is not None:
        wanted["display"] = "summarized" if options.summary else "omitted"
    return _accepted(wanted, options, profile, losses)


def _accepted(wanted: JsonObject, options: ReasoningOptions, profile: Profile, losses: Losses) -> JsonObject | None:
    """The configuration in the form that the model takes."""
    kind = wanted.get("type")
    if profile.thinking == "any" or kind == "disabled":
        return wanted
    if profile.thinking == "none":
        losses.add("option_dropped", "reasoning", "This model does not think.")
        return None
    display = {"display": wanted["display"]} if "display" in wanted else {}
    if profile.thinking == "adaptive" and kind == "enabled":
        losses.add("option_adjusted", "reasoning.budget", "This model decides itself how much to think.")
        return {"type": "adaptive", **display}
    if profile.thinking == "budget" and kind != "enabled":
        budget = _BUDGETS.get(options.effort or "medium", _BUDGETS["medium"])
        losses.add("option_adjusted", "reasoning.effort", f"Sent as a budget of {budget} tokens.")
        return {"type": "enabled", "budget_tokens": budget, **display}
    return wanted


def _beside_choice(
    thinking: JsonObject, request: ModelRequest, body: JsonObject, profile: Profile, losses: Losses
) -> JsonObject | None:
    """With a budget of thinking a forced call is refused, with adaptive thinking it is not certain: the call goes first."""
    choice = request.tool_choice
    is_forced = choice is not None and choice.mode == "required" and profile.allows_forced_choice and "tools" in body
    if thinking["type"] == "disabled" or not is_forced:
        return thinking
    losses.add("option_dropped", "reasoning", "The model does not think before a call that is forced.")
    return None


def _fitting(thinking: JsonObject, request: ModelRequest, body: JsonObject, losses: Losses) -> JsonObject | None:
    """A budget has a least size and must be smaller than `max_tokens`, which grows if the caller named none."""
    budget = thinking.get("budget_tokens")
    if not isinstance(budget, int):
        return thinking
    fitting = max(budget, _MIN_BUDGET)
    limit = request.max_output_tokens
    if limit is None:
        body["max_tokens"] = max(int(str(body["max_tokens"])), fitting + _MIN_BUDGET)
    elif fitting >= limit:
        fitting = limit - 1
    if fitting < _MIN_BUDGET:
        losses.add("option_dropped", "reasoning.budget", f"{limit} tokens leave no room for thinking.")
        return None
    if fitting != budget:
        losses.add("option_adjusted", "reasoning.budget", f"{budget} was changed to {fitting}.")
    return {**thinking, "budget_tokens": fitting}


def _output_config(body: JsonObject) -> JsonObject:
    config = body.setdefault("output_config", {})
    if not isinstance(config, dict):
        config = body["output_config"] = {}
    return config
