"""The 43 control-flow patterns: each sample obeys its pattern, on both databases (docs/reference/patterns.md)."""

import re
from pathlib import Path

import pytest
from simulation.plays import FILES, PLAYS

from support.definitions import faults_in
from support.patterns import playing

DOCUMENT = (Path(__file__).parents[2] / "docs" / "reference" / "patterns.md").read_text(encoding="utf-8")


def test_there_is_a_sample_and_a_play_for_each_of_the_43_patterns() -> None:
    assert list(FILES) == sorted(PLAYS) == list(range(1, 44))


@pytest.mark.parametrize("number", FILES)
def test_a_sample_has_no_fault_not_even_a_warning_and_says_what_it_shows(number: int) -> None:
    text = FILES[number].read_text(encoding="utf-8")
    assert faults_in(text) == []
    header = re.match(r"(# .*\n)+", text)
    assert header
    assert header[0].startswith(f"# WCP-{number} ")
    assert 2 <= header[0].count("\n") <= 5
    (row,) = re.findall(rf"^\| {number} \|.*$", DOCUMENT, re.MULTILINE)
    assert f"(../../samples/patterns/{FILES[number].name})" in row
    assert row.split("|")[2].strip() == re.sub(r"# WCP-\d+ (.*?): .*", r"\1", header[0].splitlines()[0])


@pytest.mark.parametrize("number", FILES, ids=lambda number: f"wcp-{number}")
async def test_a_sample_obeys_its_pattern(number: int, store_url: str) -> None:
    async with playing(store_url, number) as play:
        await PLAYS[number](play)
