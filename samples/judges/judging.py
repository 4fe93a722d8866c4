"""What the judges sample calls: it weighs opinions, and writes the page that is kept."""

from typing import Any

import wonder


@wonder.function
def weigh(opinions: list[dict[str, Any]]) -> dict[str, Any]:
    """Give the mean of the scores, and how far they are apart."""
    scores = [opinion["score"] for opinion in opinions]
    return {"score": round(sum(scores) / len(scores), 1), "spread": max(scores) - min(scores)}


@wonder.function
def write_page(title: str, opinions: list[dict[str, Any]], verdict: str, by: str) -> str:
    """Write a verdict as a page in Markdown."""
    said = "".join(f"- {opinion['judge']}: {opinion['score']}. {opinion['why']}\n" for opinion in opinions)
    return f"# {title}\n\n{verdict.capitalize()} by {by}.\n\n{said}"
