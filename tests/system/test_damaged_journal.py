"""A damaged journal as an operator meets it: the engine does not begin, says why, and begins when that is accepted."""

import asyncio
import json
import shutil
from pathlib import Path
from random import Random

import pytest

from support.journals import copied, entries_in, file_of
from support.lines import NODES, work_in_line
from support.systems import assert_sound
from wonder.app.opening import open_wonder
from wonder.cli.main import main
from wonder.storage import run_writer
from wonder.storage.errors import JournalDamaged
from wonder.storage.sqlite import commits as sqlite_commits
from wonder.storage.sqlite.entries import SLOT_BYTES

HELD = "node-8"


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give what a process leaves that is killed at the ninth step of a run; the results before it are logged."""
    monkeypatch.setattr(sqlite_commits, "FAST_SECONDS", 60.0)
    monkeypatch.setattr(sqlite_commits, "QUICK_SECONDS", 60.0)
    monkeypatch.setattr(run_writer, "UNSETTLED_MS", 60_000)
    folder = tmp_path / "left"
    folder.mkdir()

    async def leave() -> None:
        reached = asyncio.Event()

        async def work(name: str) -> dict[str, str]:
            if name == HELD and not reached.is_set():
                copied(tmp_path / "wonder.db", folder / "wonder.db")
                reached.set()
            return {"name": name}

        async with open_wonder(f"sqlite:///{tmp_path}/wonder.db", functions={"tests:work": work}) as wonder:
            run = await wonder.start(await wonder.deploy(work_in_line()))
            assert (await run.wait()).status == "completed"

    asyncio.run(leave())
    assert len(entries_in(file_of(folder / "wonder.db"))) >= 5
    return folder / "wonder.db"


def finish(database: Path) -> list[str]:
    """Open the engine, let all runs end, and give which steps were executed."""
    executed: list[str] = []

    async def work(name: str) -> dict[str, str]:
        executed.append(name)
        return {"name": name}

    async def go_on() -> None:
        async with open_wonder(f"sqlite:///{database}", functions={"tests:work": work}) as wonder:
            ((run_id,),) = await wonder.store.query("SELECT id FROM runs")
            assert (await wonder.wait(str(run_id))).status == "completed"
        await assert_sound(f"sqlite:///{database}")

    asyncio.run(go_on())
    return executed


def test_an_undamaged_journal_is_gone_on_with(left: Path) -> None:
    assert finish(left) == NODES[8:]


def test_inv_2_the_engine_does_not_begin_until_the_loss_is_accepted(
    left: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What only reads works meanwhile, and all that looks for damage tells of it."""
    second = sorted(entries_in(file_of(left)).items())[1][0]
    content = bytearray(file_of(left).read_bytes())
    content[second + 40] ^= 1
    file_of(left).write_bytes(content)
    with pytest.raises(JournalDamaged, match="entries 1 are missing or damaged"):
        finish(left)
    options = ["--db", f"sqlite:///{left}"]
    assert main(["runs", "list", *options]) == 0
    for command in (["db", "check"], ["doctor"], ["db", "repair"]):
        capsys.readouterr()
        assert main([*command, *options]) == 1, command
        assert "missing or damaged" in capsys.readouterr().out
    assert main(["db", "repair", "--json", *options]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert (shown["accepted"], shown["loss"]["missing"], len(shown["loss"]["live"])) == (False, 1, 1)
    assert main(["db", "repair", "--accept-loss", *options]) == 0
    assert "the next engine starts without the lost results" in capsys.readouterr().out
    assert main(["db", "check", *options]) == 0
    # One step is executed again whose result is lost; what came after it followed from that.
    executed = finish(left)
    assert executed == sorted(executed, key=NODES.index)
    assert executed[-1] == NODES[-1]
    assert main(["db", "repair", *options]) == 0
    assert "nothing is missing" in capsys.readouterr().out


def test_inv_2_no_changed_byte_has_an_acknowledged_step_executed_again_silently(left: Path, tmp_path: Path) -> None:
    """All but the last entry: its damage can't be told from a write that the crash has torn."""
    random, noticed = Random(161), 0
    places = sorted(entries_in(file_of(left)))
    for number in range(8):
        folder = tmp_path / str(number)
        shutil.copytree(left.parent, folder)
        file = file_of(folder / "wonder.db")
        at = random.choice(places) + random.randrange(SLOT_BYTES // 16)
        content = bytearray(file.read_bytes())
        content[at] ^= 1 << random.randrange(8)
        file.write_bytes(content)
        try:
            executed = finish(folder / "wonder.db")
        except JournalDamaged:
            noticed += 1
        else:
            assert executed == NODES[8:] or (executed == NODES[7:] and at >= places[-1])
    assert noticed


def test_inv_2_a_database_that_was_copied_alone_is_noticed(left: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(left, copy)
    with pytest.raises(JournalDamaged, match=r"is missing, which had entries|copied without its companions"):
        finish(copy)
