import pytest

from groundwire.contracts.errors import ConfigError
from groundwire.providers.endpoints import Endpoint, endpoints_from, headers_of, url_of
from groundwire.providers.secrets import Secret


def endpoint(dialect, base, **options):
    return Endpoint(name="x", dialect=dialect, base_url=base, key=Secret("k-12345"), **options)


@pytest.mark.parametrize(
    ("dialect", "base", "stream", "url"),
    [
        ("openai-chat", "https://a.example/v1", False, "https://a.example/v1/chat/completions"),
        ("openai-chat", "https://a.example/v1/", True, "https://a.example/v1/chat/completions"),
        ("openai-responses", "https://a.example/v1", True, "https://a.example/v1/responses"),
        ("anthropic", "https://a.example", False, "https://a.example/v1/messages"),
        ("anthropic", "https://a.example/v1", False, "https://a.example/v1/messages"),
        ("gemini", "https://g.example", False, "https://g.example/v1beta/models/m-1:generateContent"),
        ("gemini", "https://g.example", True, "https://g.example/v1beta/models/m-1:streamGenerateContent?alt=sse"),
        (
            "gemini",
            "https://v.example/v1beta1/projects/p/locations/l/publishers/google",
            False,
            "https://v.example/v1beta1/projects/p/locations/l/publishers/google/models/m-1:generateContent",
        ),
    ],
)
def test_each_vendors_base_url_is_read_as_its_own_sdk_reads_it(dialect, base, stream, url):
    assert url_of(endpoint(dialect, base), "m-1", stream=stream) == url


def test_a_models_name_never_leaves_its_place_in_the_path():
    url = url_of(endpoint("gemini", "https://g.example"), "../../x?key=1#y", stream=False)
    assert url == "https://g.example/v1beta/models/..%2F..%2Fx%3Fkey%3D1%23y:generateContent"


@pytest.mark.quirk(85)
@pytest.mark.parametrize(
    ("dialect", "auth", "header"),
    [
        ("openai-chat", "bearer", ("authorization", "Bearer k-12345")),
        ("anthropic", "x-api-key", ("x-api-key", "k-12345")),
        ("gemini", "x-goog-api-key", ("x-goog-api-key", "k-12345")),
        ("openai-chat", "api-key", ("api-key", "k-12345")),
    ],
)
def test_the_key_goes_where_the_vendor_looks_for_it_and_anthropics_version_is_pinned(dialect, auth, header):
    headers = headers_of(endpoint(dialect, "https://a.example", auth=auth), stream=False)
    assert headers[header[0]] == header[1]
    assert headers.get("anthropic-version") == ("2023-06-01" if dialect == "anthropic" else None)


@pytest.mark.requirement("A-083")
def test_gemini_may_be_called_with_the_key_in_the_query():
    made = endpoint("gemini", "https://g.example", auth="query")
    path = "https://g.example/v1beta/models/m-1"
    assert url_of(made, "m-1", stream=False) == f"{path}:generateContent?key=k-12345"
    assert url_of(made, "m-1", stream=True) == f"{path}:streamGenerateContent?alt=sse&key=k-12345"
    assert "k-12345" not in str(headers_of(made, stream=False))


def test_own_headers_win_and_without_authentication_no_key_is_sent():
    made = headers_of(
        endpoint("openai-chat", "https://a.example", auth="none", headers={"X-Title": "shop", "Accept": "a/b"}),
        stream=True,
    )
    assert made == {"content-type": "application/json", "accept": "a/b", "x-title": "shop"}


def test_an_empty_environment_names_no_provider():
    assert endpoints_from({}) == {}


def test_a_key_or_a_base_url_alone_is_enough():
    found = endpoints_from(
        {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "ANTHROPIC_API_KEY": "a", "GOOGLE_API_KEY": "g"}
    )
    assert sorted(found) == ["anthropic", "gemini", "openai"]
    assert found["openai"].base_url == "http://127.0.0.1:9/v1"
    assert found["openai"].key.reveal() == "none"
    assert found["gemini"].key.reveal() == "g"


@pytest.mark.requirement("C-107", "C-108", "C-109", "C-110")
@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({"OPENROUTER_BASE_URL": "https://r.example/api"}, "https://r.example/api/v1/chat/completions"),
        ({"OPENROUTER_BASE_URL": "https://r.example/api/v1"}, "https://r.example/api/v1/chat/completions"),
        (
            {"OPENROUTER_BASE_URL": "https://r.example/api/v1", "OPENROUTER_API_PREFIX": ""},
            "https://r.example/api/v1/chat/completions",
        ),
        (
            {"OPENROUTER_BASE_URL": "https://r.example", "OPENROUTER_API_PREFIX": "/other/v2"},
            "https://r.example/other/v2/chat/completions",
        ),
    ],
)
def test_openrouters_address_is_base_plus_prefix_plus_endpoint(environ, url):
    found = endpoints_from({"OPENROUTER_API_KEY": "k", **environ})["openrouter"]
    assert url_of(found, "m", stream=False) == url


@pytest.mark.requirement("C-111", "C-112", "C-113")
def test_openrouters_timeouts_have_their_defaults_and_zero_switches_them_off():
    times = endpoints_from({"OPENROUTER_API_KEY": "k"})["openrouter"].timeouts
    assert (times.total, times.connect, times.read) == (120, 10, 120)
    environ = {"OPENROUTER_API_KEY": "k", "OPENROUTER_CLIENT_TIMEOUT": "30", "OPENROUTER_OPEN_TIMEOUT": "0"}
    times = endpoints_from(environ)["openrouter"].timeouts
    assert (times.total, times.connect, times.read) == (30, 0, 30)


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf", "1e10"])
def test_a_timeout_that_is_no_number_of_seconds_is_a_named_error(text):
    with pytest.raises(ConfigError, match="OPENROUTER_READ_TIMEOUT"):
        endpoints_from({"OPENROUTER_API_KEY": "k", "OPENROUTER_READ_TIMEOUT": text})


def test_the_representation_of_an_endpoint_shows_no_credentials_of_addresses_and_headers():
    endpoint = Endpoint(
        name="own",
        dialect="openai-chat",
        base_url="https://user:word@host/v1?key=word",
        headers={"authorization": "Bearer word"},
        proxy="http://user:word@proxy",
    )
    assert "word" not in repr(endpoint)
    assert "own" in repr(endpoint)


def test_half_a_character_in_a_model_name_still_gives_an_address():
    endpoint = Endpoint(name="own", dialect="gemini", base_url="https://host")
    assert url_of(endpoint, "a\ud800", stream=False).endswith("/models/a%3F:generateContent")
