import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.codecs.wire.media import (
    decode_base64,
    encode_base64,
    guess_media_type,
    media_kind,
    read_data_url,
    write_data_url,
)
from groundwire.contracts.errors import WireError


@pytest.mark.parametrize("text", ["-_8=", "+/8=", "+/8", "-_8", " + / 8 = \n"])
def test_base64_is_read_in_every_spelling(text):
    assert decode_base64(text, "p") == b"\xfb\xff"


@pytest.mark.parametrize("text", ["a", "a*bc", "äöü", "aaaaa"])
def test_what_is_no_base64_is_an_error_with_its_path(text):
    with pytest.raises(WireError) as caught:
        decode_base64(text, "messages[0].data")
    assert caught.value.path == "messages[0].data"


@given(st.binary())
def test_any_bytes_survive_base64_and_data_urls(data):
    assert decode_base64(encode_base64(data), "") == data
    assert read_data_url(write_data_url("image/png", data), "") == ("image/png", data)


def test_an_ordinary_address_is_no_data_url_and_a_broken_one_is_an_error():
    assert read_data_url("https://example.org/a.png", "") is None
    assert read_data_url("DATA:Image/PNG;charset=x;base64,AA==", "") == ("image/png", b"\0")
    assert read_data_url("data:;base64,AA==", "") == ("text/plain", b"\0")
    for broken in ("data:image/png,AA==", "data:image/png;base64", "data:image/png;base64,***"):
        with pytest.raises(WireError):
            read_data_url(broken, "url")


def test_media_types_say_what_kind_of_thing_it_is():
    assert [media_kind(kind) for kind in ("image/png", "audio/wav", "video/mp4", "application/pdf", "")] == [
        "image",
        "audio",
        "video",
        "file",
        "file",
    ]
    assert guess_media_type("https://example.org/a.jpg?x=1", "image/*") == "image/jpeg"
    assert guess_media_type(None, "image/*") == "image/*"
