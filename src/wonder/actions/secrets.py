"""Secrets for actions: opened when they are used, and redacted everywhere from then on (INV-8).

What opens them is imported when the first one is used: most processes use none.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

from wonder.actions.protocol import ActionFailed
from wonder.actions.resources import SecretMissing
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


class StoredSecrets:
    """The secrets of one database; `keys` says where the keys are that open them, when it is first asked."""

    def __init__(
        self, reader: Reader, keys: "Callable[[], KeySource]", redactor: Redactor, now_ms: Callable[[], int]
    ) -> None:
        self._reader, self._find_keys, self._redactor, self._now_ms = reader, keys, redactor, now_ms
        self._keys: KeySource | None = None
        self._ring: KeyRing | None = None
        self._known: dict[tuple[str, str], tuple[int, str]] = {}

    async def values(self, project_id: str, names: Collection[str]) -> dict[str, str]:
        """Give the values of secrets, the project's own before its workspace's; raises ActionFailed."""
        return {name: await self._value(project_id, name) for name in sorted(names)}

    async def recall(self) -> None:
        """Redact the secrets of runs under way before they go on.

        A process before this one may have used them, and what it was shown by a peer, this one is shown too.
        """
        rows = await self._reader.fetch("secrets_of_live_runs", _RECALLED_MAX)
        if not rows:
            return
        from wonder.actions.secret_logs import redact_logs
        from wonder.storage.secrets import sealed_in

        for sealed in sealed_in(rows):
            try:
                self._redactor.add(sealed.name, self._open(sealed))
            except ActionFailed as error:
                # Whoever uses it is told; a run that does not goes on.
                log.warning("%s", error.message)
            # Others have a turn: each takes some milliseconds.
            await asyncio.sleep(0)
        redact_logs(self._redactor)

    async def _value(self, project_id: str, name: str) -> str:
        now_ms = self._now_ms()
        read_ms, known = self._known.get((project_id, name), (0, None))
        if known is not None and 0 <= now_ms - read_ms < _FRESH_MS:
            return known
        from wonder.actions.secret_logs import redact_logs
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
        self._known[project_id, name] = (now_ms, value)
        return value

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
