"""Figures as people read them, the same in every form of a report. It counts nothing."""

from groundwire.evals.estimates import Interval


def percent(rate: float) -> int:
    """Whole, but 100 only where nothing failed, and 0 only where nothing passed."""
    return min(max(round(rate * 100), 1), 99) if 0 < rate < 1 else round(rate * 100)


def say_rate(rate: float | None) -> str:
    return "–" if rate is None else f"{percent(rate)} %"


def say_interval(interval: Interval) -> str:
    return f"{interval.low * 100:.0f}–{interval.high * 100:.0f} %"


def say_milliseconds(milliseconds: float | None) -> str:
    return "–" if milliseconds is None else f"{milliseconds:.0f}"


def say_duration(milliseconds: float | None) -> str:
    """With a unit that keeps the number short."""
    if milliseconds is None:
        return "–"
    if milliseconds < 10:
        return f"{milliseconds:.2g} ms"
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1_000
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds:.0f} s"


def say_count(count: int) -> str:
    """Thousands apart, by a space that does not break."""
    return f"{count:,}".replace(",", "\u202f")


def say_cost(cost: float | None) -> str:
    if cost is None:
        return "–"
    return f"${cost:.4f}" if 0 < cost < 1 else f"${cost:.2f}"


def say_plural(count: int, noun: str) -> str:
    return f"{say_count(count)} {noun}" if count == 1 else f"{say_count(count)} {noun}s"
