"""The world: one simulated time for all processes, and one seeded choice of what happens next."""

import heapq
from asyncio import Handle
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import count
from random import Random
from typing import Any, Final, NamedTuple

from simulation.faults import Fault
from simulation.loop import SimulatedLoop

START_MS: Final = 1_800_000_000_000
# So many callbacks, or events that are stored.
_WORK_OF_A_MILLISECOND: Final = 200
_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class _Later(NamedTuple):
    due_ms: int
    chance: float
    number: int
    loop: SimulatedLoop | None
    handle: Any


class World:
    """Time, chance, and everything that will happen."""

    def __init__(self, seed: int, faults: Iterable[Fault]) -> None:
        self.random = Random(f"world {seed}")
        self.now_ms = 0
        """The true time, which never jumps, in whole milliseconds: what happens within one happens in any order."""
        self.jump_ms = 0
        """How far the clock that processes see is from the true time."""
        self.operations = 0
        self.tasks = 0
        self.commits = 0
        self.steps = 0
        self._worked = 0
        self.events = 0
        """How many events were written."""
        self.has_faults = True
        self.happened: Counter[str] = Counter()
        self.log: list[dict[str, Any]] = []
        self.trace: Callable[[str], None] | None = None
        self._faults: dict[tuple[str, int], Fault] = {}
        for fault in faults:
            self._faults.setdefault((fault.of, fault.number), fault)
        self.clock_jumps = any(fault.kind.startswith("clock") for fault in self._faults.values())
        self._heap: list[_Later] = []
        self._numbers = count()
        self._ids = count(1)
        self._loops: list[SimulatedLoop] = []
        self._latest_ms = 0

    def add(self, loop: SimulatedLoop) -> None:
        """Take a process in."""
        self._loops = [*(other for other in self._loops if not other.is_dead), loop]

    def wall_ms(self) -> int:
        """Return the time of day as processes see it."""
        now_ms = START_MS + self.now_ms + self.jump_ms
        self._latest_ms = max(self._latest_ms, now_ms)
        return now_ms

    def new_id(self) -> str:
        """Make an id; ids sort by their making."""
        number, letters = next(self._ids), ""
        while number:
            number, digit = divmod(number, 32)
            letters = _ALPHABET[digit] + letters
        return letters.rjust(26, "0")

    def wake_at(self, due_ms: float, loop: SimulatedLoop | None, handle: Any) -> None:
        """Have a callback become ready in a process later, or, without a process, have something done."""
        due = max(int(-(-due_ms // 1)), self.now_ms)
        heapq.heappush(self._heap, _Later(due, self.random.random(), next(self._numbers), loop, handle))

    def after(self, milliseconds: float, call: Callable[[], None]) -> None:
        """Have something done later, in no process."""
        self.wake_at(self.now_ms + milliseconds, None, call)

    def fault_at_operation(self) -> Fault | None:
        """Number an operation, and say what goes wrong with it."""
        self.operations += 1
        return self._fault("operation", self.operations)

    def fault_at_task(self) -> Fault | None:
        """Number a task, and say what goes wrong with it."""
        self.tasks += 1
        return self._fault("task", self.tasks)

    def fault_at_commit(self) -> Fault | None:
        """Number a commit of runs, and say what goes wrong with it."""
        self.commits += 1
        return self._fault("commit", self.commits)

    def _fault(self, of: str, number: int) -> Fault | None:
        return self._faults.get((of, number)) if self.has_faults else None

    def hit(self, fault: Fault) -> None:
        """Count a fault that has come to pass."""
        self.happened[fault.kind] += 1
        self.tell(f"FAULT {fault}")

    def note(self, kind: str, **fields: Any) -> None:
        """Write a line of the outside log; its time is the latest that any process has seen, so that it never jumps."""
        self.wall_ms()
        self.log.append({"kind": kind, "at": self._latest_ms, **fields})
        if self.trace:
            self.tell(f"{kind} {fields}")

    def tell(self, text: str) -> None:
        """Tell whoever wants to see all that happens."""
        if self.trace:
            self.trace(f"{self.now_ms:>7} op {self.operations:>4}  {text}")

    def step(self) -> bool:
        """Let one thing happen; False when nothing will any more."""
        self.steps += 1
        ready = [loop for loop in self._loops if loop.ready and not loop.is_paused]
        heap = self._heap
        is_due = bool(heap) and heap[0].due_ms <= self.now_ms
        if ready and not (is_due and self.random.random() < 0.5):
            loop = ready[0] if len(ready) == 1 else self.random.choice(ready)
            events = self.events
            loop.run_one()
            # Work takes time too: a run that never waits would else stop the clock for everybody.
            passed_ms, self._worked = divmod(self._worked + 1 + self.events - events, _WORK_OF_A_MILLISECOND)
            self.now_ms += passed_ms
            return True
        if not heap:
            return False
        later = heapq.heappop(heap)
        self.now_ms = max(self.now_ms, later.due_ms)
        if later.loop is None:
            later.handle()
        else:
            assert isinstance(later.handle, Handle)
            later.loop.wake(later.handle)
        return True
