"""States: what may happen depends on what has happened, or on who comes first (10, 11, 16 to 18, 21, 22, 39, 40)."""

from simulation.plays.play import Play
from wonder.language.values import JsonValue


async def wcp_10(play: Play) -> None:
    """Arbitrary cycles have two ways in and two out."""
    await play.start(has_draft=True, versions=1)
    assert await play.output() == {"published": 1}
    assert await play.ran() == ["begin", "review", "write", "review", "publish"]
    await play.start(has_draft=False, versions=2)
    assert await play.output() == {"published": 2}
    assert await play.ran() == ["begin", "write", "review", "write", "review", "publish"]
    await play.start(has_draft=True, patience=0)
    assert await play.output() == {"given_up": 1}
    assert await play.ran() == ["begin", "review", "write", "give-up"]


async def wcp_11(play: Play) -> None:
    """Implicit termination is when nothing is left to do."""
    await play.start()
    await play.until_ran("desk")
    await play.status("waiting")
    await play.answer("laptop", "small")
    assert await play.output() == {"desk": "ready", "laptop": "small"}


async def wcp_16(play: Play) -> None:
    """Deferred choice is made by what happens first."""
    await play.start()
    await play.answer("keep", True)
    assert await play.output() == {"booking": "confirmed"}
    assert await play.ends("reply", "sold-out") == ["completed", "cancelled"]
    await play.start()
    await play.asked("keep")
    (question,) = await play.questions()
    await play.send("sold-out")
    assert await play.output() == {"booking": "refunded"}
    assert await play.ends("reply", "sold-out") == ["cancelled", "completed"]
    await play.refused(question, True)


async def wcp_17(play: Play) -> None:
    """Interleaved parallel routing keeps to the order that there is."""
    for order in (["take", "analyse", "x-ray"], ["take", "x-ray", "analyse"], ["x-ray", "take", "analyse"]):
        await play.start()
        await play.answer("next", "analyse")  # not before the blood is taken
        for what in order:
            await play.answer("next", what)
            if what != order[-1]:
                await play.until_ran(what)
                await play.answer("next", what)  # not twice
        assert await play.output() == {"done": ", ".join(order)}  # the machine refuses two at once
        assert [ref for ref in await play.ran() if ref in order] == order


async def wcp_18(play: Play) -> None:
    """Milestone lets a task happen only until it is passed."""
    await play.start()
    await play.answer("route", "by sea")
    await play.until_ran("rebook")
    await play.answer("paid", True)
    await play.until_ran("issue")
    await play.answer("route", "by air")
    assert await play.output() == {"issued": True, "changes": 1, "refused": 1}
    assert (await play.ran())[-1] == "refuse"


async def wcp_21(play: Play) -> None:
    """Structured loop tests before or behind."""
    for letters, rings, dialled in ((0, 0, 1), (1, 1, 1), (3, 2, 2)):
        await play.start(letters=letters, rings=rings)
        assert await play.output() == {"read": letters, "dialled": dialled}
        assert await play.ran() == ["look", *["read", "look"] * letters, *["dial"] * dialled, "talk"]


async def wcp_22(play: Play) -> None:
    """Recursion."""
    await play.start(disks=4)
    assert await play.output() == {"moves": 15}
    assert await play.depths() == [0, 1, 2, 3, 4]


async def wcp_39(play: Play) -> None:
    """Critical section is under way once at a time."""
    await play.start()
    assert await play.output() == {"track": None, "trains": 2}  # the machine refuses two at once
    sections = [ref for ref in await play.ran() if ref in ("load", "depart", "shunt", "leave")]
    assert sections in (
        ["load", "depart", "leave", "shunt", "leave"],
        ["shunt", "leave", "load", "depart", "leave"],
    )


async def wcp_40(play: Play) -> None:
    """Interleaved routing does each once and one at a time."""
    orders: list[list[JsonValue]] = [["x-ray", "blood", "heart"], ["heart", "blood", "x-ray"]]
    for tests in orders:
        await play.start(tests=tests)
        assert await play.output() == {"results": tests}  # the machine refuses two at once
        assert [ref for ref in await play.ran() if ref in tests] == tests
