"""Task groups that raise the error itself, not a group of one."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar, TypeVarTuple

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

A = TypeVar("A")
B = TypeVar("B")
Arguments = TypeVarTuple("Arguments")


@asynccontextmanager
async def task_group() -> AsyncIterator[TaskGroup]:
    """Run tasks together. Raises the first error of any of them, with the group of all errors as its cause."""
    try:
        async with anyio.create_task_group() as tasks:
            yield tasks
    except BaseExceptionGroup as group:
        raise _first(group) from group


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def on_threads(one: Callable[[], A], other: Callable[[], B]) -> tuple[A, B]:
    """Run two blocking functions at the same time and return both results. Raises the first error of either."""
    results: list[B] = []

    async def run_other() -> None:
        results.append(await to_thread.run_sync(other))

    async with task_group() as tasks:
        tasks.start_soon(run_other)
        result = await to_thread.run_sync(one)
    return result, results[0]


async def first_of(*waits: Callable[[], Awaitable[object]]) -> None:
    """Return once one of these has returned, and cancel the others."""
    async with task_group() as tasks:

        async def end_with(wait: Callable[[], Awaitable[object]]) -> None:
            await wait()
            tasks.cancel_scope.cancel()

        for wait in waits:
            tasks.start_soon(end_with, wait)


async def together(works: Iterable[Callable[[], Coroutine[Any, Any, object]]]) -> None:
    """Run all of these at the same time, and return once all have returned."""
    async with task_group() as tasks:
        for work in works:
            tasks.start_soon(work)


async def meanwhile(side: Callable[[], Coroutine[Any, Any, object]], work: Awaitable[A]) -> A:
    """Return the result of `work`. Run `side` until then."""
    async with task_group() as tasks:
        tasks.start_soon(side)
        result = await work
        tasks.cancel_scope.cancel()
    return result


# So long, something that ends waits for tasks that may take a moment longer.
_GRACE_SECONDS = 5.0


class PlayTasks:
    """The tasks of something that plays, from `open` until it is left. What starts them can be made before."""

    def __init__(self) -> None:
        self._group: TaskGroup | None = None
        self._late: list[anyio.Event] = []

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Run tasks until this is left. Those that still run then are cancelled, late ones after five seconds."""
        async with task_group() as self._group:
            yield
            with anyio.move_on_after(_GRACE_SECONDS):
                for ended in self._late:
                    await ended.wait()
            self._group.cancel_scope.cancel()

    def start_late(self, task: Callable[[*Arguments], Coroutine[Any, Any, Any]], *args: *Arguments) -> None:
        """Start a task that may take a moment longer than what plays."""
        ended = anyio.Event()
        self._late = [event for event in self._late if not event.is_set()] + [ended]

        async def run() -> None:
            try:
                await task(*args)
            finally:
                ended.set()

        self.start_soon(run)

    def start_soon(self, task: Callable[[*Arguments], Coroutine[Any, Any, Any]], *args: *Arguments) -> None:
        """Start a task."""
        assert self._group is not None, "tasks run only while something plays"
        self._group.start_soon(task, *args)
