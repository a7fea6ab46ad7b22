"""What of media is worth keeping, and what is heard."""

import base64

import pytest

from groundwire.apps.supplier.contracts import HistoryEntry, Media
from groundwire.apps.supplier.media import MAX_SOUND_BYTES, TRANSCRIBED, has_unread_voice, hear, is_of_use


def sound(data=b"#!AMR", media_type="audio/amr"):
    return Media(media_type=media_type, data=base64.b64encode(data).decode())


def spoken(*media):
    return HistoryEntry(role="supplier", content="[语音消息]", media=media)


async def words(_):
    return " 80顶起 "


@pytest.mark.parametrize(
    ("media", "expected"),
    [
        (sound(), True),
        (sound(b""), False),
        (sound(media_type="audio/\x00"), False),
        (sound(media_type="video/mp4"), False),
        (Media(media_type="audio/amr", data="***"), False),
        (Media(media_type="image/gif", data=base64.b64encode(b"GIF89a").decode()), True),
        (Media(media_type="image/png", data=base64.b64encode(b"GIF89a").decode()), False),
    ],
)
def test_only_bytes_that_can_be_shown_or_heard_are_of_use(media, expected):
    assert is_of_use(media) is expected


@pytest.mark.requirement("A-159", "OQ-05")
@pytest.mark.parametrize(("size", "content"), [(0, f"{TRANSCRIBED} 80顶起"), (1, "[语音消息]")])
async def test_a_recording_is_heard_up_to_its_limit_and_no_further(size, content):
    assert (await hear(spoken(sound(bytes(MAX_SOUND_BYTES + size))), words)).content == content


@pytest.mark.requirement("A-159", "OQ-05")
async def test_what_was_heard_may_be_read_and_what_was_not_waits_for_a_person():
    heard = await hear(spoken(sound()), words)
    assert not has_unread_voice([heard])
    assert has_unread_voice([await hear(spoken(), words)])
    assert (await hear(spoken(sound()), None)).content == "[语音消息]"
