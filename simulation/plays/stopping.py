"""Stopping and starting: what is cancelled, ended, or set off from outside (19, 20, 23 to 25, 43)."""

from simulation.plays.play import Play


async def wcp_19(play: Play) -> None:
    """Cancel task aborts a running action."""
    await play.start()
    await play.send("withdrawn")
    assert await play.output() == {"claim": "withdrawn"}
    assert await play.ends("assess") == ["cancelled"]


async def wcp_20(play: Play) -> None:
    """Cancel case ends all of it."""
    await play.start()
    await play.asked("earn", "worth")
    questions = await play.questions()
    await play.cancel()
    assert (await play.end()).status == "cancelled"
    (child,) = await play.children(1)
    assert (await play.end(child.id)).status == "cancelled"
    assert await play.ends("survey", "income") == ["cancelled", "cancelled"]
    assert "grant" not in await play.counts()
    for question in questions:
        assert await play.status_of_item(question) == "withdrawn"


async def wcp_23(play: Play) -> None:
    """Transient trigger is lost when nobody waits for it."""
    await play.start()
    await play.asked("Arm")
    await play.send("movement", {"room": "hall"}, ttl_seconds=0)
    await play.answer("Arm", True)
    await play.until_ran("arm")
    await play.status("waiting")
    await play.send("movement", {"room": "cellar"}, ttl_seconds=0)
    assert await play.output() == {"room": "cellar"}


async def wcp_24(play: Play) -> None:
    """Persistent trigger is kept until somebody waits for it."""
    await play.start()
    await play.asked("unpacked")
    await play.send("paid", {"cents": 4_200})
    assert await play.ran() == []
    await play.answer("unpacked", True)
    assert await play.output() == {"cents": 4_200}


async def wcp_25(play: Play) -> None:
    """Cancel region takes back all of it and nothing else."""
    await play.start()
    await play.answer("lights", True)
    await play.asked("tent", "caterer")
    await play.send("rain")
    await play.asked("caterer")
    assert await play.ends("tent", "lights") == ["cancelled", "cancelled"]
    await play.answer("caterer", True)
    assert await play.output() == {"rain": True, "indoors": True, "party": True}
    assert await play.ends("caterer") == ["completed"]


async def wcp_43(play: Play) -> None:
    """Explicit termination ends all that is under way."""
    for where in ("house", "lake"):
        await play.start()
        await play.asked("house", "lake", "hill")
        await play.answer(where, "it")
        assert await play.output() == {"found": "it"}
        assert sorted(await play.ends("house", "lake", "hill")) == ["cancelled", "cancelled", "completed"]
        assert (await play.ran()).count("end") == 1
        assert await play.questions() == []
