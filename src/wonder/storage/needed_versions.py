"""Which versions of definitions something can still start: only these keep what they name from being archived (RES-5).

An old version that no workflow starts any more, and that of a workflow which is disabled or archived, keep nothing:
what is archived can still be loaded by its id, so a run of such a version finds it.
"""

from wonder.storage.store import Reader, Row

_Version = tuple[str, str, int]
"""A table, and the id and version of a definition in it."""


class NeededVersions:
    """Answers for one transaction, which asks for the same versions again and again."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: dict[_Version, bool] = {}

    async def is_user(self, table: str, id: str, version: int | None) -> bool:
        """Say whether a definition's version, or a workflow, can be started, or called by what can be."""
        if table == "workflows":
            return bool(await self._reader.fetch("enabled_workflow", id))
        assert version is not None
        start = (table, id, version)
        if start not in self._known:
            await self._look(start)
        return self._known[start]

    async def _look(self, start: _Version) -> None:
        """Go from a version to all that use it, until one of them can be started by itself."""
        seen, ahead = {start}, [start]
        while ahead:
            one = ahead.pop()
            if self._known.get(one) or await self._is_started(one):
                self._known[start] = True
                return
            users = [user for user in await self._users(one) if user not in seen]
            seen.update(users)
            ahead += users
        self._known |= dict.fromkeys(seen, False)

    async def _users(self, one: _Version) -> list[_Version]:
        table, id, version = one
        if table == "action_defs":
            return _versions("task_defs", await self._reader.fetch("tasks_with_action", id, version))
        if table == "task_defs":
            return _versions("workflow_defs", await self._reader.fetch("versions_with_task", id, version))
        newest = await self._newest(table, id)
        calls = await self._reader.fetch("live_calls_of", id, version, int(newest == version))
        return _versions("action_defs", calls)

    async def _is_started(self, one: _Version) -> bool:
        """Say whether a version is live, and a start can name it or a new definition will."""
        table, id, version = one
        if await self._newest(table, id) == version:
            if table != "workflow_defs":
                # What has never been a part of anything waits to be named.
                return not await self._users(one)
            row = (await self._reader.fetch_named("versions(workflow_defs)", id))[0]
            if row["library_id"] is not None or not await self._reader.fetch("live_bindings", id):
                return True
        return table == "workflow_defs" and await self._is_bound(id, version)

    async def _is_bound(self, id: str, version: int) -> bool:
        newest = await self._newest("workflow_defs", id)
        for _, pinned, enabled in await self._reader.fetch("live_bindings", id):
            if enabled and version == (newest if pinned is None else pinned):
                return True
        return False

    async def _newest(self, table: str, id: str) -> int | None:
        rows = await self._reader.fetch_named(f"versions({table})", id)
        return next((int(str(row["version"])) for row in rows if row["archived_at"] is None), None)


def _versions(table: str, rows: list[Row]) -> list[_Version]:
    return [(table, str(id), int(str(version))) for id, version in rows]
