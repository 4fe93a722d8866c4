"""Secrets for actions: opened when they are used, and redacted everywhere from then on (INV-8).

What opens them is imported when the first one is used: most processes use none.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final, NamedTuple

from wonder.actions.protocol import ActionFailed
from wonder.actions.resources import SecretMissing, SecretOutOfScope, Where
from wonder.definitions.secret_scopes import Destination, SecretScope, quoted
from wonder.language.redaction import Redactor
from wonder.storage.store import Reader

if TYPE_CHECKING:
    from wonder.storage.sealing import KeyRing
    from wonder.storage.secret_keys import KeySource
    from wonder.storage.secrets import Sealed

# A secret that was changed is heard of within this time; to read it with every call would cost more than many calls.
_FRESH_MS: Final = 1_000
_KNOWN_MAX: Final = 10_000
_RECALLED_MAX: Final = 1_000

log = logging.getLogger("wonder.actions")


class _Opened(NamedTuple):
    value: str
    scope: SecretScope | None


class StoredSecrets:
    """The secrets of one database; `keys` says where the keys are that open them, when it is first asked."""

    def __init__(
        self,
        reader: Reader,
        keys: "Callable[[], KeySource]",
        redactor: Redactor,
        now_ms: Callable[[], int],
        *,
        local: bool = False,
    ) -> None:
        self._reader, self._find_keys, self._redactor, self._now_ms = reader, keys, redactor, now_ms
        self._keys: KeySource | None = None
        self._ring: KeyRing | None = None
        self._known: dict[tuple[str, str], tuple[int, _Opened]] = {}
        self._is_local = local
        self._warned: set[tuple[str, str]] = set()
        self._workflows: dict[str, tuple[str | None, str]] = {}

    async def values(
        self, project_id: str, names: Collection[str], where: Where, run_id: str | None = None
    ) -> dict[str, str]:
        """Give the values of secrets, the project's own before its workspace's; raises ActionFailed.

        A secret without a scope goes anywhere where a person runs their own runs, with a warning, and nowhere else.
        """
        opened = {name: await self._opened(project_id, name) for name in sorted(names)}
        values = {name: one.value for name, one in opened.items()}
        if opened:
            destination = where(values)
            for name, one in opened.items():
                await self._check(project_id, name, one.scope, destination, run_id)
        return values

    async def _check(
        self, project_id: str, name: str, scope: SecretScope | None, destination: Destination, run_id: str | None
    ) -> None:
        if scope is None:
            if not self._is_local:
                raise SecretOutOfScope(name, None, destination, None)
            if (project_id, name) not in self._warned and len(self._warned) < _KNOWN_MAX:
                self._warned.add((project_id, name))
                told = "the secret %s has no scope, so any definition can send it anywhere; give it one: %s"
                log.warning(told, name, f"wonder secrets scope {quoted(name)} {destination.option}")
            return
        if not scope.allows(destination):
            raise SecretOutOfScope(name, scope, destination, None)
        if scope.workflows and run_id is not None:
            of_project, workflow = await self._workflow(run_id)
            if not scope.allows_workflow(of_project, workflow):
                raise SecretOutOfScope(name, scope, destination, workflow)

    async def _workflow(self, run_id: str) -> tuple[str | None, str]:
        """Give the workflow whose definition a run is of, which never changes."""
        known = self._workflows.get(run_id)
        if known is None:
            rows = await self._reader.fetch_named("workflow_of_run", run_id)
            of_project, name = (rows[0]["project_id"], rows[0]["name"]) if rows else (None, "")
            known = (None if of_project is None else str(of_project), str(name))
            while len(self._workflows) >= _KNOWN_MAX:
                del self._workflows[next(iter(self._workflows))]
            self._workflows[run_id] = known
        return known

    async def recall(self) -> None:
        """Redact the secrets of runs under way before they go on.

        A process before this one may have used them, and what it was shown by a peer, this one is shown too.
        """
        rows = await self._reader.fetch("secrets_of_live_runs", _RECALLED_MAX)
        if not rows:
            return
        from wonder.actions.secrets.logs import redact_logs
        from wonder.storage.secrets import sealed_in

        for sealed in sealed_in(rows):
            try:
                self._redactor.add(sealed.name, self._open(sealed))
            except ActionFailed as error:
                # A run that uses it gets the error; others go on.
                log.warning("%s", error.message)
            # Others have a turn: each takes some milliseconds.
            await asyncio.sleep(0)
        redact_logs(self._redactor)

    async def _opened(self, project_id: str, name: str) -> "_Opened":
        now_ms = self._now_ms()
        read_ms, known = self._known.get((project_id, name), (0, None))
        if known is not None and 0 <= now_ms - read_ms < _FRESH_MS:
            return known
        from wonder.actions.secrets.logs import redact_logs
        from wonder.storage.secrets import find_secret

        sealed = await find_secret(self._reader, project_id, name)
        if sealed is None:
            self._known.pop((project_id, name), None)
            raise SecretMissing(name)
        value = self._open(sealed)
        # Before anybody has it.
        self._redactor.add(name, value)
        redact_logs(self._redactor)
        while len(self._known) >= _KNOWN_MAX:
            del self._known[next(iter(self._known))]
        opened = _Opened(value, sealed.scope)
        self._known[project_id, name] = (now_ms, opened)
        return opened

    def _open(self, sealed: "Sealed") -> str:
        from wonder.storage.sealing import KeyRing, SecretBroken, SecretKeyBad, SecretKeyMissing
        from wonder.storage.secret_keys import VARIABLE

        keys = self._keys = self._keys or self._find_keys()
        try:
            if self._ring is None or sealed.key_id not in self._ring:
                # Keys change while this process runs, when somebody rotates them.
                self._ring = keys.load() or KeyRing([], keys.where)
                for key in self._ring.keys:
                    # An action may come across the file as well.
                    self._redactor.add(VARIABLE, key.text)
            return sealed.open(self._ring)
        except (SecretKeyBad, SecretKeyMissing, SecretBroken) as error:
            message = f"the secret {sealed.name!r} can't be used: {error}"
            raise ActionFailed(error.code, message, details={"secret": sealed.name}) from error
