"""What files_root may be, so that nothing that an action writes becomes code or settings (RES-6)."""

import os
import stat
import sys
import sysconfig
from pathlib import Path
from uuid import uuid4

import pytest

from support.systems import bundle
from wonder.actions.files.files_root import refusal_of
from wonder.actions.files.private_places import kept_private
from wonder.actions.files.project_files import write_bytes
from wonder.actions.functions.functions import FunctionRegistry
from wonder.actions.protocol import ActionFailed
from wonder.app.opening import open_wonder
from wonder.cli.main import main
from wonder.storage.tenancy import change_project_settings

ATTACK = "raise SystemExit('written code ran')\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a project, with code, a database and a package, and the working directory beside it."""
    folder = tmp_path / "project"
    for name in ("src/shop/data", "data/.wonder/objects", "work", "elsewhere"):
        (folder / name).mkdir(parents=True)
    (folder / "src/shop/__init__.py").touch()
    (folder / "elsewhere/link").symlink_to(folder / "src", target_is_directory=True)
    (folder / "elsewhere/out").symlink_to(folder / "work", target_is_directory=True)
    (tmp_path / "cwd/inside").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "cwd")
    return folder


@pytest.mark.parametrize(
    ("root", "reason"),
    [
        ("src", "from which Python modules are imported"),
        ("", "from which Python modules are imported"),
        ("/", "from which Python modules are imported"),
        ("elsewhere/link", "from which Python modules are imported"),
        ("src/../src", "from which Python modules are imported"),
        ("src/shop", "is a Python package"),
        ("src/shop/data", "is a Python package"),
        ("src/shop/new", "is a Python package"),
        ("data", "overlaps"),
        ("data/.wonder", "overlaps"),
        ("data/.wonder/objects/new", "overlaps"),
        ("../cwd", "from which Python modules are imported"),
        (sysconfig.get_path("stdlib") + "/new", "Python's own modules"),
        (sysconfig.get_path("purelib") + "/new", "Python's own modules"),
    ],
)
def test_res_6_a_files_root_that_overlaps_code_or_the_engines_own_is_refused(
    project: Path, root: str, reason: str
) -> None:
    home = project / "data" / ".wonder"
    with kept_private([home / "key", home / "wonder.db", home, home / "objects"], [project / "src"]):
        assert reason in str(refusal_of(str(project / root)))
        with pytest.raises(ActionFailed, match="wonder project set files_root") as caught:
            write_bytes(str(project / root), "x.txt", b"x", "mark")
        assert caught.value.code == "FILES_ROOT_REFUSED"
        for allowed in ("work", "data/work", "src/data", "elsewhere/out", "../cwd/inside"):
            assert refusal_of(str(project / allowed)) is None


def test_res_6_a_files_root_with_the_file_of_a_loaded_module_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However Python has found it."""
    module = type(sys)("loaded")
    module.__file__ = str(project / "work" / "loaded.py")
    monkeypatch.setitem(sys.modules, "loaded", module)
    assert "a module that this process has imported" in str(refusal_of(str(project / "work")))


@pytest.mark.parametrize("name", ["work.x:f", "shop_of_test.work.x:f", "link_of_test:f"])
def test_nothing_is_imported_from_files_root(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder below one that modules are imported from is a package without doing anything."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    files = tmp_path / ("shop_of_test/work" if name.startswith("shop") else "work")
    files.mkdir(parents=True)
    (tmp_path / "link_of_test.py").symlink_to(files / "x.py")
    write_bytes(str(files), "x.py", ATTACK.encode(), "mark")
    with pytest.raises(ActionFailed, match="would make files_root a Python package"):
        write_bytes(str(files), "./__init__.py", ATTACK.encode(), "mark")
    (files / "__init__.py").write_text(ATTACK)  # as another program might
    for registry in (
        FunctionRegistry(import_roots=[tmp_path]),
        FunctionRegistry([name.partition(":")[0]], module_folders=[tmp_path]),
    ):
        with pytest.raises(ActionFailed, match="where actions write, so it is never imported"):
            registry.find(name, str(files))


async def test_a_run_never_calls_what_a_run_has_written(store_url: str, tmp_path: Path) -> None:
    """In a local run too, whose file's folder may hold files_root."""
    folder = f"work_{uuid4().hex}"
    (tmp_path / folder).mkdir()
    write = {"kind": "write_file", "implementation": {"path": "x.py", "content": ATTACK}}
    call = {"kind": "python", "implementation": {"function": f"{folder}.x:f"}}
    attack = bundle("attack", {"write": {"action": write}, "call": {"action": call}}, [{"from": "write", "to": "call"}])
    async with open_wonder(store_url, import_roots=[tmp_path], runs="own") as wonder:

        async def with_root(root: Path) -> str:
            await change_project_settings(
                wonder.store,
                wonder.home.project_id,
                lambda settings: settings.model_copy(update={"files_root": str(root)}),
                clock=wonder.clock,
            )
            assert wonder.engine
            wonder.engine.resources._tenancies.clear()
            ended = await (await wonder.start(await wonder.deploy(attack))).wait()
            assert ended.error
            return str(ended.error["message"])

        assert "so it is never imported" in await with_root(tmp_path / folder)
        assert "from which Python modules are imported" in await with_root(tmp_path)
    assert not (tmp_path / "x.py").exists()


def test_res_6_the_command_refuses_it_too(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WONDER_DATABASE_URL", f"sqlite:///{project}/data/orders.db")
    for root, status in ((".", 2), ("..", 2), (f"{project}/data", 2), (f"{project}/work", 0), ("inside", 0)):
        assert main(["project", "set", "files_root", root]) == status
    assert "which Wonder keeps for itself" in capsys.readouterr().err


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_files_are_written_for_their_owner_alone_and_are_never_programs(tmp_path: Path, umask: int) -> None:
    """Nor is a program that was there one afterwards; other rights that somebody gave it stay."""
    (tmp_path / "program").touch()
    (tmp_path / "program").chmod(0o4755)
    before = os.umask(umask)
    try:
        for path in ("new", "folder/inner/new", "program"):
            write_bytes(str(tmp_path), path, b"#!/bin/sh\n", "mark")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"new": 0o600, "program": 0o644, "folder": 0o700, "inner": 0o700}
