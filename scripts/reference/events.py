"""events.md: what a run or a turn tells whoever listens."""

import typing

import msgspec

from groundwire.contracts.events import Event
from scripts.reference.markdown import code, explain, page, show_type, table

# Whether anything emits it today, and when.
WHEN = {
    "run.started": (True, "A run begins, or is taken up again."),
    "text.delta": (True, "A piece of the model's text, where it is streamed; `step` counts the requests."),
    "call.started": (True, "A call comes in, before any check."),
    "call.progress": (True, "A handler reports progress, or a streaming one yields a value."),
    "call.denied": (True, "A call was refused; `step` is where in [the pipeline](pipeline.md)."),
    "call.finished": (True, "A call has its result; for refused calls too, after `call.denied`."),
    "intent.applied": (True, "An intent changed the session's state."),
    "approval.requested": (True, "A call waits for a person."),
    "turn.ended": (True, "The turn is over and durable."),
    "run.ended": (
        True,
        "A run is over, or pauses, and everything is durable; `outcome` is [how](run-settings.md#outcomes).",
    ),
    "job.ended": (
        True,
        "A [background call](../guides/jobs.md#background-tools) of an earlier turn has ended since; right after `run.started`.",
    ),
    "app": (False, "An application's own event."),
}


def generate() -> str:
    events = {event.__struct_config__.tag: event for event in typing.get_args(Event)}
    explain(events, WHEN, "events")
    rows = [(code(name), when, _fields(events[name])) for name, (emitted, when) in WHEN.items() if emitted]
    later = ", ".join(code(name) for name, (emitted, _) in WHEN.items() if not emitted)
    return page(
        "Events",
        "What happens in a run or a turn, in order. `agent.stream(…)` gives the events of a run, and so does "
        "`groundwire chat --json`. For a turn of your own, give `on_event=` to `runtime.turn()` or `runtime.call()`; the "
        "function gets one value per event, on the event loop's thread. It should be quick, and must not raise.",
        table(("event", "when", "fields"), rows),
        "`event.event` is the name. As JSON the name is the field `event`, and the other fields stand beside it.",
        "A call always begins with `call.started` and ends with `call.finished`. A call id that was closed before gives "
        "both again, with the stored result. A call that waits for a person in a run that pauses has begun, gives "
        "`approval.requested`, and begins again when the run is taken up.",
        f"{later} is reserved: the type exists, and nothing emits it yet.",
    )


def _fields(event: type[msgspec.Struct]) -> str:
    return ", ".join(f"{code(field.name)} ({show_type(field.type)})" for field in msgspec.structs.fields(event))
