"""Nothing happens here: the call itself is the capture, and it stands in the trace."""


def execute(**_captured: object) -> dict[str, bool]:
    return {"recorded": True}
