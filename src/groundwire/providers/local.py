"""A model from a GGUF file, run in this process by xllamacpp (the extra `local`). No server, no key.

One thread per model asks it one thing at a time, beside the loop. Whoever stops listening stops the generation at its
next token, and the next question waits for that. Only while it loads a file does the runner keep the interpreter to
itself, so that everything else in the process waits: `load` lets a program choose when.
"""

import asyncio
import contextlib
import os
import secrets
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias, TypeVar

from msgspec.structs import replace

from groundwire.codecs.openai_chat import StreamDecoder
from groundwire.codecs.wire.building import parts_of
from groundwire.codecs.wire.json import dump
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import ConfigError, ProviderError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.replies import Reply, ReplyEnded, ReplyFailed, ReplyPart
from groundwire.contracts.requests import ModelRequest, SendOptions
from groundwire.extras import check_extra
from groundwire.providers.local_answers import Question, pose, read_answer
from groundwire.providers.overrides import allowed
from groundwire.providers.transforms import skipped
from groundwire.providers.waiting import waiting

T = TypeVar("T")
Runner: TypeAlias = Callable[[JsonObject, Callable[[JsonObject], bool]], None]
"""Answers a Chat request in chunks, and stops where the listener says True."""

_NO_OPTIONS = SendOptions()


class LocalProvider:
    """Asks the model of one file. It is loaded with the first question or by `load`, and given back by `close`.

    `context_size` counts tokens, and memory grows with it. `threads` is half of the processors unless given: threads
    of the runner wait by spinning, so one too many costs more than one too few. `load` is another runner, for tests.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        context_size: int = 4096,
        threads: int | None = None,
        load: Callable[[], Runner] | None = None,
    ) -> None:
        file = Path(path)
        _check_file(file)
        if load is None:
            check_extra("local", "A local model", "xllamacpp")
        count = threads or max(1, (os.cpu_count() or 1) // 2)
        self._load = load or (lambda: load_runner(file, context_size=context_size, threads=count))
        self._runner: Runner | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="groundwire-local")
        self._closed = threading.Event()

    async def load(self) -> None:
        """Load the file now: when the program starts, say, and not when the first user asks."""
        if self._closed.is_set():
            raise _failed("The model is closed.")
        await asyncio.wrap_future(self._thread.submit(self._loaded))

    async def complete(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> Reply:
        async with contextlib.aclosing(self._ask(request, options)) as parts:
            async for part in parts:
                if isinstance(part, ReplyEnded):
                    return part.reply
        raise _failed("The model gave no answer.")

    async def stream(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> AsyncGenerator[ReplyPart]:
        """With tools on offer the pieces come together at the end: only then is it known what the answer is."""
        async with contextlib.aclosing(self._ask(request, options)) as parts:
            async for part in parts:
                yield part

    async def close(self) -> None:
        if not self._closed.is_set():
            self._closed.set()
            unloaded = self._thread.submit(self._unload)
            self._thread.shutdown(wait=False)
            await asyncio.wrap_future(unloaded)

    async def _ask(self, request: ModelRequest, options: SendOptions) -> AsyncGenerator[ReplyPart, None]:
        question = _with_options(pose(request), options)
        decoder = StreamDecoder(split_thinking=not question.is_held)
        async with contextlib.aclosing(self._chunks(question.body, options.timeout)) as chunks:
            async for chunk in chunks:
                if "model" in chunk:  # the runner names its file
                    chunk["model"] = request.model
                for part in _news(decoder.feed(b"data: " + dump(chunk) + b"\n\n"), question):
                    yield part
        for part in _news(decoder.finish(), question):
            yield part

    async def _chunks(self, body: JsonObject, seconds: float | None) -> AsyncGenerator[JsonObject, None]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds if seconds else None
        chunks: asyncio.Queue[JsonObject | None] = asyncio.Queue()
        stopped = threading.Event()

        def tell(chunk: JsonObject | None) -> bool:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody listens any more
                loop.call_soon_threadsafe(chunks.put_nowait, chunk)
                return stopped.is_set() or self._closed.is_set()
            return True

        def generate() -> None:
            try:
                if not stopped.is_set():
                    self._run(body, tell)
            finally:
                tell(None)

        if self._closed.is_set():
            raise _failed("The model is closed.")
        job = self._thread.submit(generate)
        try:
            while (chunk := await _before(deadline, chunks.get())) is not None:
                yield chunk
            await asyncio.wrap_future(job)
        except TimeoutError:
            message = f"The model did not answer within {seconds} s."
            raise ProviderError(Failure(kind=FailureKind.TIMEOUT, message=message, status=504)) from None
        finally:
            stopped.set()
            job.cancel()

    def _run(self, body: JsonObject, tell: Callable[[JsonObject], bool]) -> None:
        if self._closed.is_set():
            raise _failed("The model is closed.")
        runner = self._loaded()
        try:
            runner(body, tell)
        except ValueError as error:  # a body that it does not take, or a schema that it cannot hold an answer to
            message = f"The model cannot be asked this: {error}"
            raise ProviderError(Failure(kind=FailureKind.INVALID_REQUEST, message=message, status=400)) from error
        except Exception as error:
            raise _failed(f"The model could not be run: {error}") from error

    def _loaded(self) -> Runner:
        if self._runner is None:
            self._runner = self._load()
        return self._runner

    def _unload(self) -> None:
        self._runner = None


async def _before(deadline: float | None, chunk: Awaitable[T]) -> T:
    with waiting():
        async with asyncio.timeout_at(deadline):
            return await chunk


def load_runner(path: Path, *, context_size: int, threads: int) -> Runner:
    """The model in memory. Takes from half a second to minutes, and holds up all threads meanwhile."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context_size
    params.n_parallel = 1
    params.verbosity = -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    # It also listens on a port of this machine, and cannot be told not to: nobody gets in without this key.
    params.api_keys = [secrets.token_hex(32)]
    try:
        server = xllamacpp.Server(params)
    except Exception as error:  # noqa: BLE001 - whatever it raises, it is about this file
        raise ConfigError(f"The model file {path} cannot be loaded: {error}") from None
    return server.handle_chat_completions


def _check_file(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ConfigError(f"The model file {path} cannot be read: {error.strerror}") from None
    if magic != b"GGUF":
        raise ConfigError(f"The model file {path} is not a GGUF file.")


def _with_options(question: Question, options: SendOptions) -> Question:
    notes = skipped(options, "Transforms are for servers; a local model skips them.")
    body = {**question.body, **allowed(options.overrides)}
    return replace(question, body=body, warnings=(*question.warnings, *notes))


def _news(parts: list[ReplyPart], question: Question) -> list[ReplyPart]:
    """The parts as they go out: an answer in our own form is read first, and then told as what it means."""
    news: list[ReplyPart] = []
    for part in parts:
        if isinstance(part, ReplyFailed):
            raise ProviderError(part.failure)
        if isinstance(part, ReplyEnded):
            reply = replace(part.reply, warnings=(*question.warnings, *part.reply.warnings))
            news += parts_of(read_answer(reply, question)) if question.is_held else [ReplyEnded(reply=reply)]
        elif not question.is_held:
            news.append(part)
    return news


def _failed(message: str) -> ProviderError:
    return ProviderError(Failure(kind=FailureKind.SERVER, message=message, should_retry=False))
