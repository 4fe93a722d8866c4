"""Joining: a join goes on with some branches, and heeds, cancels or holds back the rest (9, 28 to 33, 37, 38)."""

from simulation.plays.play import Play
from wonder.language.values import JsonValue


async def wcp_9(play: Play) -> None:
    """Structured discriminator goes on with the first and heeds no other."""
    await play.start()
    await play.answer("physician", "rest")
    await play.until_ran("treat")
    await play.asked("surgeon")
    await play.answer("surgeon", "operation")
    assert await play.output() == {"treatment": "rest"}
    assert await play.counts() == {"admit": 1, "surgeon": 1, "physician": 1, "treat": 1}
    assert await play.ends("surgeon", "physician") == ["completed", "completed"]


async def wcp_28(play: Play) -> None:
    """Blocking discriminator holds the next round back."""
    await play.start()
    for number, patient in enumerate(("Ada", "Grace"), 1):
        await play.asked(f"surgeon, what do you advise for {patient}", f"physician, what do you advise for {patient}")
        await play.answer("physician", "rest")
        child = (await play.children(number))[-1]
        await play.until_ran("treat", run_id=child.id)
        await play.asked(f"surgeon, what do you advise for {patient}")
        assert len(await play.children(number)) == number
        await play.answer("surgeon", "operation")
        assert (await play.end(child.id)).output == {"treatment": "rest"}
        assert (await play.ran(child.id)).count("treat") == 1
    assert await play.output() == {"done": True}


async def wcp_29(play: Play) -> None:
    """Cancelling discriminator cancels the others."""
    await play.start()
    await play.asked("north", "south")
    (slow,) = [item for item in await play.questions() if "north" in item.prompt]
    await play.answer("south", 7)
    assert await play.output() == {"price": 7}
    assert await play.ends("north", "south") == ["cancelled", "completed"]
    await play.refused(slow, 5)


async def wcp_30(play: Play) -> None:
    """Structured partial join goes on with two of three and heeds no other."""
    await play.start()
    await play.answer("sales", "aye")
    await play.asked("finance", "legal")
    assert "decide" not in await play.counts()
    await play.answer("finance", "yes")
    await play.until_ran("decide")
    await play.answer("legal", "late")
    assert await play.output() == {"approvals": ["yes", "aye"]}
    assert (await play.counts())["decide"] == 1
    assert await play.ends("finance", "legal", "sales") == ["completed"] * 3


async def wcp_31(play: Play) -> None:
    """Blocking partial join holds the next round back."""
    await play.start()
    for number, motion in enumerate(("budget", "hiring"), 1):
        await play.asked(*[motion] * 3)
        child = (await play.children(number))[-1]
        await play.answer(motion, True)
        await play.asked(*[motion] * 2)
        assert "announce" not in await play.ran(child.id)
        await play.answer(motion, True)
        await play.until_ran("announce", run_id=child.id)
        await play.asked(motion)
        assert len(await play.children(number)) == number
        await play.answer(motion, False)
        await play.end(child.id)
        assert (await play.ran(child.id)).count("announce") == 1
    assert await play.output() == {"closed": True}


async def wcp_32(play: Play) -> None:
    """Cancelling partial join cancels the others."""
    await play.start()
    await play.answer("air", "1A")
    await play.asked("rail", "bus")
    await play.answer("rail", "61")
    assert await play.output() == {"seats": ["61", "1A"]}
    assert await play.ends("rail", "bus", "air") == ["completed", "cancelled", "completed"]


async def wcp_33(play: Play) -> None:
    """Generalized and join keeps what comes too early."""
    await play.start(bicycles=3)
    for part in ("f1", "f2", "f3"):
        await play.send("frame", part)
    await play.send("wheels", "w1")
    await play.until_ran("assemble", 1)
    await play.until_ran("frame", 2)
    await play.status("waiting")
    assert (await play.ran()).count("assemble") == 1
    await play.send("wheels", "w2")
    await play.send("wheels", "w3")
    assert await play.output() == {"built": [["f1", "w1"], ["f2", "w2"], ["f3", "w3"]]}


async def wcp_37(play: Play) -> None:
    """Local synchronizing merge does not wait for a path that left."""
    cases: list[tuple[dict[str, JsonValue], list[JsonValue]]] = [
        ({"guilty": True}, ["doctor", "garage"]),
        ({"guilty": False}, ["doctor", "police", "garage"]),
        ({"guilty": True, "injured": False}, ["garage"]),
        ({"guilty": False, "injured": False, "damaged": False}, ["police"]),
    ]
    for given, files in cases:
        await play.start(**given)
        assert await play.output() == {"files": files, **({"court": "in court"} if given["guilty"] else {})}
        assert (await play.counts())["settle"] == 1


async def wcp_38(play: Play) -> None:
    """General synchronizing merge waits as long as a path may come."""
    outputs: dict[str, JsonValue] = {
        "ready": {"papers": ["keynote", "ready"]},
        "withdrawn": {"papers": ["keynote"], "withdrawn": "withdrawn"},
    }
    for last, output in outputs.items():
        await play.start()
        await play.until_ran("keynote")
        for rounds in (1, 2):
            await play.answer("ready?", "later")
            await play.until_ran("author", rounds)
            await play.asked("ready?")
            assert "print" not in await play.ran()
        await play.answer("ready?", last)
        assert await play.output() == output
        assert (await play.ran()).count("print") == 1
