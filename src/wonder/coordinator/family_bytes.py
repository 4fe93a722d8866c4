"""Family bytes: what all runs that calls and triggers lead to from one run on have written together (RES-6).

The limit on what one run writes bounds none of its family: a run of two megabytes that triggers one for each of a
thousand items would have each of them write as much as the first one may.
"""

from typing import Final

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.live import Family, LiveRun
from wonder.coordinator.sharing import SharedReads
from wonder.engine.failure import Failure
from wonder.engine.limits import over_limit
from wonder.storage.runs.headers import load_header
from wonder.storage.runs.reconciling import bytes_written_by_family

_FAMILIES_KEPT: Final = 10_000


class FamilyBytes:
    """Counts a family by its rows when it is first asked for, and in memory from there on."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._families: dict[str, Family] = {}
        self._counts = SharedReads[str, int](self._count)

    async def place(self, run: LiveRun) -> tuple[int, str]:
        """Say how many triggers led to a run, and from which run on: those of its callers count as well."""
        origin, top_id, parent_id = run.origin, run.id, run.parent_run_id
        while origin is None and parent_id is not None:
            header = await load_header(self._coordinator.store, parent_id)
            origin, top_id, parent_id = header.origin, header.id, header.parent_run_id
        return (0, top_id) if origin is None else (origin.depth, origin.family_id)

    async def join(self, run: LiveRun) -> None:
        """Have a run counted with its family, as all are that call others."""
        if run.family is None:
            _, family_id = await self.place(run)
            run.family = await self.get(family_id)

    async def get(self, family_id: str) -> Family:
        """Give a family."""
        if family_id not in self._families:
            written = await self._counts.get(family_id)
            if len(self._families) >= _FAMILIES_KEPT:
                self._families.clear()
            # Not over what another has counted meanwhile, and has added to.
            self._families.setdefault(family_id, Family(written))
        return self._families[family_id]

    def enter(self, run: LiveRun) -> None:
        """Have a run that begins or was loaded counted with its family, as far as that is known.

        It is not looked for in the database: a run that was called has a limit of its own as well.
        """
        if run.origin is not None:
            run.family = self._families.get(run.origin.family_id)
        elif run.parent_run_id is None:
            run.family = self._families.get(run.id)
        elif caller := self._coordinator.residency.find(run.parent_run_id):
            run.family = caller.family

    async def _count(self, family_id: str) -> int:
        return await bytes_written_by_family(self._coordinator.store.unsettled, family_id)


def refusal(run: LiveRun) -> Failure | None:
    """Say why a run may call no other: its family has written as much as it may."""
    return None if run.family is None else too_much(run.family, run.state.limits.bytes_written)


def too_much(family: Family, most: int) -> Failure | None:
    """Say that a family has written as much as it may."""
    return over_limit("bytes_written", family.written, most) if family.written > most else None
