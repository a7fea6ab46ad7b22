"""When somebody will answer, in the words of a chat: an ordered table of phrases, the more exact before the vaguer.

A phrase here is a time and nothing more. Whether it is about an answer at all is for the reader to say.
"""

import re
from dataclasses import dataclass
from datetime import timedelta

from groundwire.apps.supplier.contracts import Confidence
from groundwire.apps.supplier.reading.numbers import NUMBER
from groundwire.apps.supplier.timing import moments
from groundwire.apps.supplier.timing.resolvers import (
    AT_TEN,
    Resolve,
    after_festival,
    after_time,
    resolve_clock,
    resolve_date,
    resolve_day,
    resolve_month,
    resolve_office,
    resolve_part,
    resolve_weekday,
    resolve_workdays,
    wait_for,
)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """`alone`: the words promise an answer without any verb, as 稍等 does."""

    name: str
    pattern: re.Pattern[str]
    resolve: Resolve
    confidence: Confidence
    alone: bool = False


_SMALL = r"(?:(?<![0-9.])[0-9]{1,2}(?![0-9])|(?<![一二两三四五六七八九十百])[一二两三四五六七八九十]{1,3})"
_DAY = r"(?P<day>大后天|(?<![明大])后天|[明今][天日儿]|明(?=早|晚|上午|中午|下午)|今(?=晚|早))"
_WEEK = r"(?:周|星期|礼拜)"
_WEEKDAY = rf"(?P<week>下下个?|下个?|这个?|本)?{_WEEK}(?P<weekday>[一二三四五六日天])"
_DATE = (
    rf"(?:(?P<month>{_SMALL}|下个?)月(?:份的?)?)?(?P<date>{_SMALL})(?:号(?![色球楼线电码款院厂机位])|日(?![元内后用]))"
)
_PART = (
    r"(?P<part>一早|大早|早上|早晨|早(?![点些就])|上午|中午|午饭后|下午|傍晚|下班前?|晚上|晚(?!点|些|一点|一些|几|饭))"
)
_CLOCK = rf"(?P<hour>{_SMALL})\s?(?:点钟?(?:(?P<half>半)|(?P<quarter>[一三]刻)|(?P<minutes>[0-9]{{1,2}})分?)?|:(?P<clock>[0-5][0-9])(?![0-9]))"
_BAN = "一二两三四五六七八九"
_RANGE = rf"(?:(?<![0-9{_BAN}十百千万.])(?P<pair>[{_BAN}]{{2}})|{NUMBER}\s?[-~到至、]\s?(?P<high>{NUMBER}))"
_ONE = rf"(?P<low>{NUMBER})"
_LATER = r"(?:之后|以后|后|之内|以内|内)"
_AFTER = r"(?:假期|长假|放假|节)?(?:之后|以后|后|过后|结束|回来|过完)"


def _rule(name: str, pattern: str, resolve: Resolve, confidence: Confidence, *, alone: bool = False) -> Rule:
    return Rule(name=name, pattern=re.compile(pattern), resolve=resolve, confidence=confidence, alone=alone)


_HOUR, _DAY_LONG, _WEEK_LONG = timedelta(hours=1), timedelta(days=1), timedelta(weeks=1)
_NOT_COUNTED = r"(?<![0-9一二两三四五六七八九十半几今明去每])"
_FESTIVALS = (
    ("元旦", "元旦"),
    ("春节", "春节"),
    ("清明", "清明"),
    ("五一", "五一|劳动"),
    ("端午", "端午"),
    ("中秋", "中秋"),
    ("国庆", "国庆|(?<![0-9二三四五六七八九])十一"),
)

RULES: tuple[Rule, ...] = (
    _rule(
        "office_hours",
        rf"(?:上班|工作|营业|在线|服务|客服)时间(?:[为是:]|\s|每天){{0,2}}(?:周.[到至-]周.)?[^0-9一二三四五六七八九十]{{0,4}}"
        rf"(?P<opens>{_SMALL})(?:点|:00|(?P<half>:30|点半))?\s?[到至~—-]{{1,2}}\s?(?P<evening>晚上?|下午)?(?P<closes>{_SMALL})(?:点|:[0-9]0)",
        resolve_office,
        "low",
        alone=True,
    ),
    _rule("day", rf"{_DAY}(?:\s?的?{_PART})?(?:\s?{_CLOCK})?", resolve_day, "high"),
    _rule("weekday", rf"{_WEEKDAY}(?:\s?的?{_PART})?(?:\s?{_CLOCK})?", resolve_weekday, "high"),
    _rule("date", rf"{_DATE}(?:\s?的?{_PART})?(?:\s?{_CLOCK})?", resolve_date, "high"),
    _rule("clock", rf"{_PART}\s?{_CLOCK}", resolve_clock, "high"),
    _rule(
        "bare_clock",
        rf"(?<![加第有])(?P<part>){_CLOCK}(?<![一二两三四五六七八九十]点)(?![位要意建个])",
        resolve_clock,
        "high",
    ),
    _rule("half_hour", r"(?<!个)半个?(?:小时|钟头?)|三十分钟|30分钟", after_time(minutes=30), "high"),
    _rule("minutes", rf"{_ONE}\s?分钟", wait_for(timedelta(minutes=1)), "high"),
    _rule("hour_range", rf"{_RANGE}\s?个?(?:小时|钟头)", wait_for(_HOUR), "medium"),
    _rule("hours", rf"{_ONE}\s?个?(?P<half>半)?(?:小时|钟头)", wait_for(_HOUR), "high"),
    _rule("workdays", rf"(?:{NUMBER}\s?[-~到至]\s?(?P<high>{NUMBER})|{_ONE})\s?个?工作日", resolve_workdays, "high"),
    _rule("two_days", r"明后[天两]|这两天|一两天|1[-~到]2天", after_time(days=2), "medium"),
    _rule("about_two_days", r"[过隔](?:两|2|俩)天", after_time(days=2), "medium"),
    _rule("some_days", r"[过隔]几天|改天|这几天|过些天|过阵子|改日", after_time(days=3), "low"),
    _rule("day_range", rf"{_RANGE}\s?天", wait_for(_DAY_LONG), "medium"),
    _rule("about_days", rf"{_ONE}\s?天(?:左右|上下)", wait_for(_DAY_LONG), "medium"),
    _rule("days", rf"(?:[过隔等]{_ONE}\s?天|{_ONE.replace('low', 'high')}\s?天{_LATER})", wait_for(_DAY_LONG), "high"),
    _rule("bare_days", rf"{_ONE}\s?天", wait_for(_DAY_LONG), "medium"),
    _rule(
        "weeks",
        rf"(?<![下上这本周期拜第]){_ONE}\s?(?:个?星期|个?礼拜|周)(?![一二三四五六日天末])",
        wait_for(_WEEK_LONG),
        "high",
    ),
    _rule("half_month", r"(?<!个)半个?月", after_time(days=15), "medium"),
    _rule("months", rf"(?<![上下第]){_ONE}\s?个(?P<half>半)?月", wait_for(timedelta(days=30)), "high"),
    _rule(
        "weekend_after_next",
        rf"下个?{_WEEK}末|下个?周末",
        lambda said: moments.at_weekend(said.now, 1),
        "medium",
    ),
    _rule("weekend", r"周末", lambda said: moments.at_weekend(said.now), "medium"),
    _rule("week_after_next", rf"下下个?{_WEEK}", lambda said: moments.in_week(said.now, 2), "medium"),
    _rule("next_week", rf"下一?个?{_WEEK}", lambda said: moments.in_week(said.now, 1), "medium"),
    _rule("this_week", rf"(?:本|这个?){_WEEK}内?", lambda said: moments.within_week(said.now), "medium"),
    _rule("next_month_end", r"下个?月[底末]", lambda said: moments.at_month_end(said.now, 1), "medium"),
    _rule(
        "next_month_middle",
        r"下个?月中",
        lambda said: moments.on_day_of_month(said.now, 15, AT_TEN, months=1),
        "medium",
    ),
    _rule(
        "next_month_start",
        r"下个?月初",
        lambda said: moments.on_day_of_month(said.now, 1, AT_TEN, months=1),
        "medium",
    ),
    _rule("named_month", rf"(?P<month>{_SMALL})月(?:份)?(?P<third>[初中底末])", resolve_month, "medium"),
    _rule("month_start", r"月初", lambda said: moments.on_day_of_month(said.now, 1, AT_TEN), "medium"),
    _rule("month_middle", r"月中", lambda said: moments.on_day_of_month(said.now, 15, AT_TEN), "medium"),
    _rule("month_end", r"月[底末]", lambda said: moments.at_month_end(said.now), "medium"),
    _rule(
        "next_month",
        r"下个?月",
        lambda said: moments.on_day_of_month(said.now, 1, AT_TEN, months=1),
        "low",
    ),
    _rule(
        "after_lantern",
        rf"(?:正月十五|元宵){_AFTER}",
        lambda said: moments.after_lantern(said.now, said.calendar),
        "high",
    ),
    *(_rule(f"after_{name}", rf"(?:{words}){_AFTER}", after_festival(name), "high") for name, words in _FESTIVALS),
    _rule("after_new_year", rf"{_NOT_COUNTED}年后|过完年|过了年", after_festival("春节"), "medium"),
    _rule(
        "before_new_year",
        rf"{_NOT_COUNTED}年前|春节前|过年前",
        lambda said: moments.before_holiday(said.now, "春节", said.calendar),
        "medium",
    ),
    _rule("after_holiday", r"节后|放完假|(?:假期|放假|假)(?:之后|以后|后)", after_festival(""), "medium"),
    _rule(
        "before_holiday",
        r"节前|放假前",
        lambda said: moments.before_holiday(said.now, "", said.calendar),
        "medium",
    ),
    _rule("noon", r"(?P<part>中午|午饭后)", resolve_part, "medium"),
    _rule(
        "today",
        r"下班之?[前后了]|今[天日儿]",
        lambda said: moments.in_part(said.now, moments.LEAVING, today=True),
        "medium",
    ),
    _rule("part", r"(?P<part>早上|上午|下午|傍晚|晚上)", resolve_part, "high"),
    _rule(
        "later",
        r"晚[点些]|迟[点些]|晚一[点些]|迟一[点些]",
        lambda said: moments.later_today(said.now, said.calendar),
        "medium",
        alone=True,
    ),
    _rule("shortly", r"一会儿?(?![员议])|稍后|稍晚|待会儿?|等会儿?|过会儿?", after_time(hours=1), "low", alone=True),
    _rule(
        "wait",
        r"稍等|等一下|等下(?![班午周月个])|(?:^|(?<![发给传])我(?:先|去|再)?|帮[你您])看一?下",
        after_time(minutes=30),
        "low",
        alone=True,
    ),
    _rule("at_once", r"马上|立刻|立即", after_time(minutes=30), "low"),
    _rule(
        "after_asking",
        r"问一?下(?:老板|师傅|经理|厂[里长]|领导|财务|仓库)|等(?:师傅|老板|经理|领导|他|她)回来|回头(?![客率])",
        after_time(days=1),
        "low",
        alone=True,
    ),
    _rule("some_time", r"尽快|有空|到时候?", after_time(days=1), "low"),
)
