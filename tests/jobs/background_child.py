"""A process that calls a background tool, or works on such calls, and may be killed at a step of the pipeline.

python background_child.py call STORE FOLDER TOOL [STEP]   one call under one key; prints the envelope
python background_child.py work STORE FOLDER [STEP]        works until its input ends
"""

import asyncio
import sys
from pathlib import Path

from groundwire import Registry, Runtime, Settings, tool
from groundwire.contracts.results import encode_result
from groundwire.jobs import JobSettings
from groundwire.runtime.ledger import LedgerTimes
from groundwire.testing import KillAt

SETTINGS = Settings(ledger=LedgerTimes(lease_seconds=0.6, wait_seconds=20), jobs=JobSettings(poll_seconds=0.02))


def registry(folder: Path) -> Registry:
    def write(line: str) -> dict[str, str]:
        with (folder / "effects.txt").open("a") as file:
            file.write(f"{line}\n")
        return {"wrote": line}

    @tool(category="action", background=True)
    def pay() -> dict[str, str]:
        """Pay."""
        return write("paid")

    @tool(category="action", background=True, repeatable=True)
    def put() -> dict[str, str]:
        """Put something where it belongs; to do so twice changes nothing."""
        return write("put")

    @tool(category="retrieval", background=True)
    def scan() -> dict[str, str]:
        """Scan a page."""
        return write("scanned")

    return Registry([pay, put, scan])


async def main(command: str, store: str, folder: Path, name: str = "", step: str = "") -> None:
    hook = KillAt(step) if step else None
    async with Runtime(registry(folder), store, settings=SETTINGS, on_step=hook) as runtime:
        if command == "call":
            result = await runtime.call(name, {}, session="s", idempotency_key="k")
            print(encode_result(result).decode())
        else:
            await runtime.work()
            print("ready", flush=True)
            await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    verb, store_url, folder_name, *rest = sys.argv[1:]
    asyncio.run(main(verb, store_url, Path(folder_name), *rest))
