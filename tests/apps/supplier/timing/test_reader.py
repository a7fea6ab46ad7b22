import time
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.apps.supplier.timing import CHINA, HORIZON, OFFICE, SHANGHAI, read_timing
from groundwire.apps.supplier.timing.phrases import RULES

WEDNESDAY = datetime(2026, 3, 11, 10, tzinfo=SHANGHAI)
PHRASES = [
    "马上",
    "稍等",
    "一会儿",
    "半小时后",
    "过2小时",
    "24小时内",
    "中午",
    "下午",
    "今天下午",
    "下午4点半",
    "晚点",
    "下班前",
    "今天之内",
    "今晚",
    "晚上",
    "明早",
    "明天",
    "明天下午3点",
    "明后天",
    "后天",
    "过两天",
    "大后天",
    "两三天",
    "3天左右",
    "过几天",
    "周五",
    "这周五",
    "周末",
    "本周内",
    "下周",
    "下周一",
    "下周三下午",
    "下下周",
    "一周后",
    "半个月",
    "15号",
    "31号",
    "月中",
    "月底",
    "下个月",
    "月初",
    "清明后",
    "节后",
    "五一后",
    "国庆后",
    "年后",
    "元宵后",
    "年前",
    "节前",
    "尽快",
    "3个工作日内",
    "4点",
    "16:30",
    "上班时间早9点到晚6点",
]
WORDS = st.sampled_from(
    [
        *PHRASES,
        *[
            "给你",
            "回复",
            "发货",
            "，",
            "。",
            "1",
            "三",
            "十",
            "点",
            "号",
            "月",
            "年",
            "周",
            "天",
            ":",
            "后",
            "前",
            "个",
            "半",
            "小时",
            "９",
            "打样",
            "确认",
        ],
    ]
)
NEW_YEAR = datetime(2026, 1, 1, tzinfo=SHANGHAI)
IN_2026 = st.timedeltas(timedelta(), timedelta(days=320)).map(lambda since: NEW_YEAR + since)
EVER = st.timedeltas(timedelta(days=-13_000), timedelta(days=27_000)).map(lambda since: NEW_YEAR + since)


def hours_of(text, now=WEDNESDAY):
    reading = read_timing(text, now)
    return reading and reading.timing and reading.timing.delay_hours


@pytest.mark.requirement("A-077", "A-078")
def test_tomorrow_is_24_hours_with_high_confidence_in_the_suppliers_words():
    text = "压字要问师傅，明天给你准信"
    reading = read_timing(text, WEDNESDAY)
    assert reading.timing.delay_hours == 24
    assert reading.timing.confidence == "high"
    assert reading.timing.raw_phrase == "明天给你准信"
    assert reading.timing.due_at == "2026-03-12T10:00:00+08:00"
    assert reading.timing.clamped_to == ""
    assert text[reading.start : reading.end] == "明天给你准信"
    assert (reading.phrase, reading.escalate, reading.unknown_year) == ("明天", False, None)


@pytest.mark.parametrize(
    "text",
    [
        "今天下单明天发",
        "48小时发货",
        "7到10天出货",
        "当天发",
        "月销3000",
        "三年质保",
        "15个工作日交货",
        "全天在线",
        "付款后三天出货",
        "确认稿子以后10天",
        "确认后三天左右",
        "明天给你发货",
        "周五打样给你",
        "明天没问题",
        "后天联系不到人",
        "明天回复吗",
        "下周放假",
        "便宜一点给你",
        "有两点要问你",
        "您看下这个可以不",
        "图片发我看一下",
        "明天出样给你看",
        "明天回复？",
        "马上就没货了",
    ],
)
def test_a_time_that_is_not_about_an_answer_is_no_follow_up(text):
    assert read_timing(text, WEDNESDAY) is None


@pytest.mark.parametrize(
    "verb", ["回复", "答复", "告诉你", "给你", "发你", "联系", "问一声", "确认", "报价", "找一下", "看看"]
)
def test_each_verb_of_replying_makes_a_follow_up(verb):
    assert hours_of(f"明天{verb}") == 24


@pytest.mark.parametrize("verb", ["发货", "出货", "交货", "到货", "做货", "打样"])
def test_each_verb_of_shipping_unmakes_it(verb):
    assert hours_of(f"明天给你{verb}") is None


def test_a_bare_time_takes_the_verb_of_the_next_clause():
    assert hours_of("明天吧，我问了告诉你") == 24
    assert hours_of("明天吧，给你发货") is None
    assert hours_of("明天") is None


@pytest.mark.parametrize(("text", "hours"), [("稍等", 0.5), ("晚点哈", 4), ("等师傅回来", 24), ("我问下老板", 24)])
def test_vague_words_promise_an_answer_by_themselves(text, hours):
    assert hours_of(text) == hours


def test_the_surest_phrase_counts():
    assert read_timing("我问下老板，下周一给你答复", WEDNESDAY).phrase == "下周一"
    assert read_timing("马上给你，明天给你也行", WEDNESDAY).phrase == "明天"


def test_full_width_digits_are_read_and_quoted_as_they_are():
    reading = read_timing("明天下午３点给你", WEDNESDAY)
    assert (reading.timing.delay_hours, reading.timing.raw_phrase) == (29, "明天下午３点给你")


@pytest.mark.parametrize(
    ("clock", "hours"),
    [((11, 21, 0), 12.5), ((11, 18, 0), 15.5), ((11, 17, 0), 0.5), ((11, 8, 0), 1.5), ((11, 0, 0), 9.5)],
)
def test_canned_office_hours_mean_half_an_hour_after_the_next_opening(clock, hours):
    text = "【自动回复】现在是休息时间，上班时间早9点到晚6点，看到马上回您"
    reading = read_timing(text, datetime(2026, 3, *clock, tzinfo=SHANGHAI))
    assert (reading.timing.delay_hours, reading.timing.confidence) == (hours, "low")
    assert reading.timing.raw_phrase == "上班时间早9点到晚6点"


@pytest.mark.parametrize(
    "words",
    ["工作时间为9:00-18:00", "上班时间：9点至18点", "营业时间 早上9点到下午6点", "工作时间为周一到周五9点到18点"],
)
def test_office_hours_are_read_in_each_spelling(words):
    assert hours_of(words, datetime(2026, 3, 11, 21, tzinfo=SHANGHAI)) == 12.5


def test_the_clamp_moves_when_we_act_and_not_what_was_said():
    timing = read_timing("周末给你报价", WEDNESDAY).timing
    assert (timing.delay_hours, timing.due_at, timing.clamped_to) == (72, "2026-03-16T09:00:00+08:00", "working_hours")


def test_beyond_thirty_days_is_capped_and_escalated():
    reading = read_timing("国庆后联系你", WEDNESDAY)
    assert (reading.timing.delay_hours, reading.escalate) == (5064, True)
    assert (reading.timing.due_at, reading.timing.clamped_to) == ("2026-04-10T10:00:00+08:00", "cap")


def test_thirty_days_are_not_beyond():
    assert (read_timing("720小时后回复你", WEDNESDAY).escalate, read_timing("721小时后回复你", WEDNESDAY).escalate) == (
        False,
        True,
    )


def test_a_cap_on_a_day_off_moves_back_to_the_last_closing():
    reading = read_timing("国庆后联系你", datetime(2026, 3, 13, 10, tzinfo=SHANGHAI))
    assert reading.timing.due_at == "2026-04-10T18:00:00+08:00"


def test_a_phrase_that_needs_an_unknown_year_has_no_timing_and_names_the_year():
    reading = read_timing("节后给你答复", datetime(2026, 12, 1, 10, tzinfo=SHANGHAI))
    assert (reading.timing, reading.unknown_year, reading.phrase) == (None, 2027, "节后")


def test_a_moment_in_an_unknown_year_is_kept_and_not_clamped():
    reading = read_timing("明天给你", datetime(2027, 5, 1, 23, tzinfo=SHANGHAI))
    assert (reading.timing.due_at, reading.timing.clamped_to) == ("2027-05-02T23:00:00+08:00", "")
    assert reading.unknown_year == 2027


def test_any_zone_of_the_clock_gives_the_same_moment():
    utc = datetime.fromisoformat("2026-03-11T02:00:00+00:00")
    assert read_timing("明早给你", utc) == read_timing("明早给你", WEDNESDAY)


@given(st.lists(WORDS, max_size=12).map("".join), IN_2026)
def test_a_moment_is_in_the_future_within_the_horizon_and_within_working_hours(text, now):
    reading = read_timing(text, now)
    if reading is None or reading.unknown_year == 2027:
        return
    due = datetime.fromisoformat(reading.timing.due_at)
    assert now < due <= now + HORIZON
    assert OFFICE.clamp(due, CHINA) == due
    assert reading.timing.delay_hours >= 0
    assert text[reading.start : reading.end] == reading.timing.raw_phrase


@given(st.sampled_from(PHRASES), IN_2026, st.timedeltas(timedelta(), timedelta(days=40)))
def test_what_is_said_later_is_due_no_earlier(phrase, now, wait):
    earlier, later = (read_timing(f"{phrase}给你回复", clock) for clock in (now, now + wait))
    if earlier.unknown_year or later.unknown_year:
        assert {earlier.unknown_year, later.unknown_year} <= {None, 2027}
        return
    assert datetime.fromisoformat(earlier.timing.due_at) <= datetime.fromisoformat(later.timing.due_at)


@pytest.mark.parametrize("phrase", PHRASES)
@given(now=IN_2026, wait=st.timedeltas(timedelta(), timedelta(days=10)))
def test_each_phrase_means_a_later_moment_when_said_later(phrase, now, wait):
    found = [read_timing(f"{phrase}给你回复", clock) for clock in (now, now + wait)]
    if not all(reading.timing for reading in found):
        assert found[-1].unknown_year == 2027
        return
    said = [
        clock + timedelta(hours=one.timing.delay_hours) for clock, one in zip((now, now + wait), found, strict=True)
    ]
    assert said[0] <= said[1] + timedelta(minutes=6)  # hours have one decimal


@given(st.one_of(st.text(), st.lists(WORDS, max_size=12).map("".join)), EVER)
def test_any_text_at_any_time_gives_a_reading_or_none(text, now):
    reading = read_timing(text, now)
    if reading is not None:
        assert reading.phrase
        assert reading.timing is not None or reading.unknown_year is not None


@pytest.mark.parametrize("phrase", ["9999999999天后给你", "99999999个工作日回复", "100000个月回复你", "0天后给你"])
def test_what_nobody_can_mean_is_no_follow_up(phrase):
    assert read_timing(phrase, WEDNESDAY) is None


def test_the_end_of_all_calendars_is_no_error():
    assert read_timing("一个月后给你", datetime(9999, 12, 31, tzinfo=SHANGHAI)) is None


def test_rules_have_names_of_their_own():
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(
    "unit", ["1", "一", "明天", "周", "给你", "明天给你，", "上班时间", "过", " ", "月", "嗯", "10:"]
)
def test_reading_takes_time_in_proportion_to_length(unit):
    def seconds(length):
        text = (unit * length)[:length]
        best = float("inf")
        for _ in range(3):
            before = time.process_time()
            read_timing(text, WEDNESDAY)
            best = min(best, time.process_time() - before)
        return best

    assert seconds(16_000) < 64 * seconds(1000) + 0.02
