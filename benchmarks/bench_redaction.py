"""What it costs to keep 50 secrets out of what is shown, in microseconds."""

from collections.abc import Callable
from hashlib import sha256
from timeit import repeat
from typing import Any

from wonder.language.redaction import Redactor

SECRETS = [sha256(str(number).encode()).hexdigest()[:40] for number in range(50)]
OUTPUT: dict[str, Any] = {
    "status": 200,
    "headers": {"content-type": "application/json"},
    "body": {"id": 7, "name": "Ada"},
}
PAGE = "A line of a page, with words, numbers (0123456789) and signs.\n" * 16_000


def measure() -> list[tuple[str, float]]:
    """Return each label with its microseconds, the best of five."""
    redactor = _knowing(SECRETS)
    hit = f"{PAGE[:500_000]}{SECRETS[7]}{PAGE[500_000:]}"
    return [
        ("look through a small output", _microseconds(lambda: redactor.value(OUTPUT), 2_000)),
        ("look through a text of 1 MB", _microseconds(lambda: redactor.text(PAGE), 5)),
        ("take a secret out of a text of 1 MB", _microseconds(lambda: redactor.text(hit), 5)),
        ("learn a secret of 40 characters", _microseconds(lambda: _knowing(SECRETS[:1]), 20)),
    ]


def _knowing(secrets: list[str]) -> Redactor:
    redactor = Redactor()
    for number, secret in enumerate(secrets):
        redactor.add(f"SECRET_{number}", secret)
    return redactor


def _microseconds(work: Callable[[], object], number: int) -> float:
    return min(repeat(work, number=number, repeat=5)) / number * 1e6


if __name__ == "__main__":
    for label, microseconds in measure():
        print(f"{microseconds:8.2f} µs  {label}")
