"""Each row of the table of follow-up phrases: what is said, in how many hours, and how sure that is."""

from datetime import datetime, timedelta

import pytest

from groundwire.apps.supplier.timing import SHANGHAI, UnknownYear
from groundwire.apps.supplier.timing.reader import find_phrase, read_timing

WEDNESDAY = datetime(2026, 3, 11, 10, tzinfo=SHANGHAI)
BEFORE_SPRING = datetime(2026, 2, 5, 10, tzinfo=SHANGHAI)

TABLE = [
    ("马上 · 稍等 · 等一下 · 我看下", 0.5, "low"),
    ("一会儿 · 待会 · 等会儿回你", 1, "low"),
    ("半小时后 · 半个小时", 0.5, "high"),
    ("两个小时后 · 过2小时", 2, "high"),
    ("24小时内", 24, "high"),
    ("中午 · 午饭后", 2, "medium"),
    ("下午 · 今天下午", 5, "high"),
    ("下午四点", 6, "high"),
    ("下午4点半", 6.5, "high"),
    ("晚点 · 晚些 · 迟点 · 晚一点", 4, "medium"),
    ("下班前 · 今天之内", 7.5, "medium"),
    ("今晚 · 晚上", 10, "high"),
    ("明早 · 明天一早", 23, "high"),
    ("明天上午", 24, "high"),
    ("明天 · 明日 · 明儿", 24, "high"),
    ("明天下午3点", 29, "high"),
    ("明晚", 34, "high"),
    ("明后天 · 这两天 · 一两天", 48, "medium"),
    ("后天 · 两天后", 48, "high"),
    ("过两天 · 隔两天", 48, "medium"),
    ("大后天 · 三天后", 72, "high"),
    ("两三天 · 3天左右", 72, "medium"),
    ("过几天 · 改天", 72, "low"),
    ("周五 · 这周五 · 礼拜五", 48, "high"),
    ("周末", 72, "medium"),
    ("本周内 · 这周", 55.5, "medium"),
    ("下周", 120, "medium"),
    ("下周一 · 下礼拜一 · 周一", 120, "high"),
    ("下周三下午", 173, "high"),
    ("下下周", 288, "medium"),
    ("一个星期 · 一周后", 168, "high"),
    ("半个月", 360, "medium"),
    ("15号", 96, "high"),
    ("月中", 96, "medium"),
    ("月底", 480, "medium"),
    ("下个月", 504, "low"),
    ("下月初 · 月初", 504, "medium"),
    ("清明后", 648, "high"),
    ("节后", 648, "medium"),
    ("五一后", 1344, "high"),
    ("国庆后", 5064, "high"),
    ("尽快 · 有空 · 回头 · 到时候 · 我问下老板 · 等师傅回来", 24, "low"),
]
SPRING = [
    ("年后 · 过完年", 456, "medium"),
    ("正月十五后 · 元宵后", 648, "high"),
    ("年前", 216, "medium"),
]
ROWS = [
    pytest.param(phrase, now, hours, confidence, id=phrase)
    for now, table in ((WEDNESDAY, TABLE), (BEFORE_SPRING, SPRING))
    for phrases, hours, confidence in table
    for phrase in phrases.split(" · ")
]


@pytest.mark.requirement("A-076", "A-077", "A-079")
@pytest.mark.parametrize(("phrase", "now", "hours", "confidence"), ROWS)
def test_a_phrase_has_its_hours_and_confidence(phrase, now, hours, confidence):
    rule, moment = find_phrase(phrase, now)
    assert ((moment - now) / timedelta(hours=1), rule.confidence) == (hours, confidence)


@pytest.mark.requirement("A-076", "A-079")
@pytest.mark.parametrize(("phrase", "now", "hours", "confidence"), ROWS)
def test_a_phrase_with_a_verb_of_replying_is_a_follow_up(phrase, now, hours, confidence):
    reading = read_timing(f"好的，{phrase}给你回复", now)
    assert (reading.timing.delay_hours, reading.timing.confidence) == (hours, confidence)


@pytest.mark.parametrize(
    ("phrase", "hours"),
    [
        ("20分钟后", 1 / 3),
        ("稍后", 1),
        ("等下班了", 7.5),
        ("一个半小时", 1.5),
        ("2-3个小时", 3),
        ("两三个小时", 3),
        ("明天14:30", 28.5),
        ("明天晚上8点", 34),
        ("今晚12点", 14),
        ("下午三点一刻", 5.25),
        ("16点", 6),
        ("4点", 6),
        ("周三", 168),
        ("周日", 96),
        ("星期天", 96),
        ("下周末", 240),
        ("下下周二", 312),
        ("3到5天", 120),
        ("三五天", 120),
        ("3个工作日内", 127.5),
        ("两周后", 336),
        ("一个月后", 720),
        ("一个半月", 1080),
        ("三月二十号", 216),
        ("4月2号下午", 533),
        ("下个月5号", 600),
        ("10号", 720),
        ("下个月底", 1200),
        ("四月中", 840),
        ("端午后", 2472),
        ("中秋节后", 4824),
        ("放假后", 648),
        ("节前", 552),
    ],
)
def test_like_phrases_follow_the_same_conventions(phrase, hours):
    _, moment = find_phrase(phrase, WEDNESDAY)
    assert (moment - WEDNESDAY) / timedelta(hours=1) == pytest.approx(hours)


@pytest.mark.parametrize(
    ("phrase", "clock", "due"),
    [
        ("晚点", (11, 16, 0), (11, 20, 0)),
        ("晚点", (11, 16, 1), (12, 10, 0)),
        ("晚点", (13, 17, 0), (16, 10, 0)),
        ("晚点", (14, 10, 0), (16, 10, 0)),
        ("下午", (11, 14, 59), (11, 15, 0)),
        ("下午", (11, 15, 0), (11, 18, 0)),
        ("下午", (11, 18, 0), (12, 15, 0)),
        ("今天下午", (11, 18, 0), (11, 18, 30)),
        ("上午", (11, 10, 0), (11, 12, 0)),
        ("晚上", (11, 22, 0), (12, 20, 0)),
        ("今晚", (11, 22, 0), (11, 22, 30)),
        ("下班前", (11, 17, 30), (11, 22, 0)),
        ("下午四点", (11, 16, 0), (12, 16, 0)),
        ("周三", (11, 9, 59), (11, 10, 0)),
        ("周末", (14, 10, 0), (15, 10, 0)),
        ("周末", (15, 10, 0), (21, 10, 0)),
        ("本周内", (13, 17, 30), (15, 17, 30)),
        ("本周内", (15, 17, 30), (16, 0, 0)),
        ("下周一", (15, 23, 59), (16, 10, 0)),
        ("下周一", (16, 0, 0), (23, 10, 0)),
        ("月底", (31, 10, 0), (31, 17, 30)),
        ("15号", (15, 9, 59), (15, 10, 0)),
    ],
)
def test_what_is_over_is_taken_to_be_the_next(phrase, clock, due):
    now, expected = (datetime(2026, 3, *moment, tzinfo=SHANGHAI) for moment in (clock, due))
    assert find_phrase(phrase, now)[1] == expected


@pytest.mark.parametrize(
    "phrase",
    ["便宜一点", "有两点要说", "加3点", "三年后", "十年前", "大号", "月销3000", "三年质保", "全天在线", "好的"],
)
def test_other_words_are_no_time(phrase):
    assert find_phrase(phrase, WEDNESDAY) is None


def test_a_day_that_no_month_has_is_no_time():
    assert find_phrase("32号", WEDNESDAY) is None
    assert find_phrase("2月30号", WEDNESDAY) is None
    assert find_phrase("31号", WEDNESDAY)[1].day == 31


@pytest.mark.parametrize(
    ("phrase", "now", "year"),
    [
        ("节后", datetime(2026, 12, 1, 10, tzinfo=SHANGHAI), 2027),
        ("年前", WEDNESDAY, 2027),
        ("年后", WEDNESDAY, 2027),
        ("清明后", datetime(2026, 4, 7, 10, tzinfo=SHANGHAI), 2027),
        ("元宵后", datetime(2025, 1, 1, 10, tzinfo=SHANGHAI), 2025),
    ],
)
def test_the_holidays_of_an_unknown_year_are_not_guessed(phrase, now, year):
    with pytest.raises(UnknownYear) as unknown:
        find_phrase(phrase, now)
    assert unknown.value.year == year


@pytest.mark.parametrize(
    ("phrase", "clock", "due"),
    [
        ("这周五", (13, 9, 59), (13, 10, 0)),
        ("这周五", (13, 17, 0), (13, 17, 30)),
        ("本周五", (13, 18, 0), (13, 22, 0)),
        ("这周五", (14, 9, 0), (20, 10, 0)),
        ("周五", (13, 17, 0), (20, 10, 0)),
        ("下周五", (13, 17, 0), (20, 10, 0)),
        ("明天", (13, 17, 0), (14, 17, 0)),
        ("明早", (15, 21, 0), (16, 9, 0)),
        ("周末", (13, 17, 0), (14, 10, 0)),
        ("下周", (15, 21, 0), (16, 10, 0)),
        ("本周内", (13, 17, 0), (13, 17, 30)),
        ("中午", (11, 20, 30), (12, 12, 0)),
        ("早上", (11, 7, 0), (11, 9, 0)),
        ("两天后", (31, 16, 0), (33, 16, 0)),
        ("月初", (31, 16, 0), (32, 10, 0)),
        ("月底", (31, 16, 0), (31, 17, 30)),
    ],
)
def test_other_clocks_keep_the_conventions(phrase, clock, due):
    """Days beyond the 31st are those of April."""
    march = datetime(2026, 3, 1, tzinfo=SHANGHAI)
    now, expected = (march + timedelta(days=day - 1, hours=hour, minutes=minute) for day, hour, minute in (clock, due))
    assert find_phrase(phrase, now)[1] == expected


@pytest.mark.parametrize(
    ("phrase", "now", "due"),
    [
        ("节后", (2026, 4, 3, 15), "2026-04-07T10:00:00+08:00"),
        ("明天", (2026, 2, 13, 10), "2026-02-14T10:00:00+08:00"),
        ("后天", (2026, 2, 13, 10), "2026-02-24T09:00:00+08:00"),
        ("下周一", (2026, 4, 3, 15), "2026-04-07T09:00:00+08:00"),
        ("国庆后", (2026, 9, 24, 10), "2026-10-08T10:00:00+08:00"),
        ("明天", (2026, 12, 30, 10), "2026-12-31T10:00:00+08:00"),
    ],
)
def test_we_act_on_workdays_around_holidays(phrase, now, due):
    assert read_timing(f"{phrase}给你回复", datetime(*now, tzinfo=SHANGHAI)).timing.due_at == due
