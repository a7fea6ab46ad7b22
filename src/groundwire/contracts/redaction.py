"""Hides secrets in texts: the one place that knows what a key looks like. Pure.

Used wherever text leaves through an error, a log line, a span or a stored failure. It hides what has the form of a
credential, and the secrets that it is given; anything that merely could be one stays, or no error could name an id.
"""

import re
from collections.abc import Iterable, Mapping

HIDDEN = "[hidden]"

_LEAST_CHARS = 6
"""A shorter secret is likely to be a word of the text itself."""
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
"""Names of environment variables that hold secrets."""

# Each has a least length, so that a word with the same beginning, such as `sk-learn`, stays. What may begin anywhere and
# has to end in something (tokens with dots, addresses) has a greatest one, too: otherwise matching a long text would take
# time quadratic in its length.
_PREFIXES = {
    "sk-": r"[\w\-]{16,}", "sk_live_": r"\w{16,}", "sk_test_": r"\w{16,}", "rk_live_": r"\w{16,}", "csk-": r"\w{20,}",
    "AIza": r"[\w\-]{30,}", "ya29.": r"[\w\-.]{20,}", "AKIA": "[0-9A-Z]{16}", "ASIA": "[0-9A-Z]{16}",
    "gho_": r"\w{20,}", "ghp_": r"\w{20,}", "ghr_": r"\w{20,}", "ghs_": r"\w{20,}", "ghu_": r"\w{20,}",
    "github_pat_": r"\w{20,}", "glpat-": r"[\w\-]{20,}", "xox": r"[abeoprs]-[\w\-]{10,}", "hf_": r"\w{20,}",
    "gsk_": r"\w{20,}", "xai-": r"\w{20,}", "pplx-": r"\w{20,}", "nvapi-": r"[\w\-]{20,}", "r8_": r"\w{20,}",
    "tvly-": r"[\w\-]{20,}", "whsec_": r"[\w\-+/=]{16,}",
    "eyJ": r"[\w\-]{8,1000}\.eyJ[\w\-]{8,8000}(?:\.[\w\-]*)?",
}  # fmt: skip
_ANY_PREFIXED = "|".join(re.escape(prefix) + rest for prefix, rest in _PREFIXES.items())
_OWN = re.compile(r"gw(?:_|%5F)[\w\-%]{16,}", re.ASCII | re.IGNORECASE)
"""A key of ours, whatever stands before it; one that was encoded twice for a path has %5F."""
_PREFIXED = re.compile(rf"(?<![A-Za-z0-9])(?:{_ANY_PREFIXED})", re.ASCII)
_SCHEME = re.compile(r"\b(Bearer|Basic)\s+(?=\S*\d|\S{24})[\w\-.~+/=%]{8,}", re.ASCII | re.IGNORECASE)
_HEADER = re.compile(
    r"((?:x-api-key|x-goog-api-key|api[-_]?key|authorization|access[-_]token|refresh[-_]token|client[-_]secret|password)"
    r"[\"']?\s*:\s*[\"']?)(?:(?:Bearer|Basic|Token)\s+)?[^\s\"',;\\}]+",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"((?:^|[?&;\s])(?:key|api[-_]?key|token|access[-_]token|refresh[-_]token|auth[-_]token|client[-_]secret|secret"
    r"|password|signature|sig)=)[^\s&\"'<>\\]+",
    re.IGNORECASE,
)
_USERINFO = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.\-]{0,30}://[^\s:/@?#]*:)[^\s/]*@")

_FORMS: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    (("://",), _USERINFO, rf"\1{HIDDEN}@"),
    (("gw_", "gw%5f"), _OWN, HIDDEN),
    (tuple(prefix.lower() for prefix in _PREFIXES), _PREFIXED, HIDDEN),
    (("bearer", "basic"), _SCHEME, rf"\1 {HIDDEN}"),
    (("api", "authorization", "token", "secret", "password"), _HEADER, rf"\1{HIDDEN}"),
    (("=",), _PARAMETER, rf"\1{HIDDEN}"),
)
"""Patterns, each with texts of which one must occur, in lower case: searching for these is some thirty times faster."""


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text with `[hidden]` in place of each of these secrets, and of everything that looks like a credential."""
    for secret in secrets:
        if len(secret) >= _LEAST_CHARS:
            text = text.replace(secret, HIDDEN)
    lowered = text.lower()
    for marks, pattern, shown in _FORMS:
        if any(mark in lowered for mark in marks):
            text = pattern.sub(shown, text)
    return text


def redact_bytes(body: bytes, secrets: Iterable[str] = ()) -> bytes:
    """Redact a body. No pattern matches a quote or a backslash, so JSON stays JSON."""
    return redact(body.decode("utf-8", "surrogateescape"), secrets).encode("utf-8", "surrogateescape")


def secrets_in(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables whose names say that they hold a secret; longer ones first."""
    found = {value.strip() for name, value in environ.items() if _SECRET_NAME.search(name)}
    long_enough = (value for value in found if len(value) >= _LEAST_CHARS)
    return tuple(sorted(long_enough, key=lambda value: (-len(value), value)))
