"""The trust file of the settings, read and checked. One that is named and cannot be used is an error: nothing starts."""

from collections.abc import Mapping
from pathlib import Path

from groundwire.assembly.settings import TrustSettings
from groundwire.contracts.errors import TrustError
from groundwire.contracts.trust import Trust, TrustFile, unseal
from groundwire.runtime.clock import to_iso
from groundwire.runtime.policies.trust import TrustBook


def open_trust(wanted: TrustSettings, environ: Mapping[str, str], *, now: float) -> TrustBook | None:
    """How far models are trusted with tools; None where the settings name no file."""
    if not wanted.file:
        return None
    trusted = read_trust(wanted.file, trust_key(wanted.key_env, environ), now=now)
    return TrustBook(trusted, unknown=Trust(wanted.unknown), relaxes=wanted.enforced == "relax")


def read_trust(file: str, key: bytes, *, now: float) -> TrustFile:
    try:
        return unseal(Path(file).read_bytes(), key, now=to_iso(now))
    except OSError as error:
        raise TrustError(f"the trust file {file} cannot be read: {error.strerror}", reason="unreadable") from None
    except TrustError as error:
        named = f"the trust file {file} cannot be used: {error.message}"
        raise TrustError(named, reason=error.reason, hint=error.hint) from None


def trust_key(key_env: str, environ: Mapping[str, str]) -> bytes:
    """The key that signs and checks; a TrustError where there is none."""
    key = environ.get(key_env, "")
    if not key:
        raise TrustError(f"trust files are signed, and {key_env} holds no key", reason="no_key")
    return key.encode("utf-8", "surrogateescape")
