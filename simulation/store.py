"""The real SQLite store without its threads: each of their jobs is one numbered operation of the simulation."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import apsw

from simulation.faults import Fault
from wonder.storage.errors import ConnectionLost, DatabaseBusy, DiskFull, StoreClosed
from wonder.storage.queries import load_queries
from wonder.storage.sqlite.connection import connect
from wonder.storage.sqlite.jobs import commit
from wonder.storage.sqlite.store import SqliteStore
from wonder.storage.store import Entry, Fence, Row, Value
from wonder.storage.url import SqliteAddress

if TYPE_CHECKING:
    from simulation.processes import Process

Result = TypeVar("Result")
Job = Callable[[apsw.Connection], Any]

_BUSY_MS: Final = 30_000
_BUSY_AGAIN_MS: Final = 10
# How long an operation takes, and its answer: often so short that several come at the same moment.
_LATENCIES_MS: Final = (0, 0, 0, 0, 1, 1, 2, 5)
# Of the facts that may be logged, how many are.
_LOGGED_SHARE: Final = 0.9


class _Operation(NamedTuple):
    fault: Fault | None
    job: Job
    future: "asyncio.Future[Any]"
    begun_ms: int
    is_suffered: bool = False
    """Whether what goes wrong before it has done so."""


class SimulatedConnections:
    """Stands where the store has its threads: jobs run one after another, later, and may go wrong."""

    def __init__(self, process: "Process", connection: apsw.Connection) -> None:
        self._process, self._connection = process, connection
        self._world = process.world
        self._line: deque[_Operation] = deque()
        self._closed = False

    def submit(
        self, work: Callable[[apsw.Connection], Result], of_commit: Fault | None = None
    ) -> "asyncio.Future[Result]":
        """Put a job in the line."""
        if self._closed:
            raise StoreClosed
        fault = self._world.fault_at_operation() or of_commit
        future: asyncio.Future[Result] = self._process.loop.create_future()
        self._line.append(_Operation(fault, work, future, self._world.now_ms))
        if len(self._line) == 1:
            self._serve_later(fault)
        return future

    def submit_at_once(self, work: Callable[[apsw.Connection], Any], of_commit: Fault | None) -> bool:
        """Do a job here and now; False if there are others before it."""
        if self._line or self._closed:
            return False
        fault = self._world.fault_at_operation() or of_commit
        if fault is not None and not self._process.suffer_before(fault):
            return False
        if fault is not None and fault.does == "fails":
            self._break(fault)
            raise _errors(fault)
        _, error = self._carry_out(work)
        if isinstance(error, DatabaseBusy):
            return False
        if fault is not None and fault.does == "answer_lost":
            self._break(fault)
            error = ConnectionLost("the answer is lost")
        if fault is not None:
            self._process.suffer_after(fault)
        if error is not None:
            raise error
        return True

    def lend(self) -> None:
        """Lend no connection: a commit that the loop waits for is an operation too."""

    def tell(self, first: Callable[[apsw.Cursor], None], asked: tuple[str, Sequence[Value]]) -> None:
        """Make a small commit here and now, if the lease is ours."""
        commit((), asked, "simulated", self._connection, first)

    async def close(self) -> None:
        """Take no more jobs."""
        self._closed = True

    break_off = close

    def bury(self) -> None:
        """Take nothing more from what a process has left."""
        self._closed = True
        self._line.clear()

    def _serve_later(self, fault: Fault | None) -> None:
        delay_ms = self._world.random.choice(_LATENCIES_MS)
        if fault is not None and fault.does == "slow":
            self._world.hit(fault)
            delay_ms += fault.milliseconds
        self._world.after(delay_ms, self._serve)

    def _serve(self) -> None:
        """Carry out the first job of the line. A process that has died or is paused meanwhile has sent it already."""
        fault, job, future, begun_ms, is_suffered = self._line[0]
        if fault is not None and not is_suffered and not self._process.suffer_before(fault):
            return
        result: Any = None
        error: BaseException | None = None
        if fault is not None and fault.does == "fails":
            self._break(fault)
            error = _errors(fault)
        else:
            result, error = self._carry_out(job)
            if isinstance(error, DatabaseBusy) and self._world.now_ms - begun_ms < _BUSY_MS:
                # Another process writes; SQLite waits for it.
                self._line[0] = self._line[0]._replace(is_suffered=True)
                self._world.after(_BUSY_AGAIN_MS, self._serve)
                return
        if fault is not None and fault.does == "answer_lost":
            self._break(fault)
            result, error = None, ConnectionLost("the answer is lost")
        if fault is not None and not self._process.suffer_after(fault):
            return
        self._line.popleft()
        if self._line:
            self._serve_later(self._line[0].fault)
        self._answer_later(future, result, error)

    def _break(self, fault: Fault) -> None:
        """Have the connection break: what it has open is rolled back."""
        self._world.hit(fault)
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _carry_out(self, job: Job) -> tuple[Any, BaseException | None]:
        if self._process.loop.is_dead and not self._process.sends_after_death:
            return None, StoreClosed()
        try:
            return job(self._connection), None
        except BaseException as error:
            return None, error
        finally:
            if self._process.loop.is_dead:
                self._process.disconnect()

    def _answer_later(self, future: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
        loop = self._process.loop
        handle = asyncio.Handle(_deliver, (future, result, error), loop)
        self._world.wake_at(self._world.now_ms + self._world.random.choice(_LATENCIES_MS), loop, handle)


class SimulatedStore(SqliteStore):
    """The store of one process."""

    def __init__(self, process: "Process", path: Path, writer: apsw.Connection, reader: apsw.Connection) -> None:
        # Not the one of the store, which would make threads.
        # Its address is its own, so that the lock beside it is too: who may run the engine is for the world to say.
        self.address = str(path.with_name(f"{path.name}-{process.name}"))
        self._queries = load_queries("sqlite")
        self._writer = SimulatedConnections(process, writer)  # type: ignore[assignment]
        self._readers = SimulatedConnections(process, reader)  # type: ignore[assignment]
        self._writing = asyncio.Lock()
        self._closed = False
        self._busy_ms = 0
        self._process = process
        self._set_up_commits(path)

    def bury(self) -> None:
        """Take nothing more from what a process has left."""
        for connections in (self._writer, self._readers):
            connections.bury()  # type: ignore[attr-defined]
        self._journal.abandon()

    @property
    def commits_at_once(self) -> bool:
        """Say whether a commit would be made here and now."""
        return self._process.has_fast_disk and not self._writing.locked()

    async def commit(
        self,
        batch: Iterable[Entry],
        *,
        fence: Fence | None = None,
        independent: bool = False,
        settles: bool | None = None,
    ) -> None:
        """Write a whole batch in one transaction; here and now, as on a fast disk, or as an operation of its own."""
        if settles is None and self._journal.is_ahead:
            await self._settled()
        job = self._told_job_of(list(batch), fence, bool(settles))
        writer: Any = self._writer
        async with self._writing:
            fault = None if fence is None else self._process.world.fault_at_commit()
            if not (self._process.has_fast_disk and writer.submit_at_once(job, fault)):
                await writer.submit(job, fault)

    def look_up(self, name: str, *parameters: Value) -> list[Row] | None:
        """Look nothing up at once: all that is read is an operation."""
        return None

    def log(self, entry: bytes, fence: Fence) -> bool:
        """Log facts, as an operation of its own; chance says whether it would be sooner than a commit."""
        epoch, world, writer = fence.parameters[-1], self._process.world, self._writer
        assert isinstance(epoch, int)
        assert isinstance(writer, SimulatedConnections)
        if not self.commits_at_once or self._closed or world.random.random() > _LOGGED_SHARE:
            return False
        asked = (self._queries[fence.query], fence.parameters)
        try:
            if not self._journal.is_open_for(epoch, len(entry), lambda first: writer.tell(first, asked)):
                return False
        except DatabaseBusy:
            return False
        return writer.submit_at_once(lambda _: self._journal.write(entry), world.fault_at_commit())

    def _told_job_of(self, batch: Sequence[Entry], fence: Fence | None, settles: bool) -> Job:
        commit = self._commits.job(self._commits.wanted(batch, fence, settles))

        def job(connection: apsw.Connection) -> None:
            commit(connection)
            if fence is not None:
                rows = [tuple(row) for query, rows in batch if query == "insert_events" for row in rows]
                self._process.wrote(rows, fence)

        return job


class DirectStore(SqliteStore):
    """The store without any waiting, for what is done before and after a simulation."""

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        self.address = str(path)
        self._queries = load_queries("sqlite")
        self._writer = self._readers = _Direct(connection)  # type: ignore[assignment]
        self._writing = asyncio.Lock()
        self._closed = False
        self._busy_ms = 0
        self._set_up_commits(path)


class _Direct:
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    async def submit(self, work: Callable[[apsw.Connection], Result]) -> Result:
        return work(self._connection)

    def lend(self) -> None:
        return None


def at_once(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run something to its end that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    raise AssertionError("it waits")


def open_connection(path: Path, *, only_reads: bool = False) -> apsw.Connection:
    """Open a connection with the settings of production, which does not wait for another that writes."""
    return connect(SqliteAddress(path), busy_seconds=0, only_reads=only_reads)


def _errors(fault: Fault) -> Exception:
    return (
        ConnectionLost("it broke"),
        DatabaseBusy("it is in use"),
        DiskFull("the disk"),
    )[fault.milliseconds % 3]


def _deliver(future: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
