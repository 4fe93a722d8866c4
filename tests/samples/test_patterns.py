"""The 43 control-flow patterns: each sample obeys its pattern, on both databases (docs/patterns.md)."""

import asyncio
import re
from pathlib import Path

import pytest

from support.definitions import faults_in
from support.patterns import FILES, playing
from wonder.coordinator.errors import ItemClosed
from wonder.language.values import JsonValue
from wonder.storage.runs.looking import load_inbox_item

DOCUMENT = (Path(__file__).parents[2] / "docs" / "patterns.md").read_text(encoding="utf-8")


def test_there_is_a_sample_for_each_of_the_43_patterns() -> None:
    assert list(FILES) == list(range(1, 44))


@pytest.mark.parametrize("number", FILES)
def test_a_sample_has_no_fault_not_even_a_warning_and_says_what_it_shows(number: int) -> None:
    text = FILES[number].read_text(encoding="utf-8")
    assert faults_in(text) == []
    header = re.match(r"(# .*\n)+", text)
    assert header
    assert header[0].startswith(f"# WCP-{number} ")
    assert 2 <= header[0].count("\n") <= 5
    (row,) = re.findall(rf"^\| {number} \|.*$", DOCUMENT, re.MULTILINE)
    assert f"(../samples/patterns/{FILES[number].name})" in row
    assert row.split("|")[2].strip() == re.sub(r"# WCP-\d+ (.*?): .*", r"\1", header[0].splitlines()[0])


async def test_wcp_1_sequence(store_url: str) -> None:
    async with playing(store_url, 1) as play:
        await play.start()
        assert await play.output() == {"weigh": "weighed", "stamp": "stamped", "send": "sent"}
        assert await play.ran() == ["weigh", "stamp", "send"]


async def test_wcp_2_parallel_split(store_url: str) -> None:
    async with playing(store_url, 2) as play:
        await play.start()
        assert await play.output() == {"order": "ordered", "pack": "packed", "invoice": "invoiced"}
        assert await play.counts() == {"order": 1, "pack": 1, "invoice": 1}
        assert await play.parents("pack", "invoice") == {"order"}


async def test_wcp_3_synchronization_waits_for_the_last_path(store_url: str) -> None:
    async with playing(store_url, 3) as play:
        await play.start()
        await play.until_ran("flight")
        await play.status("waiting")
        assert "confirm" not in await play.counts()
        await play.answer("hotel", "Ritz")
        assert await play.output() == {"confirmed": ["flight", "Ritz"]}
        assert (await play.counts())["confirm"] == 1


async def test_wcp_4_exclusive_choice_takes_one_path(store_url: str) -> None:
    async with playing(store_url, 4) as play:
        for cents, who in ((100, "clerk"), (100_001, "manager"), (1_000_001, "board")):
            await play.start(cents=cents)
            assert await play.output() == {"approved_by": who}
            assert await play.counts() == {"receive": 1, who: 1}


async def test_wcp_5_simple_merge_goes_on_without_the_path_not_taken(store_url: str) -> None:
    async with playing(store_url, 5) as play:
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


async def test_wcp_6_multi_choice_takes_every_path_that_matches(store_url: str) -> None:
    async with playing(store_url, 6) as play:
        for call, sent in CALLS.items():
            await play.start(call=call)
            output = await play.output()
            assert isinstance(output, dict)
            assert set(output) == set(sent or ["note"])
            assert await play.counts() == {"answer": 1, **dict.fromkeys(sent or ["note"], 1)}


async def test_wcp_7_structured_synchronizing_merge_waits_for_the_paths_taken(store_url: str) -> None:
    async with playing(store_url, 7) as play:
        for call, sent in CALLS.items():
            await play.start(call=call)
            assert await play.output() == {"sent": sent or None}
            assert await play.counts() == {"answer": 1, **dict.fromkeys(sent, 1), "report": 1}
            assert (await play.ran())[-1] == "report"


async def test_wcp_8_multi_merge_goes_on_once_for_each_path(store_url: str) -> None:
    async with playing(store_url, 8) as play:
        await play.start()
        assert await play.output() == {"paid": 2}
        assert await play.counts() == {"dig": 1, "walls": 1, "pipes": 1, "inspect": 2, "pay": 2}


async def test_wcp_9_structured_discriminator_goes_on_with_the_first_and_heeds_no_other(store_url: str) -> None:
    async with playing(store_url, 9) as play:
        await play.start()
        await play.answer("physician", "rest")
        await play.until_ran("treat")
        await play.asked("surgeon")
        await play.answer("surgeon", "operation")
        assert await play.output() == {"treatment": "rest"}
        assert await play.counts() == {"admit": 1, "surgeon": 1, "physician": 1, "treat": 1}
        assert await play.ends("surgeon", "physician") == ["completed", "completed"]


async def test_wcp_10_arbitrary_cycles_have_two_ways_in_and_two_out(store_url: str) -> None:
    async with playing(store_url, 10) as play:
        await play.start(has_draft=True, versions=1)
        assert await play.output() == {"published": 1}
        assert await play.ran() == ["begin", "review", "write", "review", "publish"]
        await play.start(has_draft=False, versions=2)
        assert await play.output() == {"published": 2}
        assert await play.ran() == ["begin", "write", "review", "write", "review", "publish"]
        await play.start(has_draft=True, patience=0)
        assert await play.output() == {"given_up": 1}
        assert await play.ran() == ["begin", "review", "write", "give-up"]


async def test_wcp_11_implicit_termination_is_when_nothing_is_left_to_do(store_url: str) -> None:
    async with playing(store_url, 11) as play:
        await play.start()
        await play.until_ran("desk")
        await play.status("waiting")
        await play.answer("laptop", "small")
        assert await play.output() == {"desk": "ready", "laptop": "small"}


async def test_wcp_12_instances_without_synchronization_hold_nobody_up(store_url: str) -> None:
    async with playing(store_url, 12) as play:
        await play.start()
        await play.until_ran("close")
        await play.asked("Ada", "Grace", "Edsger")
        for driver in ("Grace", "Ada", "Edsger"):
            await play.answer(driver, True)
        assert await play.output() == {"register": "closed"}
        assert await play.counts() == {"list": 1, "fine": 3, "close": 1}


async def test_wcp_13_instances_known_at_design_time_are_all_waited_for(store_url: str) -> None:
    async with playing(store_url, 13) as play:
        await play.start()
        assert await play.output() == {"signatures": [0, 1, 2, 3, 4, 5]}
        assert await play.ran() == ["print", *["sign"] * 6, "file"]


async def test_wcp_14_instances_known_at_run_time_are_all_waited_for(store_url: str) -> None:
    async with playing(store_url, 14) as play:
        for number in (0, 1, 4):
            engines: list[JsonValue] = [f"engine {place}" for place in range(number)]
            await play.start(engines=engines)
            assert await play.output() == {"checked": engines}
            assert await play.ran() == ["land", *["check"] * number, "release"]


async def test_wcp_15_instances_are_added_while_others_run_and_all_are_waited_for(store_url: str) -> None:
    async with playing(store_url, 15) as play:
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


async def test_wcp_16_deferred_choice_is_made_by_what_happens_first(store_url: str) -> None:
    async with playing(store_url, 16) as play:
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
        with pytest.raises(ItemClosed):
            await play.wonder.answer(question.id, True)


async def test_wcp_17_interleaved_parallel_routing_keeps_to_the_order_that_there_is(store_url: str) -> None:
    async with playing(store_url, 17) as play:
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


async def test_wcp_18_milestone_lets_a_task_happen_only_until_it_is_passed(store_url: str) -> None:
    async with playing(store_url, 18) as play:
        await play.start()
        await play.answer("route", "by sea")
        await play.until_ran("rebook")
        await play.answer("paid", True)
        await play.until_ran("issue")
        await play.answer("route", "by air")
        assert await play.output() == {"issued": True, "changes": 1, "refused": 1}
        assert (await play.ran())[-1] == "refuse"


async def test_wcp_19_cancel_task_aborts_a_running_action(store_url: str) -> None:
    async with playing(store_url, 19) as play:
        await play.start()
        await play.send("withdrawn")
        async with asyncio.timeout(8):  # the task alone takes longer
            assert await play.output() == {"claim": "withdrawn"}
        assert await play.ends("assess") == ["cancelled"]


async def test_wcp_20_cancel_case_ends_all_of_it(store_url: str) -> None:
    async with playing(store_url, 20) as play:
        await play.start()
        await play.asked("earn", "worth")
        questions = await play.questions()
        await play.wonder.cancel(play.run.id)
        assert (await play.end()).status == "cancelled"
        (child,) = await play.children(1)
        assert (await play.wonder.wait(child.id)).status == "cancelled"
        assert await play.ends("survey", "income") == ["cancelled", "cancelled"]
        assert "grant" not in await play.counts()
        for question in questions:
            assert (await load_inbox_item(play.wonder.app.store, question.id)).status == "withdrawn"


async def test_wcp_21_structured_loop_tests_before_or_behind(store_url: str) -> None:
    async with playing(store_url, 21) as play:
        for letters, rings, dialled in ((0, 0, 1), (1, 1, 1), (3, 2, 2)):
            await play.start(letters=letters, rings=rings)
            assert await play.output() == {"read": letters, "dialled": dialled}
            assert await play.ran() == ["look", *["read", "look"] * letters, *["dial"] * dialled, "talk"]


async def test_wcp_22_recursion(store_url: str) -> None:
    async with playing(store_url, 22) as play:
        await play.start(disks=4)
        assert await play.output() == {"moves": 15}
        depths = await play.wonder.app.store.query("SELECT depth FROM runs ORDER BY depth")
        assert [depth for (depth,) in depths] == [0, 1, 2, 3, 4]


async def test_wcp_23_transient_trigger_is_lost_when_nobody_waits_for_it(store_url: str) -> None:
    async with playing(store_url, 23) as play:
        await play.start()
        await play.asked("Arm")
        await play.send("movement", {"room": "hall"}, ttl_seconds=0)
        await play.answer("Arm", True)
        await play.until_ran("arm")
        await play.status("waiting")
        await play.send("movement", {"room": "cellar"}, ttl_seconds=0)
        assert await play.output() == {"room": "cellar"}


async def test_wcp_24_persistent_trigger_is_kept_until_somebody_waits_for_it(store_url: str) -> None:
    async with playing(store_url, 24) as play:
        await play.start()
        await play.asked("unpacked")
        await play.send("paid", {"cents": 4_200})
        assert await play.ran() == []
        await play.answer("unpacked", True)
        assert await play.output() == {"cents": 4_200}


async def test_wcp_25_cancel_region_takes_back_all_of_it_and_nothing_else(store_url: str) -> None:
    async with playing(store_url, 25) as play:
        await play.start()
        await play.answer("lights", True)
        await play.asked("tent", "caterer")
        await play.send("rain")
        await play.asked("caterer")
        assert await play.ends("tent", "lights") == ["cancelled", "cancelled"]
        await play.answer("caterer", True)
        assert await play.output() == {"rain": True, "indoors": True, "party": True}
        assert await play.ends("caterer") == ["completed"]


async def test_wcp_26_cancel_multiple_instances_takes_back_those_that_have_not_completed(store_url: str) -> None:
    async with playing(store_url, 26) as play:
        await play.start()
        await play.asked("north", "east", "south")
        await play.answer("east", "gold")
        await play.asked("north", "south")
        await play.send("stop-digging")
        assert await play.output() == {"outcome": "stopped"}
        assert (await play.ran()).count("dig") == 1
        assert "dug" not in await play.counts()
        assert await play.questions() == []


async def test_wcp_27_complete_multiple_instances_goes_on_with_those_that_have_completed(store_url: str) -> None:
    async with playing(store_url, 27) as play:
        await play.start()
        await play.asked(*["like"] * 5)
        for number, likes in enumerate((True, False), 1):
            await play.answer("like", likes)
            await play.until_ran("count", number)
        await play.send("enough")
        assert await play.output() == {"answers": 2, "likes": 1, "share": 50}
        assert (await play.ran()).count("question") == 2
        assert await play.questions() == []


async def test_wcp_28_blocking_discriminator_holds_the_next_round_back(store_url: str) -> None:
    async with playing(store_url, 28) as play:
        await play.start()
        for number, patient in enumerate(("Ada", "Grace"), 1):
            await play.asked(
                f"surgeon, what do you advise for {patient}", f"physician, what do you advise for {patient}"
            )
            await play.answer("physician", "rest")
            child = (await play.children(number))[-1]
            await play.until_ran("treat", run_id=child.id)
            await play.asked(f"surgeon, what do you advise for {patient}")
            assert len(await play.children(number)) == number
            await play.answer("surgeon", "operation")
            assert (await play.wonder.wait(child.id)).output == {"treatment": "rest"}
            assert (await play.ran(child.id)).count("treat") == 1
        assert await play.output() == {"done": True}


async def test_wcp_29_cancelling_discriminator_cancels_the_others(store_url: str) -> None:
    async with playing(store_url, 29) as play:
        await play.start()
        await play.asked("north", "south")
        (slow,) = [item for item in await play.questions() if "north" in item.prompt]
        await play.answer("south", 7)
        assert await play.output() == {"price": 7}
        assert await play.ends("north", "south") == ["cancelled", "completed"]
        with pytest.raises(ItemClosed):
            await play.wonder.answer(slow.id, 5)


async def test_wcp_30_structured_partial_join_goes_on_with_two_of_three_and_heeds_no_other(store_url: str) -> None:
    async with playing(store_url, 30) as play:
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


async def test_wcp_31_blocking_partial_join_holds_the_next_round_back(store_url: str) -> None:
    async with playing(store_url, 31) as play:
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
            await play.wonder.wait(child.id)
            assert (await play.ran(child.id)).count("announce") == 1
        assert await play.output() == {"closed": True}


async def test_wcp_32_cancelling_partial_join_cancels_the_others(store_url: str) -> None:
    async with playing(store_url, 32) as play:
        await play.start()
        await play.answer("air", "1A")
        await play.asked("rail", "bus")
        await play.answer("rail", "61")
        assert await play.output() == {"seats": ["61", "1A"]}
        assert await play.ends("rail", "bus", "air") == ["completed", "cancelled", "completed"]


async def test_wcp_33_generalized_and_join_keeps_what_comes_too_early(store_url: str) -> None:
    async with playing(store_url, 33) as play:
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


async def test_wcp_34_static_partial_join_for_instances_heeds_no_later_one(store_url: str) -> None:
    async with playing(store_url, 34) as play:
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


async def test_wcp_35_cancelling_partial_join_for_instances_cancels_the_others(store_url: str) -> None:
    async with playing(store_url, 35) as play:
        await play.start()
        await play.answer("Edsger", "E")
        await play.asked("Ada", "Grace")
        await play.answer("Ada", "A")
        assert await play.output() == {"coming": ["A", "E"]}
        assert await play.ends("driver") == ["completed", "cancelled", "completed"]


async def test_wcp_36_dynamic_partial_join_adds_instances_until_a_condition_holds(store_url: str) -> None:
    async with playing(store_url, 36) as play:
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


async def test_wcp_37_local_synchronizing_merge_does_not_wait_for_a_path_that_left(store_url: str) -> None:
    cases: list[tuple[dict[str, JsonValue], list[JsonValue]]] = [
        ({"guilty": True}, ["doctor", "garage"]),
        ({"guilty": False}, ["doctor", "police", "garage"]),
        ({"guilty": True, "injured": False}, ["garage"]),
        ({"guilty": False, "injured": False, "damaged": False}, ["police"]),
    ]
    async with playing(store_url, 37) as play:
        for given, files in cases:
            await play.start(**given)
            assert await play.output() == {"files": files, **({"court": "in court"} if given["guilty"] else {})}
            assert (await play.counts())["settle"] == 1


async def test_wcp_38_general_synchronizing_merge_waits_as_long_as_a_path_may_come(store_url: str) -> None:
    outputs: dict[str, JsonValue] = {
        "ready": {"papers": ["keynote", "ready"]},
        "withdrawn": {"papers": ["keynote"], "withdrawn": "withdrawn"},
    }
    async with playing(store_url, 38) as play:
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


async def test_wcp_39_critical_section_is_under_way_once_at_a_time(store_url: str) -> None:
    async with playing(store_url, 39) as play:
        await play.start()
        assert await play.output() == {"track": None, "trains": 2}  # the machine refuses two at once
        sections = [ref for ref in await play.ran() if ref in ("load", "depart", "shunt", "leave")]
        assert sections in (
            ["load", "depart", "leave", "shunt", "leave"],
            ["shunt", "leave", "load", "depart", "leave"],
        )


async def test_wcp_40_interleaved_routing_does_each_once_and_one_at_a_time(store_url: str) -> None:
    orders: list[list[JsonValue]] = [["x-ray", "blood", "heart"], ["heart", "blood", "x-ray"]]
    async with playing(store_url, 40) as play:
        for tests in orders:
            await play.start(tests=tests)
            assert await play.output() == {"results": tests}  # the machine refuses two at once
            assert [ref for ref in await play.ran() if ref in tests] == tests


async def test_wcp_41_thread_merge_makes_one_of_so_many(store_url: str) -> None:
    async with playing(store_url, 41) as play:
        await play.start()
        assert await play.output() == {"booked": 1}
        assert await play.ran() == ["collect", *["register"] * 4, "book"]


async def test_wcp_42_thread_split_makes_so_many_of_one(store_url: str) -> None:
    async with playing(store_url, 42) as play:
        await play.start()
        assert await play.output() == {"posted": 3}
        assert await play.counts() == {"confirm": 1, "print": 3, "post": 3}
        assert await play.parents("print") == {"confirm"}


async def test_wcp_43_explicit_termination_ends_all_that_is_under_way(store_url: str) -> None:
    async with playing(store_url, 43) as play:
        for where in ("house", "lake"):
            await play.start()
            await play.asked("house", "lake", "hill")
            await play.answer(where, "it")
            assert await play.output() == {"found": "it"}
            assert sorted(await play.ends("house", "lake", "hill")) == ["cancelled", "cancelled", "completed"]
            assert (await play.ran()).count("end") == 1
            assert await play.questions() == []
