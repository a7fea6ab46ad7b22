"""Trust cards: how far a model is trusted with a tool, on what evidence, and the signature that makes a file of them.

Pure: how trust is earned, where files and keys are kept, and what follows from a card, is not known here.
"""

import hashlib
import hmac
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from groundwire.contracts.canonical import JsonObject, canonical_json, parse_json
from groundwire.contracts.errors import InvalidJson, TrustError
from groundwire.contracts.requests import Sampling

ALGORITHM = "hmac-sha256"
MIN_KEY_BYTES = 16

Moment: TypeAlias = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")]
"""UTC in the one spelling that sorts as text."""


class Trust(StrEnum):
    """From most to least: used freely, after a person has agreed to each call, unless it is an action, not at all."""

    RELIABLE = "reliable"
    ASK = "ask"
    READ_ONLY = "read-only"
    DENY = "deny"


_STRICTNESS = {trust: place for place, trust in enumerate(Trust)}


def strictness(trust: Trust) -> int:
    """More, the less it allows."""
    return _STRICTNESS[trust]


class TrialEvidence(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What a card stands on. `low` and `high` bound the rate at 95 %; invalid trials are none of `trials`."""

    trials: int
    passed: int
    low: float
    high: float
    scenarios: tuple[str, ...]
    strategy: str
    failures: dict[str, int] = field(default_factory=dict)
    invalid: int = 0
    runs: tuple[str, ...] = ()
    last_at: str = ""


class TrustCard(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One model, by the name it was asked by, under one sampling profile, with one tool. `why` is for people.

    `sampling` is what the profile sets; None where the records do not say.
    """

    model: str
    profile: str
    sampling: JsonObject | None
    tool: str
    trust: Trust
    why: str
    evidence: TrialEvidence


class TrustFile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`rule` are the thresholds by which trust was given."""

    made_at: Moment
    expires_at: Moment
    rule: JsonObject
    cards: tuple[TrustCard, ...]
    version: Literal[1] = 1


class Asked(Struct, frozen=True, kw_only=True):
    """Who may answer in a run, and how they are asked. Fallbacks count: each of them may be the one that calls."""

    models: tuple[str, ...]
    sampling: JsonObject


class Trusted(Struct, frozen=True, kw_only=True):
    """How far, and why, in words for operators."""

    trust: Trust
    why: str


def strictest(trusted: Iterable[Trusted]) -> Trusted:
    """The one that allows least; the first of several alike."""
    return max(trusted, key=lambda one: strictness(one.trust))


def sampling_of(sampling: Sampling, overrides: JsonObject) -> JsonObject:
    """How words are chosen, as far as a request says. A seed only chooses among equals.

    Overrides count as a whole: which of them change a provider's choice, nobody but the provider knows.
    """
    said: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(sampling, seed=None))
    return {**said, **overrides}


def seal(trusted: TrustFile, key: bytes) -> bytes:
    """The file, to be read by people, with the signature over the canonical JSON of what it says."""
    _check_key(key)
    said = msgspec.to_builtins(trusted)
    signature = {"algorithm": ALGORITHM, "value": _sign(said, key)}
    return msgspec.json.format(msgspec.json.encode({"trust": said, "signature": signature}), indent=2) + b"\n"


def unseal(data: bytes, key: bytes, *, now: str) -> TrustFile:
    """What a file says, if whoever holds the key said it and it is still valid; else a TrustError with the reason."""
    _check_key(key)
    try:
        value = parse_json(data)
    except InvalidJson as error:
        raise TrustError(f"it is not JSON: {error.message}", reason="unreadable") from None
    if not isinstance(value, dict) or "trust" not in value:
        raise TrustError("it holds no trust cards", reason="unreadable")
    said, signature = value["trust"], value.get("signature")
    if not isinstance(signature, dict) or not isinstance(given := signature.get("value"), str) or not given:
        raise TrustError("it is not signed", reason="unsigned")
    if signature.get("algorithm") != ALGORITHM:
        raise TrustError(f"its signature is not {ALGORITHM}", reason="unsigned")
    if not hmac.compare_digest(given.encode("utf-8", "replace"), _sign(said, key).encode()):
        raise TrustError("its signature does not fit: it was changed, or signed with another key", reason="tampered")
    try:
        trusted = msgspec.convert(said, TrustFile)
    except msgspec.ValidationError as error:
        raise TrustError(f"it is not a trust file of this version: {error}", reason="unreadable") from None
    if trusted.expires_at <= now:
        raise TrustError(f"it expired at {trusted.expires_at}", reason="expired", hint="evaluate the models again")
    return trusted


def _sign(said: Any, key: bytes) -> str:
    try:
        body = canonical_json(said)
    except InvalidJson as error:
        raise TrustError(f"it holds what cannot be signed: {error.message}", reason="unreadable") from None
    return hmac.new(key, body, hashlib.sha256).hexdigest()


def _check_key(key: bytes) -> None:
    if len(key) < MIN_KEY_BYTES:
        what = "there is no key to it" if not key else f"its key has {len(key)} bytes"
        raise TrustError(what, reason="no_key", hint=f"a key has at least {MIN_KEY_BYTES} bytes")
