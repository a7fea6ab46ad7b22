"""An event loop of our own for callers that have none."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from groundwire.contracts.errors import ConfigError
from groundwire.runtime.task_exits import contain_task_exits

T = TypeVar("T")


class Portal:
    """An event loop in a daemon thread, for callers that have none."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        contain_task_exits(self._loop)
        self._thread = threading.Thread(target=self._loop.run_forever, name="groundwire-portal", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise ConfigError(
                "a handler cannot wait for its own runtime", hint="await runtime.call(…), or context.call"
            )
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()
