"""Whether a supplier said it: the runtime's own rule over a history, and what each mode makes of the answer.

Bot lines never count. Text that a machine sent (a canned reply, a recalled message, an unread recording) may show that
media came or when somebody is back, but is no fact about goods.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from groundwire import Ground, find_evidence, say
from groundwire.apps.supplier.contracts import Grounding, GroundingMode, HistoryEntry, NearMiss, TraceEntry
from groundwire.apps.supplier.messages import classify_message

QUOTE = "supplierQuote"
_RULE = {QUOTE: Ground(by="quote", speaker="supplier")}
_NEAR_MISSES: dict[str, NearMiss] = {
    "empty": "empty",
    "trivial": "trivial",
    "whitespace": "whitespace",
    "punctuation_width": "punctuation_width",
    "merged_messages": "merged_messages",
    "other_speaker": "bot_text",
}
_FACTS = frozenset({"log_data", "note_blocker", "note_file_request"})
"""What settles goals needs the words of a person."""


def turn_at(history: Sequence[HistoryEntry], place: int) -> int:
    """The turn that says, or answers, the entry at this place. Turn 1 is the bot's opening line."""
    return 1 + sum(1 for entry in history[:place] if entry.role == "bot")


def ground_quote(quote: object, history: Sequence[HistoryEntry], *, is_fact: bool = False) -> Grounding:
    """Where the words were said, or why they are no evidence. No quote at all is not judged; an empty one fails."""
    if quote is None:
        return Grounding(grounded=None)
    if not isinstance(quote, str):
        return Grounding(grounded=False, near_miss="empty")
    counts = [not is_fact or _is_readable(history, place) for place in range(len(history))]
    found = _locate(quote, history, counts.__getitem__)
    if found.grounded or not is_fact:
        return found
    if _locate(quote, history, lambda place: not counts[place]).grounded:
        return Grounding(grounded=False, near_miss="canned")
    return found


def ground_trace(
    trace: Iterable[TraceEntry], history: Sequence[HistoryEntry], mode: GroundingMode
) -> tuple[TraceEntry, ...]:
    """The trace with its evidence. In strict mode what has none is gone; what is malformed stays, marked as it is."""
    judged = [replace(entry, grounding=ground_entry(entry, history)) for entry in trace]
    if mode is GroundingMode.STRICT:
        judged = [entry for entry in judged if is_supported(entry)]
    return tuple(judged)


def ground_entry(entry: TraceEntry, history: Sequence[HistoryEntry]) -> Grounding:
    return ground_quote(entry.args.get(QUOTE), history, is_fact=entry.name in _FACTS)


def is_supported(entry: TraceEntry) -> bool:
    return not entry.valid or entry.grounding is None or entry.grounding.grounded is not False


def _is_readable(history: Sequence[HistoryEntry], place: int) -> bool:
    return history[place].role == "bot" or classify_message(history, place).readable


def _locate(quote: str, history: Sequence[HistoryEntry], counts: Callable[[int], bool]) -> Grounding:
    # The place stands in for the turn, because the runtime's evidence names nothing else of a message.
    said = [say(entry.role, entry.content, turn=place) for place, entry in enumerate(history) if counts(place)]
    evidence = find_evidence({QUOTE: quote}, _RULE, said)[0]
    if not evidence.grounded or evidence.turn is None:
        return Grounding(grounded=False, near_miss=_NEAR_MISSES.get(evidence.near_miss or "", "paraphrase"))
    place = evidence.turn
    return Grounding(
        grounded=True,
        matched_turn=turn_at(history, place),
        message=place,
        start=evidence.start,
        end=evidence.end,
    )
