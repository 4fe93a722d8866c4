"""RES-7: ids are ULIDs, in the order in which they were made."""

import re

from wonder.app.ids import UlidMaker


def test_ids_are_ulids_that_differ_and_sort_by_the_time_of_their_making() -> None:
    make = UlidMaker()
    ids = [make() for _ in range(20_000)]
    assert len(set(ids)) == len(ids)
    assert ids == sorted(ids)
    assert all(re.fullmatch("[0-7][0-9A-HJKMNP-TV-Z]{25}", id) for id in ids[:100])


def test_two_makers_give_different_ids() -> None:
    assert len({UlidMaker()() for _ in range(1_000)}) == 1_000
