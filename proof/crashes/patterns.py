"""What clients do in each pattern sample, by its number; those that only run are started and waited for."""

from collections.abc import Awaitable, Callable

from proof.crashes.clients import Clients

Script = Callable[[Clients], Awaitable[None]]


def only_runs(workflow: str) -> Script:
    """Make a script for a workflow that needs nobody."""

    async def script(clients: Clients) -> None:
        await clients.ended(await clients.start(workflow))

    return script


async def synchronization(clients: Clients) -> None:
    """Answer the last path."""
    run = await clients.start("synchronization")
    await clients.answer("hotel", "Ritz")
    await clients.ended(run)


async def structured_discriminator(clients: Clients) -> None:
    """Answer the first, and then the one that was abandoned."""
    run = await clients.start("structured-discriminator")
    await clients.answer("physician", "rest")
    await clients.ran(run, "treat")
    await clients.answer("surgeon", "operation")
    await clients.ended(run)


async def without_synchronization(clients: Clients) -> None:
    """Answer all, in another order."""
    run = await clients.start("multiple-instances-without-synchronization")
    for driver in ("Grace", "Ada", "Edsger"):
        await clients.answer(driver, True)
    await clients.ended(run)


async def instances_not_known(clients: Clients) -> None:
    """Add instances by events, and answer in between."""
    run = await clients.start("multiple-instances-not-known")
    await clients.send("witness", "Ada")
    await clients.asked("Ada")
    await clients.send("witness", "Grace")
    await clients.answer("Grace", "a cat")
    await clients.send("witness", None)
    await clients.answer("Ada", "a bird")
    await clients.ended(run)


async def deferred_choice(clients: Clients) -> None:
    """Let a person win, and then an event."""
    run = await clients.start("deferred-choice")
    await clients.answer("keep", True)
    await clients.ended(run)
    run = await clients.start("deferred-choice", key="two")
    await clients.asked("keep", "keep")
    await clients.send("sold-out")
    await clients.ended(run)


async def milestone(clients: Clients) -> None:
    """Change while it is allowed, and once more."""
    run = await clients.start("milestone")
    await clients.answer("route", "by sea")
    await clients.ran(run, "rebook")
    await clients.answer("paid", True)
    await clients.ran(run, "issue")
    await clients.answer("route", "by air")
    await clients.ended(run)


async def cancel_task(clients: Clients) -> None:
    """Take a running action back."""
    run = await clients.start("cancel-task")
    await clients.status(run, "running", "waiting")
    await clients.send("withdrawn")
    await clients.ended(run)


async def cancel_case(clients: Clients) -> None:
    """Cancel a run with its sub-workflow."""
    run = await clients.start("cancel-case")
    await clients.asked("earn", "worth")
    await clients.cancel(run)
    await clients.ended(run)


async def transient_trigger(clients: Clients) -> None:
    """Send an event too early, and once more."""
    run = await clients.start("transient-trigger")
    await clients.asked("Arm")
    await clients.send("movement", {"room": "hall"}, ttl_seconds=0)
    await clients.answer("Arm", True)
    await clients.ran(run, "arm")
    await clients.status(run, "waiting")
    await clients.send("movement", {"room": "cellar"}, ttl_seconds=0)
    await clients.ended(run)


async def persistent_trigger(clients: Clients) -> None:
    """Send an event before it is waited for."""
    run = await clients.start("persistent-trigger")
    await clients.asked("unpacked")
    await clients.send("paid", {"cents": 4_200})
    await clients.answer("unpacked", True)
    await clients.ended(run)


async def cancel_region(clients: Clients) -> None:
    """Take back one branch with all that is nested in it."""
    run = await clients.start("cancel-region")
    await clients.answer("lights", True)
    await clients.asked("tent", "caterer")
    await clients.ran(run, "lights")
    await clients.send("rain")
    await clients.ran(run, "rain")
    await clients.answer("caterer", True)
    await clients.ended(run)


async def cancel_instances(clients: Clients) -> None:
    """Let one instance complete, and take back the others."""
    run = await clients.start("cancel-multiple-instances")
    await clients.asked("north", "east", "south")
    await clients.answer("east", "gold")
    await clients.ran(run, "dig")
    await clients.send("stop-digging")
    await clients.ended(run)


async def complete_instances(clients: Clients) -> None:
    """Say that two answers are enough."""
    run = await clients.start("complete-multiple-instances")
    await clients.asked(*["like"] * 5)
    for number, likes in enumerate((True, False), 1):
        await clients.answer("like", likes)
        await clients.ran(run, "count", number)
    await clients.send("enough")
    await clients.ended(run)


async def blocking_discriminator(clients: Clients) -> None:
    """Answer both rounds, each a sub-workflow."""
    run = await clients.start("blocking-discriminator")
    for patient in ("Ada", "Grace"):
        await clients.asked(f"surgeon, what do you advise for {patient}")
        await clients.answer(f"physician, what do you advise for {patient}", "rest")
        await clients.answer(f"surgeon, what do you advise for {patient}", "operation")
    await clients.ended(run)


async def cancelling_discriminator(clients: Clients) -> None:
    """Answer one, so that the other question is withdrawn."""
    run = await clients.start("cancelling-discriminator")
    await clients.asked("north", "south")
    await clients.answer("south", 7)
    await clients.ended(run)


async def structured_partial_join(clients: Clients) -> None:
    """Answer two of three, and then the third."""
    run = await clients.start("structured-partial-join")
    await clients.answer("sales", "aye")
    await clients.answer("finance", "yes")
    await clients.ran(run, "decide")
    await clients.answer("legal", "late")
    await clients.ended(run)


async def cancelling_partial_join(clients: Clients) -> None:
    """Answer two of three, so that the third question is withdrawn."""
    run = await clients.start("cancelling-partial-join")
    await clients.asked("rail", "bus", "air")
    await clients.answer("air", "1A")
    await clients.answer("rail", "61")
    await clients.ended(run)


async def generalized_and_join(clients: Clients) -> None:
    """Send parts, some too early."""
    run = await clients.start("generalized-and-join", bicycles=2)
    for part in ("f1", "f2"):
        await clients.send("frame", part)
    await clients.send("wheels", "w1")
    await clients.ran(run, "assemble")
    await clients.send("wheels", "w2")
    await clients.ended(run)


async def dynamic_partial_join(clients: Clients) -> None:
    """Add instances until what they bring is enough."""
    run = await clients.start("dynamic-partial-join-for-multiple-instances", needed=100)
    await clients.send("supplier", "north")
    await clients.send("supplier", "east")
    await clients.asked("north", "east")
    await clients.answer("north", 60)
    await clients.ran(run, "not-yet")
    await clients.send("supplier", "south")
    await clients.answer("south", 50)
    await clients.ended(run)


async def general_synchronizing_merge(clients: Clients) -> None:
    """Let a path go in circles before it comes."""
    run = await clients.start("general-synchronizing-merge")
    await clients.answer("ready?", "later")
    await clients.answer("ready?", "ready")
    await clients.ended(run)


SCRIPTS: dict[int, Script] = {
    1: only_runs("sequence"),
    3: synchronization,
    6: only_runs("multi-choice"),
    8: only_runs("multi-merge"),
    9: structured_discriminator,
    10: only_runs("arbitrary-cycles"),
    12: without_synchronization,
    13: only_runs("multiple-instances-known-at-design-time"),
    14: only_runs("multiple-instances-known-at-run-time"),
    15: instances_not_known,
    16: deferred_choice,
    18: milestone,
    19: cancel_task,
    20: cancel_case,
    21: only_runs("structured-loop"),
    22: only_runs("recursion"),
    23: transient_trigger,
    24: persistent_trigger,
    25: cancel_region,
    26: cancel_instances,
    27: complete_instances,
    28: blocking_discriminator,
    29: cancelling_discriminator,
    30: structured_partial_join,
    32: cancelling_partial_join,
    33: generalized_and_join,
    36: dynamic_partial_join,
    38: general_synchronizing_merge,
    39: only_runs("critical-section"),
    40: only_runs("interleaved-routing"),
}
