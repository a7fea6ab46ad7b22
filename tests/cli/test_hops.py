"""The eight hops of ARCHITECTURE.md: they are where the page says, and what is real passes them in that order."""

import re
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest

import groundwire
from tests.gateway.conftest import running_gateway

SOURCE = Path(groundwire.__file__).parent
PAGE = SOURCE.parent.parent / "ARCHITECTURE.md"
ROW = re.compile(r"^\| (?P<number>\d) \| (?P<where>[^|]+) \|", re.MULTILINE)
PLACE = re.compile(r"`([a-z_]+(?:/[a-z_]*)*(?:\.py)?)`")


def is_file(place):
    return place.endswith((".py", "/"))


def read_hops(title):
    """The places of each hop: a file or a folder (with a slash at the end), and a function in it or nothing."""
    hops = {}
    section = PAGE.read_text(encoding="utf-8").partition(f"## {title}\n")[2].partition("\n## ")[0]
    for row in ROW.finditer(section):
        places = hops.setdefault(int(row["number"]), [])
        folder = ""
        for name in PLACE.findall(row["where"]):
            if not is_file(name):
                file, function = places[-1]
                places[len(places) if function else -1 :] = [(file, name)]
                continue
            file = name if not folder or (SOURCE / name).exists() else f"{folder}/{name}"
            folder = file.rpartition("/")[0]
            places.append((file, ""))
    return hops


CALL = read_hops("One call in eight hops")
RUN = read_hops("One run in eight hops")
REQUEST = read_hops("One request through the gateway in eight hops")
EVALUATION = read_hops("One evaluation in eight hops")
EVERY_HOP = [*CALL.items(), *RUN.items(), *REQUEST.items(), *EVALUATION.items()]


@pytest.mark.parametrize("hops", [CALL, RUN, REQUEST, EVALUATION])
def test_the_page_has_eight_hops(hops):
    assert list(hops) == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("places", [places for _, places in EVERY_HOP])
def test_each_place_of_a_hop_exists(places):
    for file, function in places:
        assert (SOURCE / file).exists(), file
        if function:
            assert re.search(rf"def {function}\(", (SOURCE / file).read_text(encoding="utf-8")), function


@contextmanager
def watching():
    """What of ours is entered in this thread, in order: files, and functions with those that they are defined in."""
    entered = []

    def note(frame, event, _):
        if event == "call" and (file := frame.f_code.co_filename).startswith(str(SOURCE)):
            entered.append((Path(file).relative_to(SOURCE).as_posix(), frame.f_code.co_qualname.split(".")))

    earlier = sys.getprofile()
    sys.setprofile(note)
    try:
        yield entered
    finally:
        sys.setprofile(earlier)


def place_of(entered, file, function):
    for place, (name, names) in enumerate(entered):
        if name.startswith(file) and (not function or function in names):
            return place
    pytest.fail(f"{file} {function} is not passed")


def assert_passed_in_order(entered, hops):
    firsts = [place_of(entered, *places[0]) for places in hops.values()]
    assert firsts == sorted(firsts), "the hops are passed in another order than the page says"
    for places in hops.values():
        for file, function in places:
            place_of(entered, file, function)


def test_a_real_call_passes_the_hops_in_their_order(project, run):
    with watching() as entered:
        result = run("call", "send_note", '{"text": "hi"}')
    assert result.exit_code == 0
    begun = place_of(entered, "runtime/runtime.py", "call")
    assert place_of(entered, "cli/call.py", "call") < begun
    assert_passed_in_order(entered[begun:], {number: places for number, places in CALL.items() if number > 1})


async def test_a_real_request_passes_the_hops_in_their_order():
    async with running_gateway("Hello.", upstream="anthropic") as running, httpx.AsyncClient(timeout=30) as client:
        asked = {"model": running.model, "messages": [{"role": "user", "content": "Hi"}]}
        with watching() as entered:
            answer = await client.post(f"{running.openai_url}/chat/completions", json=asked)
    assert answer.status_code == 200
    assert_passed_in_order(entered[place_of(entered, "serving/application.py", "__rsgi__") :], REQUEST)
