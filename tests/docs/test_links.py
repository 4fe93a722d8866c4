"""Every link between the pages of this repository leads to a file and a heading that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_FOLDERS = ("docs", "samples", "benchmarks", "proof", "simulation", "tests")
_CODE = re.compile(r"^( *)(`{3,})[^\n]*\n.*?^\1\2`*\s*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(
    r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)|<(?:img|a)\b[^>]*?(?:src|href)=\"(?!https?:)([^\"#]+)"
)
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


def pages() -> list[Path]:
    """All Markdown files that a reader of the repository can open."""
    return sorted([*ROOT.glob("*.md"), *(page for folder in _FOLDERS for page in (ROOT / folder).rglob("*.md"))])


def anchors(text: str) -> set[str]:
    """The anchors that the headings of a page have on GitHub and in most editors."""
    headings = _HEADING.findall(re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    """What a reader of the page could click in vain."""
    broken = []
    for path, anchor, image in _LINK.findall(_CODE.sub("", page.read_text("utf-8"))):
        target = (page.parent / (path or image)).resolve() if path or image else page
        if not target.exists():
            broken.append(f"{page.relative_to(ROOT)}: there is no {path or image}")
        elif anchor and anchor not in anchors(target.read_text("utf-8")):
            broken.append(f"{page.relative_to(ROOT)}: {path or page.name} has no heading for #{anchor}")
    return broken


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    assert [line for page in pages() for line in broken_links(page)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a](there.md)", 0),
        ("[a](gone.md)", 1),
        ("[a](there.md#one-two-3)", 0),
        ("[a](there.md#one-two)", 1),
        ("[a](#here)\n\n## Here", 0),
        ("[a](#there)\n\n## Here", 1),
        ("[a](https://example.com/gone)", 0),
        ("`[a](gone.md)`", 0),
        ("```\n[a](gone.md)\n```", 0),
        ("![picture](gone.svg)", 1),
        ('<img alt="picture" src="gone.svg">', 1),
    ],
)
def test_a_broken_link_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, found: int) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "there.md").write_text("# There\n\n## One `two`: 3\n", "utf-8")
    (tmp_path / "page.md").write_text(text, "utf-8")
    assert len(broken_links(tmp_path / "page.md")) == found


def test_the_index_lists_every_page() -> None:
    """A page that no shelf names is found by nobody."""
    index = (DOCS / "README.md").read_text("utf-8")
    shelved = [page for page in DOCS.rglob("*.md") if page.parent.name not in {"rules", "decisions"}]
    assert [
        str(page.relative_to(DOCS))
        for page in shelved
        if f"({page.relative_to(DOCS)})" not in index and page.name != "README.md"
    ] == []
