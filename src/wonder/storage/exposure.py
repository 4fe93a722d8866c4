"""What a database is exposed to by where it is and who may use it: other users, network file systems, a mighty role."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from wonder.storage.check import Finding
from wonder.storage.file_modes import open_mode
from wonder.storage.store import Store

_MOUNTS: Final = Path("/proc/self/mountinfo")
_NETWORK: Final = frozenset(
    {
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "smb3",
        "smbfs",
    }
)
# Most of these are remote (sshfs, s3fs, rclone); a disk's own file system in user space is fuseblk.
_USER_SPACE: Final = "fuse."
_SUPERUSER: Final = "SUPERUSER"
_POWERS: Final = {
    "pg_execute_server_program": "run programs on the database server",
    "pg_read_server_files": "read any file of the database server",
    "pg_write_server_files": "write any file of the database server",
}


def check_files(places: Iterable[Path]) -> list[Finding]:
    """Report files and folders of Wonder that other users of the machine may read or write."""
    return [
        Finding(
            "warning",
            "OPEN_TO_OTHERS",
            f"other users of this machine may use {place} (mode {mode:o}); run as its owner: chmod go= '{place}'",
        )
        for place in places
        if (mode := open_mode(place)) is not None
    ]


def check_file_system(database: Path, mounts: str | None = None) -> list[Finding]:
    """Report an SQLite database on a network file system; `mounts` is the text of mountinfo, by default this process's.

    Where the system has no such text (macOS), nothing is reported.
    """
    if mounts is None:
        mounts = _MOUNTS.read_text("utf-8", "surrogateescape") if _MOUNTS.exists() else ""
    kind, point = _mount_of(database.resolve(), mounts)
    if kind not in _NETWORK and not kind.startswith(_USER_SPACE):
        return []
    message = (
        f"the database {database} is on a network file system ({kind} at {point}), whose locks and shared memory "
        "SQLite can't rely on: two processes may damage it; move it to a local disk, or use PostgreSQL"
    )
    return [Finding("warning", "NETWORK_FILE_SYSTEM", message)]


async def check_role(store: Store) -> list[Finding]:
    """Report what the role of a PostgreSQL connection may do beyond its database."""
    if store.dialect != "postgresql":
        return []
    rows = await store.fetch("role_powers")
    role, powers = str(rows[0][0]) if rows else "", {str(power) for _, power in rows}
    advice = "use a role that only owns this database"
    if _SUPERUSER in powers:
        message = f"the PostgreSQL role {role!r} is a superuser, who may read and run anything on the server; {advice}"
        return [Finding("warning", "SUPERUSER", message)]
    return [
        Finding("warning", "ROLE_TOO_MIGHTY", f"the PostgreSQL role {role!r} has {power}, so it may {can}; {advice}")
        for power, can in _POWERS.items()
        if power in powers
    ]


def _mount_of(path: Path, mounts: str) -> tuple[str, str]:
    """Give the kind and the place of the file system that a path is on; the later of two at the same place counts."""
    found = ("", "")
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        point = _unescaped(fields[4])
        if path.is_relative_to(point) and len(point) >= len(found[1]):
            found = (after.split(" ")[0], point)
    return found


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
