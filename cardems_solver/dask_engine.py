"""The engine of a batch on a Dask cluster: the same chunks and searches, sent to whatever workers there are.

This process deals out ranges and writes results; it alone knows what is done. It keeps about as many tasks in flight as
the cluster has threads. Dask runs a task again when its worker is lost, and a task yields its result here once, however
often it ran; a task that outlived too many workers for Dask is sent anew. So nothing is lost and nothing counts twice.
"""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import cardems_solver
from cardems_solver import chunks
from cardems_solver.batch import FIRST_CHUNK, TICK, Running
from cardems_solver.chunks import Question
from cardems_solver.results import Row
from cardems_solver.worklist import Feeder

CHUNK_SECONDS = 2.0
"""How long a chunk should take: longer than on one machine, for a message costs more than a thread's switch."""
LARGEST_CHUNK = 16_384
TRIES = 10
"""How often a task is sent anew before the batch gives up."""
POLL = 0.01


class ClusterError(Exception):
    """There is no cluster, or it has been lost, or its workers cannot do the work."""


# --- On the workers -------------------------------------------------------------------------------------------------

_stops: dict[str, dict[str, np.ndarray]] = {}
"""For each batch, in each worker process: the bytes that end its chunks and its searches."""


def _stop_flags(batch: str) -> dict[str, np.ndarray]:
    return _stops.setdefault(batch, {"chunk": np.zeros(1, np.uint8), "search": np.zeros(1, np.uint8)})


def _set_stop(batch: str, kinds: tuple[str, ...]) -> None:
    """Runs on a worker beside its tasks."""
    for kind in kinds:
        _stop_flags(batch)[kind][0] = 1


def _check_version(version: str) -> None:
    if version != cardems_solver.__version__:
        raise ClusterError(f"a worker has cardems-solver {cardems_solver.__version__}, this process has {version}")


def _memory_share() -> int | None:
    """Bytes for one search on this worker: three quarters of its limit, shared out among its threads."""
    from distributed import get_worker

    from cardems_solver.limits import machine_memory

    worker = get_worker()
    limit = worker.memory_manager.memory_limit or machine_memory()
    return int(limit) * 3 // 4 // worker.state.nthreads


def _chunk(
    version: str, batch: str, question: Question, scheme: str, numbers: Any
) -> tuple[list[Row], list[tuple[int, float]], float]:
    """A first pass on a worker: rows, what is left to search, seconds."""
    _check_version(version)
    started = time.perf_counter()
    rows, left = chunks.first_pass(question, scheme, numbers, _stop_flags(batch)["chunk"])
    return rows, left, time.perf_counter() - started


def _search(
    version: str, batch: str, question: Question, scheme: str, number: int, spent: float, memory: int | None
) -> Row:
    """A full search on a worker."""
    _check_version(version)
    share = _memory_share() if memory is None else memory
    return chunks.search(question, scheme, number, share, _stop_flags(batch)["search"], spent)


# --- Here -----------------------------------------------------------------------------------------------------------


@dataclass
class _Task:
    """What is in flight. ``numbers`` holds one number for a search."""

    kind: str
    scheme: str
    numbers: Any
    spent: float
    sent: float
    tries: int = 0


class DaskEngine:
    """See ``batch.LocalEngine``, which has the same attributes and methods."""

    def __init__(self, question: Question, feeder: Feeder, address: str, memory: int | None, waiting: int) -> None:
        """memory: bytes for all searches together, or None for what the workers have.

        Raises:
            ClusterError: Dask is not installed, or no scheduler with workers answers at the address.
        """
        try:
            from distributed import Client, as_completed
        except ImportError:
            raise ClusterError("a cluster needs Dask: pip install 'cardems-solver[dask]'") from None
        try:
            self._client = Client(address, timeout="10s", set_as_default=False)
            self._client.wait_for_workers(1, timeout=60)
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterError(f"no Dask scheduler with workers answers at {address}: {error}") from None
        self.unfinished: list[str] = []
        self.jobs = self._threads()
        self._counted = time.perf_counter()
        self._memory = None if memory is None else memory // self.jobs
        self._question = question
        self._feeder = feeder
        self._bound = waiting
        self._batch = uuid.uuid4().hex
        self._done = as_completed(loop=self._client.loop, with_results=True, raise_errors=False)
        self._out: dict[Any, _Task] = {}
        self._hard: deque[tuple[str, int, float]] = deque()
        self._searches = 0
        self._size = FIRST_CHUNK
        self._stopped = self._closing = False

    def _threads(self) -> int:
        return max(1, sum(self._client.nthreads().values()))

    @property
    def waiting(self) -> int:
        return len(self._hard) + self._searches

    def running(self) -> list[Running]:
        now = time.perf_counter()
        searches = [task for task in self._out.values() if task.kind == "search"]
        found = [Running(f"{t.scheme}:{t.numbers[0]}", now - t.sent, 0) for t in searches]
        return sorted(found, key=lambda r: -r.seconds)

    def stop(self) -> None:
        self._stopped = True

    def close_early(self) -> None:
        self._closing = True

    def blocks(self) -> Iterator[list[Row]]:
        """See ``batch.LocalEngine.blocks``.

        Raises:
            ClusterError: the cluster is lost, or a task failed again and again.
            FalseSolution: a search is wrong.
        """
        told = time.perf_counter()
        closed = False
        try:
            while not self._stopped:
                if self._closing and not closed:
                    closed = True
                    self._end("search")
                self._send()
                if not self._out:
                    break
                batch = self._done.next_batch(block=False)
                for future, result in batch:
                    if rows := self._take(future, result):
                        yield rows
                if not batch:
                    if self._client.status not in ("running", "connecting"):
                        raise ClusterError("the Dask scheduler is lost")
                    time.sleep(POLL)
                if time.perf_counter() - told >= TICK:
                    told = time.perf_counter()
                    yield []
        finally:
            self._end("chunk", "search")
            self.unfinished += [f"{scheme}:{number}" for scheme, number, _ in self._hard]
            self._client.close(timeout=5)

    def _send(self) -> None:
        """Keep as many tasks in flight as there are threads, and a few more to bridge the time that messages take."""
        if time.perf_counter() - self._counted > 2:
            self._counted = time.perf_counter()
            self.jobs = self._threads()
        while len(self._out) < self.jobs + 1 + self.jobs // 8 and not self._closing:
            easy = self._feeder.left > 0
            spare = self._searches < self.jobs - 1
            if self._hard and (spare or not easy or len(self._hard) >= self._bound):
                scheme, number, spent = self._hard.popleft()
                self._submit(_Task("search", scheme, [number], spent, time.perf_counter()))
            elif easy and (taken := self._feeder.take(self._chunk_size())):
                self._submit(_Task("chunk", *taken, 0.0, time.perf_counter()))
            else:
                return

    def _chunk_size(self) -> int:
        return max(1, min(self._size, self._feeder.left // (2 * self.jobs)))

    def _submit(self, task: _Task) -> None:
        common = (cardems_solver.__version__, self._batch, self._question, task.scheme)
        if task.kind == "chunk":
            future = self._client.submit(_chunk, *common, task.numbers, pure=False)
        else:
            self._searches += 1
            future = self._client.submit(_search, *common, task.numbers[0], task.spent, self._memory, pure=False)
        self._out[future] = task
        self._done.add(future)

    def _take(self, future: Any, result: Any) -> list[Row]:
        """The rows of a task that has come back."""
        task = self._out.pop(future, None)
        if task is None:
            return []
        if task.kind == "search":
            self._searches -= 1
        if future.status != "finished":
            self._again(task, future, result)
            return []
        if task.kind == "search":
            if chunks.cut_short(result):
                self.unfinished.append(result.deal)
                return []
            return [result]
        rows, left, seconds = result
        target = int(len(task.numbers) / max(seconds, 1e-6) * CHUNK_SECONDS)
        self._size = max(1, min(target, 4 * self._size, LARGEST_CHUNK))
        self._hard.extend((task.scheme, number, spent) for number, spent in left)
        return rows

    def _again(self, task: _Task, future: Any, result: Any) -> None:
        """A task failed: because its workers were lost, or because the program is wrong."""
        from distributed import KilledWorker

        error = result[1] if isinstance(result, tuple) else result
        if future.status == "error" and not isinstance(error, KilledWorker):
            raise error
        first, last = task.numbers[0], task.numbers[-1]
        if task.tries >= TRIES:
            raise ClusterError(f"the workers that try {task.scheme}:{first}..{last} are lost again and again: {error}")
        task.tries += 1
        task.sent = time.perf_counter()
        self._submit(task)

    def _end(self, *kinds: str) -> None:
        """Take back the tasks of these kinds, and end those that run."""
        ended = [future for future, task in self._out.items() if task.kind in kinds]
        for future in ended:
            task = self._out.pop(future)
            if task.kind == "search":
                self._searches -= 1
                self.unfinished.append(f"{task.scheme}:{task.numbers[0]}")
        if ended and self._client.status == "running":
            self._client.cancel(ended, force=True)
            self._client.run(_set_stop, self._batch, kinds, on_error="ignore")
