"""Where the keys for secrets are: in the environment, or in a file that only we can read."""

import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from wonder.storage.file_modes import FOLDER_MODE
from wonder.storage.sealing import Key, KeyRing, SecretKeyBad, new_key, read_keys
from wonder.storage.url import SqliteAddress, parse_url

VARIABLE: Final = "WONDER_SECRET_KEY"
FILE: Final = "key"
_HOME: Final = Path(".wonder")
_BYTES_MAX: Final = 65_536


class KeySource:
    """Keys from the environment if it has some, otherwise from a file."""

    def __init__(self, path: Path, from_environment: str | None = None) -> None:
        self.path = path
        self._from_environment = from_environment or None

    @property
    def is_file(self) -> bool:
        """Whether the keys are in the file, where they can be changed."""
        return self._from_environment is None

    @property
    def where(self) -> str:
        """Say where the keys are."""
        return str(self.path) if self.is_file else VARIABLE

    def load(self) -> KeyRing | None:
        """Read the keys; None if there is no file yet. Raises SecretKeyBad."""
        if self._from_environment is not None:
            return KeyRing(read_keys(self._from_environment, VARIABLE), VARIABLE)
        text = self._read()
        return None if text is None else KeyRing(read_keys(text, self.where), self.where)

    def make(self) -> KeyRing:
        """Make the file with a new key, unless another process has just done so: then that one's counts."""
        made = new_key()
        temporary = self._write([made])
        try:
            # A link and not a renaming: it never replaces a key that is there.
            os.link(temporary, self.path)
            self._sync_folder()
        except FileExistsError:
            pass
        except OSError as error:
            raise SecretKeyBad(self.where, f"it can't be made: {error.strerror or error}") from error
        finally:
            temporary.unlink(missing_ok=True)
        ring = self.load()
        assert ring is not None
        return ring

    def replace(self, keys: Sequence[Key]) -> KeyRing:
        """Write the file anew with these keys; whatever happens, either the old or the new content is there."""
        assert self.is_file
        temporary = self._write(keys)
        try:
            temporary.replace(self.path)
            self._sync_folder()
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise SecretKeyBad(self.where, f"it can't be written: {error.strerror or error}") from error
        return KeyRing(keys, self.where)

    def _read(self) -> str | None:
        try:
            # What a link of somebody else's leads to could be anything.
            self._refuse_foreign(os.lstat(self.path), "link" if self.path.is_symlink() else "file")
            with self.path.open("rb") as file:
                found = os.fstat(file.fileno())
                self._refuse_foreign(found, "file")
                if not stat.S_ISREG(found.st_mode):
                    raise SecretKeyBad(self.where, "it is no file; move it away")
                if found.st_mode & 0o077:
                    shown = f"other users can read or write it (mode {stat.S_IMODE(found.st_mode):o})"
                    raise SecretKeyBad(self.where, f"{shown}; run: chmod 600 {self.path}")
                return file.read(_BYTES_MAX).decode("ascii", "replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SecretKeyBad(self.where, f"it can't be read: {error.strerror or error}") from error

    def _refuse_foreign(self, found: os.stat_result, noun: str) -> None:
        if found.st_uid not in (os.geteuid(), 0):
            reason = f"the {noun} belongs to another user ({found.st_uid}); make it your own, or move it away"
            raise SecretKeyBad(self.where, reason)

    def _write(self, keys: Sequence[Key]) -> Path:
        """Write keys to a file of another name beside it, durably."""
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}-{os.urandom(4).hex()}")
        text = "".join(f"{key.text}\n" for key in keys)
        try:
            if self.path.parent.name == _HOME.name:
                self.path.parent.mkdir(FOLDER_MODE, exist_ok=True)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(text)
                file.flush()
                os.fsync(descriptor)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise SecretKeyBad(self.where, f"it can't be written: {error.strerror or error}") from error
        return temporary

    def _sync_folder(self) -> None:
        # Not every system lets a folder be synced.
        with suppress(OSError):
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def key_source(url: str, environment: Mapping[str, str] | None = None) -> KeySource:
    """Say where the keys of a database are: beside its file, or for PostgreSQL in `.wonder` of the working folder."""
    address = parse_url(url)
    folder = address.path.parent if isinstance(address, SqliteAddress) else _HOME
    return KeySource((folder / FILE).absolute(), (os.environ if environment is None else environment).get(VARIABLE))
