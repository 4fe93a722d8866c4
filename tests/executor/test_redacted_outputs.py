"""What an action gives is looked through for secrets, and what takes long does not hold up everything else (INV-8)."""

import threading

from wonder.executor.redacting import redacted_output
from wonder.language.redaction import Redactor
from wonder.language.values import JsonValue

SECRET = "sk-live-0123456789"


class Watched(Redactor):
    """Notes the thread in which it looks closely."""

    def __init__(self) -> None:
        super().__init__()
        self.add("KEY", SECRET)
        self.threads: list[threading.Thread] = []

    def without_clues(self, value: JsonValue) -> JsonValue:  # type: ignore[override]  # of what actions give
        """Look closely."""
        self.threads.append(threading.current_thread())
        return super().without_clues(value)


async def test_a_large_answer_made_of_a_secret_is_looked_through_in_a_thread() -> None:
    redactor = Watched()
    shown = await redacted_output({"body": SECRET * 10_000}, redactor)
    assert shown == {"body": "[secret KEY]" * 10_000}
    assert [thread is threading.main_thread() for thread in redactor.threads] == [False]


async def test_what_is_small_or_has_nothing_of_a_secret_takes_no_thread() -> None:
    redactor = Watched()
    plain: JsonValue = {"body": "x" * 200_000}
    assert await redacted_output(plain, redactor) is plain
    assert await redacted_output([SECRET], redactor) == ["[secret KEY]"]
    assert [thread is threading.main_thread() for thread in redactor.threads] == [True]


async def test_what_is_no_json_is_not_kept() -> None:
    endless: list[JsonValue] = []
    endless.append(endless)
    assert await redacted_output(endless, Watched()) == "[a value that can't be looked through for secrets]"
