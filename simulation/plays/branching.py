"""Branching: paths are taken, left out and merged (patterns 1 to 8, 41, 42)."""

from simulation.plays.play import Play


async def wcp_1(play: Play) -> None:
    """Sequence."""
    await play.start()
    assert await play.output() == {"weigh": "weighed", "stamp": "stamped", "send": "sent"}
    assert await play.ran() == ["weigh", "stamp", "send"]


async def wcp_2(play: Play) -> None:
    """Parallel split."""
    await play.start()
    assert await play.output() == {"order": "ordered", "pack": "packed", "invoice": "invoiced"}
    assert await play.counts() == {"order": 1, "pack": 1, "invoice": 1}
    assert await play.parents("pack", "invoice") == {"order"}


async def wcp_3(play: Play) -> None:
    """Synchronization waits for the last path."""
    await play.start()
    await play.until_ran("flight")
    await play.status("waiting")
    assert "confirm" not in await play.counts()
    await play.answer("hotel", "Ritz")
    assert await play.output() == {"confirmed": ["flight", "Ritz"]}
    assert (await play.counts())["confirm"] == 1


async def wcp_4(play: Play) -> None:
    """Exclusive choice takes one path."""
    for cents, who in ((100, "clerk"), (100_001, "manager"), (1_000_001, "board")):
        await play.start(cents=cents)
        assert await play.output() == {"approved_by": who}
        assert await play.counts() == {"receive": 1, who: 1}


async def wcp_5(play: Play) -> None:
    """Simple merge goes on without the path not taken."""
    for card, paid_by, way in ((True, "card", "charge-card"), (False, "invoice", "send-invoice")):
        await play.start(card=card)
        assert await play.output() == {"paid_by": paid_by, "ship": "shipped"}
        assert await play.ran() == ["choose", way, "ship"]


CALLS: dict[str, list[str]] = {
    "cat in a tree": [],
    "thief": ["police"],
    "fire, injured": ["brigade", "ambulance"],
    "thief set fire, injured": ["brigade", "police", "ambulance"],
}


async def wcp_6(play: Play) -> None:
    """Multi choice takes every path that matches."""
    for call, sent in CALLS.items():
        await play.start(call=call)
        output = await play.output()
        assert isinstance(output, dict)
        assert set(output) == set(sent or ["note"])
        assert await play.counts() == {"answer": 1, **dict.fromkeys(sent or ["note"], 1)}


async def wcp_7(play: Play) -> None:
    """Structured synchronizing merge waits for the paths taken."""
    for call, sent in CALLS.items():
        await play.start(call=call)
        assert await play.output() == {"sent": sent or None}
        assert await play.counts() == {"answer": 1, **dict.fromkeys(sent, 1), "report": 1}
        assert (await play.ran())[-1] == "report"


async def wcp_8(play: Play) -> None:
    """Multi merge goes on once for each path."""
    await play.start()
    assert await play.output() == {"paid": 2}
    assert await play.counts() == {"dig": 1, "walls": 1, "pipes": 1, "inspect": 2, "pay": 2}


async def wcp_41(play: Play) -> None:
    """Thread merge makes one of so many."""
    await play.start()
    assert await play.output() == {"booked": 1}
    assert await play.ran() == ["collect", *["register"] * 4, "book"]


async def wcp_42(play: Play) -> None:
    """Thread split makes so many of one."""
    await play.start()
    assert await play.output() == {"posted": 3}
    assert await play.counts() == {"confirm": 1, "print": 3, "post": 3}
    assert await play.parents("print") == {"confirm"}
