"""A database that was found in the working directory is used only if this user created it or trusts it.

A repository or an archive could contain a `.wonder/wonder.db` that has commands approved and a shell allowed.
"""

import sys
import termios
import time
from pathlib import Path
from typing import Final

from wonder.app.own_databases import can_be_trusted, check_readable, file_of, is_own, trust_database
from wonder.cli.output import visible
from wonder.errors import WonderError

# A younger database may be one that another command is creating right now.
_YOUNG_SECONDS: Final = 10.0
_WAIT_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.1


class NotYourDatabase(WonderError):
    """The working directory contains a database that this user has not created."""

    code = "NOT_YOUR_DATABASE"

    def __init__(self, path: Path) -> None:
        shown = visible(str(path))
        super().__init__(
            f"{shown} was not created by you on this machine, so it is not used: its settings and approvals could let "
            "other people's programs run as you. If it is yours (made on another machine, as another user, or with an "
            f"older version of Wonder), run `wonder db trust` once, or use --db sqlite:///{shown}. If it came with a "
            "repository or an archive, remove it"
        )
        self.path = path


class LinkedDatabase(WonderError):
    """The database of the working directory is a link to one elsewhere, which nobody has named."""

    code = "NOT_YOUR_DATABASE"

    def __init__(self, link: Path) -> None:
        super().__init__(
            f"{link} is a symbolic link to {visible(str(link.resolve()))}, so it is not used: a link in a repository "
            "could lead to a database of yours that allows more than you would allow here. If you made the link, name "
            f"the database: --db sqlite:///{visible(str(_linked_file(link)))}, or WONDER_DATABASE_URL. If it came with "
            "a repository or an archive, remove it"
        )
        self.link = link


def _linked_file(link: Path) -> Path:
    found = link.resolve()
    return found / "wonder.db" if found.is_dir() else found


def check_not_linked(url: str) -> None:
    """Raise LinkedDatabase if the database of the working directory, or its folder, is a symbolic link."""
    path = file_of(url)
    for link in (path.parent, path) if path else ():
        if link.is_symlink():
            raise LinkedDatabase(link)


def check_own(url: str) -> None:
    """Raise NotYourDatabase unless this user created or trusts the database; on a terminal, ask once.

    Raises NotADatabase for a file that can't be read.
    """
    path = file_of(url)
    if path is None or not _has_content(path) or is_own(path):
        return
    until = time.monotonic() + _WAIT_SECONDS
    while _is_young(path) and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)
        if is_own(path):
            return
    # Whose it is can't be read from a damaged file: what is wrong with it is of more use than that it is not known.
    check_readable(path)
    if not can_be_trusted(path) or not _agrees(path):
        raise NotYourDatabase(path)
    trust_database(url)


def _agrees(path: Path) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    question = (
        f"{visible(str(path))} was not created by you on this machine.\n"
        "Its settings and approvals could let other people's programs run as you.\n"
        "Do you trust it? [y/N] "
    )
    # Input that was typed or pasted before the question does not answer it.
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def _is_young(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_ctime < _YOUNG_SECONDS
    except OSError:
        return False
