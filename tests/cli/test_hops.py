"""The eight hops of ARCHITECTURE.md: they are where the page says, and a real call passes them in that order."""

import re
import sys
from pathlib import Path

import pytest

import groundwire

SOURCE = Path(groundwire.__file__).parent
PAGE = SOURCE.parent.parent / "ARCHITECTURE.md"
ROW = re.compile(r"^\| (?P<number>\d) \| (?P<where>[^|]+) \|", re.MULTILINE)
PLACE = re.compile(r"`([a-z_]+(?:/[a-z_]*)*(?:\.py)?)`")


def is_file(place):
    return place.endswith((".py", "/"))


def read_hops():
    """The places of each hop: files, folders (with a slash at the end) and functions of the file before them."""
    hops = {}
    section = PAGE.read_text(encoding="utf-8").partition("## One call in eight hops")[2].partition("\n## ")[0]
    for row in ROW.finditer(section):
        names = PLACE.findall(row["where"])
        folder = names[0].rpartition("/")[0]
        hops[int(row["number"])] = [
            f"{folder}/{name}" if is_file(name) and not (SOURCE / name).exists() else name for name in names
        ]
    return hops


HOPS = read_hops()


def test_the_page_has_eight_hops():
    assert list(HOPS) == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("number", HOPS)
def test_each_place_of_a_hop_exists(number):
    file = None
    for place in HOPS[number]:
        if is_file(place):
            file = SOURCE / place
            assert file.exists(), place
        else:
            assert re.search(rf"def {place}\(", file.read_text(encoding="utf-8")), place


def test_a_real_call_passes_the_hops_in_their_order(project, run):
    entered = []

    def note(frame, event, _):
        if event == "call" and (file := frame.f_code.co_filename).startswith(str(SOURCE)):
            entered.append((Path(file).relative_to(SOURCE).as_posix(), frame.f_code.co_name))

    earlier = sys.getprofile()
    sys.setprofile(note)
    try:
        result = run("call", "send_note", '{"text": "hi"}')
    finally:
        sys.setprofile(earlier)
    assert result.exit_code == 0
    begun = entered.index(("runtime/runtime.py", "call"))
    assert ("cli/call.py", "call") in entered[:begun]
    files = [file for file, _ in entered[begun:]]
    firsts = [files.index(places[0]) for number, places in HOPS.items() if number > 1]
    assert firsts == sorted(firsts), "the hops are passed in another order than the page says"
    for places in HOPS.values():
        for place in filter(is_file, places):
            assert any(file.startswith(place) for file, _ in entered), f"the call does not pass {place}"
        for function in (place for place in places if not is_file(place)):
            assert (places[0], function) in entered
