import math
import subprocess
import sys

import pytest

from groundwire.runtime.clock import CharsPerFour, EnvironmentFlags, RandomIds, SystemClock, to_iso


@pytest.mark.requirement("B-155", "B-158")
@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("x" * 400, 100), ("汉字", 1), ("🙂" * 5, 2)]
)
def test_tokens_are_a_quarter_of_the_characters_rounded_up(text, tokens):
    assert CharsPerFour().estimate(text) == tokens


@pytest.mark.requirement("D-110", "D-120")
@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_700_000_000.5, "2023-11-14T22:13:20.500Z"),
        (1_700_000_000.9999, "2023-11-14T22:13:20.999Z"),
        (-62_135_596_800, "0001-01-01T00:00:00.000Z"),
        (253_402_300_799, "9999-12-31T23:59:59.000Z"),
    ],
)
def test_times_are_iso_8601_in_utc(seconds, text):
    assert to_iso(seconds) == text


@pytest.mark.parametrize("seconds", [253_402_300_800, 1e15, 1e300, math.inf])
def test_a_time_after_the_last_year_is_the_last_one(seconds):
    assert to_iso(seconds) == "9999-12-31T23:59:59.999Z"


@pytest.mark.parametrize("seconds", [-62_135_596_801, -1e15, -math.inf, math.nan])
def test_a_time_before_the_first_year_is_the_first_one(seconds):
    assert to_iso(seconds) == "0001-01-01T00:00:00.000Z"


def test_ids_carry_their_prefix_and_never_repeat():
    ids = RandomIds()
    made = [ids.new("call") for _ in range(1_000)]
    assert len(set(made)) == 1_000
    assert all(name.startswith("call_") for name in made)
    assert RandomIds().new("call") not in made


FORK = """
import os
from groundwire.runtime.clock import RandomIds
ids = RandomIds()
if os.fork() == 0:
    print(ids.new("x"), flush=True)
    os._exit(0)
os.wait()
print(ids.new("x"), flush=True)
"""


def test_a_forked_child_makes_ids_of_its_own():
    run = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True, timeout=30)
    theirs, ours = run.stdout.split()
    assert theirs != ours


@pytest.mark.parametrize(
    ("value", "on"),
    [("1", True), ("true", True), (" ON ", True), ("yes", True), ("0", False), ("", False), ("no", False)],
)
def test_a_flag_is_read_from_the_environment(monkeypatch, value, on):
    monkeypatch.setenv("GROUNDWIRE_TEST_FLAG", value)
    assert EnvironmentFlags().is_on("GROUNDWIRE_TEST_FLAG") is on


def test_the_configuration_has_the_last_word_about_a_flag(monkeypatch):
    monkeypatch.setenv("GROUNDWIRE_TEST_FLAG", "1")
    assert EnvironmentFlags({"GROUNDWIRE_TEST_FLAG": False}).is_on("GROUNDWIRE_TEST_FLAG") is False
    assert EnvironmentFlags().is_on("GROUNDWIRE_TEST_FLAG_THAT_NOBODY_SET") is False


async def test_real_time_goes_forward():
    clock = SystemClock()
    before = clock.now(), clock.monotonic()
    await clock.sleep(0)
    assert clock.now() >= before[0]
    assert clock.monotonic() >= before[1]
