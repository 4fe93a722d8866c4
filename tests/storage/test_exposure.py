"""What `wonder doctor` reports of a database that others could get at."""

import json
import sys
from pathlib import Path

import pytest

from support.postgres import PostgresServer
from wonder.cli.main import main
from wonder.storage.exposure import check_file_system, check_files, check_role
from wonder.storage.opening import open_store

MOUNTS = r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:25 / /home rw - nfs4 server:/home rw,vers=4.2
31 22 0:26 / /home/ada/local rw shared:2 master:3 - xfs /dev/sdb1 rw
32 22 0:27 / /mnt/with\040space rw - fuse.sshfs ada@host: rw
33 22 0:28 / /mnt/disk rw - fuseblk /dev/sdc1 rw
34 22 0:29 / /host rw - 9p hostshare rw
35 22 0:30 / /twice rw - cifs //server/share rw
36 22 0:31 / /twice rw - ext4 /dev/sdd1 rw
a line that is none
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/wonder.db", None),
        ("/home/ada/wonder.db", "nfs4 at /home"),
        ("/home/ada/local/wonder.db", None),
        ("/homes/wonder.db", None),
        ("/mnt/with space/wonder.db", "fuse.sshfs at /mnt/with space"),
        ("/mnt/disk/wonder.db", None),
        ("/host/wonder.db", "9p at /host"),
        ("/twice/wonder.db", None),
    ],
)
def test_a_database_on_a_network_file_system_is_reported(path: str, kind: str | None) -> None:
    found = check_file_system(Path(path), MOUNTS)
    assert [one.code for one in found] == (["NETWORK_FILE_SYSTEM"] if kind else [])
    if kind:
        assert f"({kind})" in found[0].message


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's list of mounts")
def test_the_list_of_mounts_of_this_process_can_be_read(tmp_path: Path) -> None:
    assert check_file_system(tmp_path / "wonder.db") in ([], check_file_system(tmp_path / "wonder.db"))
    assert check_file_system(tmp_path, "") == []


def test_files_that_others_may_use_are_reported_with_what_to_do(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name, mode in (("key", 0o640), ("wonder.db", 0o600)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    (found,) = check_files([tmp_path / "key", tmp_path / "wonder.db", tmp_path / "absent"])
    assert found.code == "OPEN_TO_OTHERS"
    assert f"{tmp_path}/key (mode 640)" in found.message
    assert f"chmod go= '{tmp_path}/key'" in found.message


async def test_a_role_that_may_do_more_than_it_needs_is_reported(
    postgres_server: PostgresServer, fresh_postgres_url: str
) -> None:
    """A superuser, and what lets a role run programs or use files on the server."""
    store = await open_store(fresh_postgres_url)
    try:
        (found,) = await check_role(store)
    finally:
        await store.close()
    assert (found.severity, found.code) == ("warning", "SUPERUSER")
    role = "plain_of_test"
    postgres_server.run(f"CREATE ROLE {role} LOGIN")
    try:
        for grant, codes in (("", []), ("pg_execute_server_program", ["pg_execute_server_program"])):
            if grant:
                postgres_server.run(f"GRANT {grant} TO {role}")
            store = await open_store(fresh_postgres_url.replace("wonder@", f"{role}@"), migrations="leave")
            try:
                found_now = await check_role(store)
            finally:
                await store.close()
            assert [one.code for one in found_now] == ["ROLE_TOO_MIGHTY" for _ in codes]
            assert all(code in one.message for one, code in zip(found_now, codes, strict=True))
    finally:
        postgres_server.run(f"DROP ROLE {role}")


def test_doctor_shows_what_is_exposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fresh_postgres_url: str
) -> None:
    """As warnings, which are no failure."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WONDER_DATABASE_URL", raising=False)
    assert main(["db", "migrate"]) == 0
    (tmp_path / ".wonder" / "objects").mkdir()
    assert main(["doctor"]) == 0
    assert "OPEN_TO_OTHERS" not in capsys.readouterr().out  # behind .wonder, which is for its user alone
    tmp_path.chmod(0o755)
    (tmp_path / "shown").mkdir(0o755)
    assert main(["doctor", "--objects", f"file://{tmp_path}/shown", "--json"]) == 0
    assert [one["type"] for one in json.loads(capsys.readouterr().out)["exposure"]] == ["OPEN_TO_OTHERS"]
    assert main(["db", "migrate", "--db", fresh_postgres_url]) == 0
    assert main(["doctor", "--db", fresh_postgres_url]) == 0
    assert "SUPERUSER: the PostgreSQL role 'wonder' is a superuser" in capsys.readouterr().out
