"""Instances: one task many times side by side (12 to 15, 26, 27, 34 to 36)."""

from simulation.plays.play import Play
from wonder.language.values import JsonValue


async def wcp_12(play: Play) -> None:
    """Instances without synchronization hold nobody up."""
    await play.start()
    await play.until_ran("close")
    await play.asked("Ada", "Grace", "Edsger")
    for driver in ("Grace", "Ada", "Edsger"):
        await play.answer(driver, True)
    assert await play.output() == {"register": "closed"}
    assert await play.counts() == {"list": 1, "fine": 3, "close": 1}


async def wcp_13(play: Play) -> None:
    """Instances known at design time are all waited for."""
    await play.start()
    assert await play.output() == {"signatures": [0, 1, 2, 3, 4, 5]}
    assert await play.ran() == ["print", *["sign"] * 6, "file"]


async def wcp_14(play: Play) -> None:
    """Instances known at run time are all waited for."""
    for number in (0, 1, 4):
        engines: list[JsonValue] = [f"engine {place}" for place in range(number)]
        await play.start(engines=engines)
        assert await play.output() == {"checked": engines}
        assert await play.ran() == ["land", *["check"] * number, "release"]


async def wcp_15(play: Play) -> None:
    """Instances are added while others run and all are waited for."""
    await play.start()
    await play.send("witness", "Ada")
    await play.asked("Ada")
    await play.send("witness", "Grace")
    await play.asked("Ada", "Grace")
    await play.answer("Grace", "a cat")
    await play.send("witness", "Edsger")
    await play.asked("Ada", "Edsger")
    await play.send("witness", None)
    await play.answer("Edsger", "a dog")
    await play.status("waiting")
    assert "close" not in await play.counts()
    await play.answer("Ada", "a bird")
    assert await play.output() == {"reports": "a bird, a cat, a dog"}
    assert (await play.counts())["interview"] == 3
    assert (await play.ran()).count("close") == 1


async def wcp_26(play: Play) -> None:
    """Cancel multiple instances takes back those that have not completed."""
    await play.start()
    await play.asked("north", "east", "south")
    await play.answer("east", "gold")
    await play.asked("north", "south")
    await play.send("stop-digging")
    assert await play.output() == {"outcome": "stopped"}
    assert (await play.ran()).count("dig") == 1
    assert "dug" not in await play.counts()
    assert await play.questions() == []


async def wcp_27(play: Play) -> None:
    """Complete multiple instances goes on with those that have completed."""
    await play.start()
    await play.asked(*["like"] * 5)
    for number, likes in enumerate((True, False), 1):
        await play.answer("like", likes)
        await play.until_ran("count", number)
    await play.send("enough")
    assert await play.output() == {"answers": 2, "likes": 1, "share": 50}
    assert (await play.ran()).count("question") == 2
    assert await play.questions() == []


async def wcp_34(play: Play) -> None:
    """Static partial join for instances heeds no later one."""
    await play.start()
    await play.answer("Edsger", "no")
    await play.asked("Ada", "Grace")
    assert "decide" not in await play.counts()
    await play.answer("Ada", "yes")
    await play.until_ran("decide")
    await play.answer("Grace", "late")
    assert await play.output() == {"reviews": ["yes", "no"]}
    assert (await play.counts())["decide"] == 1
    assert await play.ends("review") == ["completed"] * 3


async def wcp_35(play: Play) -> None:
    """Cancelling partial join for instances cancels the others."""
    await play.start()
    await play.answer("Edsger", "E")
    await play.asked("Ada", "Grace")
    await play.answer("Ada", "A")
    assert await play.output() == {"coming": ["A", "E"]}
    assert await play.ends("driver") == ["completed", "cancelled", "completed"]


async def wcp_36(play: Play) -> None:
    """Dynamic partial join adds instances until a condition holds."""
    await play.start(needed=100)
    await play.send("supplier", "north")
    await play.send("supplier", "east")
    await play.asked("north", "east")
    await play.answer("north", 60)
    await play.until_ran("not-yet")
    await play.send("supplier", "south")
    await play.send("supplier", "west")
    await play.asked("east", "south", "west")
    await play.answer("south", 50)
    assert await play.output() == {"bags": 110, "enough": True}
    assert await play.ends("request") == ["completed", "cancelled", "completed", "cancelled"]
    assert (await play.ran()).count("close") == 1
    assert await play.questions() == []
