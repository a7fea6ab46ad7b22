"""From a message to a moment at which to come back: which phrase counts, how far it may reach, and when we act.

It knows no history; silence is not its business.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from groundwire.apps.supplier.contracts import FollowUpTiming
from groundwire.apps.supplier.reading.folding import Clause, clauses, fold
from groundwire.apps.supplier.timing.calendars import CHINA, OFFICE, SHANGHAI, Calendar, UnknownYear, WorkingHours
from groundwire.apps.supplier.timing.phrases import RULES, Rule
from groundwire.apps.supplier.timing.resolvers import Said

HORIZON = timedelta(days=30)
"""Nothing is scheduled later than this; a person is told instead."""

_REPLY = re.compile(
    r"回复|答复|告诉|[给发回找报跟和][你您]|联系|问(?!题)|确认(?!.{0,5}后|稿|样|收货|订单|款)|报价|报个价|找一下|看看|准信|通知|再[说聊谈联看]|核价|核算|算[给一下]|答应|出价|回信|回话|消息"
)
_SHIPPING = re.compile(
    r"发货|出货|交货|到货|做货|打样|寄样|出样|寄出|发出|发快递|下单|生产|送货|提货|补货|发走|质保|保修|上新"
)
_NEVER = re.compile(r"(?:联系|回复|看看|找|告诉|通知|问)(?:不到|不了)")
_PARTICLES = re.compile(r"[吧哈哦啊呢呀的了哟亲好嗯再就\s]{0,6}")
_CONFIDENCE = {"high": 0, "medium": 1, "low": 2}


@dataclass(frozen=True, kw_only=True)
class TimingReading:
    """`timing` is None where the phrase needs the holidays of `unknown_year`. With a timing, an unknown year means that
    the moment could not be moved into working hours. `escalate`: what was said is beyond the horizon.

    The quote is `message[start:end]`; `phrase` is the part of it that tells the time.
    """

    timing: FollowUpTiming | None
    phrase: str
    start: int
    end: int
    rule: str
    escalate: bool = False
    unknown_year: int | None = None


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    rule: Rule
    order: int
    clause: Clause
    phrase: str
    moment: datetime | None
    unknown_year: int | None = None


def read_timing(
    text: str, now: datetime, *, calendar: Calendar = CHINA, hours: WorkingHours = OFFICE
) -> TimingReading | None:
    """What the message says about when its sender will come back to us; None if nothing.

    Of several phrases the surest counts, then the most exact, then the first.
    """
    clock = _in_shanghai(now)
    return _choose(_find_candidates(fold(text), clock, calendar), text, clock, calendar, hours)


def read_promise(
    text: str, now: datetime, *, calendar: Calendar = CHINA, hours: WorkingHours = OFFICE
) -> TimingReading | None:
    """The same for words that somebody takes for a promise already: they need no verb. Times of shipping are none."""
    clock = _in_shanghai(now)
    found = _find_candidates(fold(text), clock, calendar, promised=True)
    return _choose(found, text, clock, calendar, hours)


def _in_shanghai(now: datetime) -> datetime:
    return now.astimezone(SHANGHAI) if now.tzinfo else now.replace(tzinfo=SHANGHAI)


def _choose(
    found: Iterator[_Candidate], text: str, clock: datetime, calendar: Calendar, hours: WorkingHours
) -> TimingReading | None:
    candidates = list(found)
    if not candidates:
        return None
    best = min(candidates, key=lambda one: (_CONFIDENCE[one.rule.confidence], one.order, one.clause.start))
    quote = text[best.clause.start : best.clause.end]
    if best.moment is None:
        return _reading(best, None, unknown_year=best.unknown_year)
    due, clamped_to, unknown_year = _act_at(best.moment, clock, calendar, hours)
    timing = FollowUpTiming(
        delay_hours=round((best.moment - clock) / timedelta(hours=1), 1),
        raw_phrase=quote,
        confidence=best.rule.confidence,
        due_at=due.isoformat(),
        clamped_to=clamped_to,
    )
    return _reading(best, timing, escalate=best.moment - clock > HORIZON, unknown_year=unknown_year)


def find_phrase(text: str, now: datetime, calendar: Calendar = CHINA) -> tuple[Rule, datetime] | None:
    """The first rule of the table that these words meet, whatever they are about. It may raise `UnknownYear`."""
    for rule in RULES:
        for match in rule.pattern.finditer(text):
            if (moment := rule.resolve(Said(match, now, calendar))) is not None:
                return rule, moment
    return None


def _find_candidates(folded: str, now: datetime, calendar: Calendar, *, promised: bool = False) -> Iterator[_Candidate]:
    """A phrase counts where its clause has a verb of replying and none of shipping. A clause that is nothing but a time
    takes the verb of the next."""
    parts = clauses(folded)
    for place, clause in enumerate(parts):
        if clause.asks or _SHIPPING.search(clause.text) or _NEVER.search(clause.text):
            continue
        following = parts[place + 1].text if place + 1 < len(parts) else ""
        answers = promised or _REPLY.search(clause.text) is not None
        lent = _REPLY.search(following) is not None and not _SHIPPING.search(following)
        for order, rule in enumerate(RULES):
            candidate = _try(rule, order, clause, now, calendar)
            if candidate and (answers or rule.alone or (lent and _is_nothing_else(clause.text, candidate.phrase))):
                yield candidate
                break


def _try(rule: Rule, order: int, clause: Clause, now: datetime, calendar: Calendar) -> _Candidate | None:
    for match in rule.pattern.finditer(clause.text):
        moment, unknown_year = None, None
        try:
            moment = rule.resolve(Said(match, now, calendar))
        except UnknownYear as unknown:
            unknown_year = unknown.year
        except OverflowError:  # the end of all calendars
            return None
        if moment is not None or unknown_year is not None:
            return _Candidate(
                rule=rule, order=order, clause=clause, phrase=match[0], moment=moment, unknown_year=unknown_year
            )
    return None


def _is_nothing_else(words: str, phrase: str) -> bool:
    before, _, after = words.partition(phrase)
    return _PARTICLES.fullmatch(before) is not None and _PARTICLES.fullmatch(after) is not None


def plan_return(
    hours_from_now: float, now: datetime, *, calendar: Calendar = CHINA, hours: WorkingHours = OFFICE
) -> tuple[datetime, str, int | None]:
    """When to come back after so many hours, why that is another moment (within working hours, before the horizon), and
    the year whose working days nobody knows."""
    clock = now.astimezone(SHANGHAI)
    return _act_at(clock + timedelta(hours=hours_from_now), clock, calendar, hours)


def _act_at(said: datetime, now: datetime, calendar: Calendar, hours: WorkingHours) -> tuple[datetime, str, int | None]:
    """When we act, why it is another moment than was said, and the year that nobody knows."""
    latest = now + HORIZON
    due, reason = (latest, "cap") if said > latest else (said, "")
    try:
        clamped = hours.clamp(due, calendar)
        if clamped > latest:
            clamped = hours.clamp_back(due, calendar)
    except UnknownYear as unknown:
        return due, reason, unknown.year
    return clamped, reason or ("working_hours" if clamped != due else ""), None


def _reading(
    best: _Candidate, timing: FollowUpTiming | None, *, escalate: bool = False, unknown_year: int | None = None
) -> TimingReading:
    return TimingReading(
        timing=timing,
        phrase=best.phrase,
        start=best.clause.start,
        end=best.clause.end,
        rule=best.rule.name,
        escalate=escalate,
        unknown_year=unknown_year,
    )
