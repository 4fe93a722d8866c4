"""Signs cursors: one that this server did not give for this list of this project is refused."""

import hmac
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Final

from wonder.api.problems import Problem

_SIGNATURE_LENGTH: Final = 22  # of 128 bits
_LENGTH_MAX: Final = 8_000


class Cursors:
    """Gives cursors to clients and takes them back, signed with the key of the database."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def give(self, cursor: str, operation: str, project_id: str) -> str:
        """Sign a cursor for a list of a project."""
        return self._signature(cursor, operation, project_id) + cursor

    def take(self, given: str, operation: str, project_id: str) -> str:
        """Give the cursor that was signed; raises Problem for any other."""
        signature, cursor = given[:_SIGNATURE_LENGTH], given[_SIGNATURE_LENGTH:]
        expected = self._signature(cursor, operation, project_id) if len(given) <= _LENGTH_MAX else ""
        if not hmac.compare_digest(signature.encode(errors="replace"), expected.encode()):
            text = "the cursor is not one of this list; begin without one, and use what the list gives unchanged"
            raise Problem(400, "BAD_CURSOR", text)
        return cursor

    def _signature(self, cursor: str, operation: str, project_id: str) -> str:
        text = "\x00".join((operation, project_id, cursor)).encode(errors="replace")
        return urlsafe_b64encode(hmac.digest(self._key, text, sha256)[:16]).decode().rstrip("=")
