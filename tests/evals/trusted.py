"""Trust files for tests: cards by hand, sealed with a key that the environment holds."""

from groundwire.contracts.trust import TrialEvidence, Trust, TrustCard, TrustFile, seal
from groundwire.runtime.clock import to_iso

KEY = "0123456789abcdef"
KEY_ENV = "GROUNDWIRE_TRUST_KEY"
FAR = 4_000_000_000.0


def card(model, tool, trust, *, profile="default", sampling=None, why="3 of 4 trials passed", run="20260101T000000Z"):
    evidence = TrialEvidence(
        trials=4, passed=3, low=0.19, high=0.99, scenarios=("happy_path",), strategy="off", runs=(run,)
    )
    return TrustCard(
        model=model,
        profile=profile,
        sampling={} if sampling is None else sampling,
        tool=tool,
        trust=Trust(trust),
        why=why,
        evidence=evidence,
    )


def file_of(*cards, expires=FAR):
    return TrustFile(made_at=to_iso(0.0), expires_at=to_iso(expires), rule={}, cards=cards)


def write_trust(path, *cards, expires=FAR, key=KEY):
    path.write_bytes(seal(file_of(*cards, expires=expires), key.encode()))
    return str(path)
