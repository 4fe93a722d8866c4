"""EVT-4a: log records wait in memory within bounds, and hold no secret and nothing that a database refuses."""

import logging
from collections.abc import Callable, Iterator

import pytest

from wonder.actions.attempts import Origin
from wonder.actions.captured_logs import capturing, say
from wonder.actions.context import CURRENT, ActionContext
from wonder.actions.logs import collecting
from wonder.actions.logs.collecting import LogCollector
from wonder.actions.logs.lines import LogLines
from wonder.actions.logs.redacted_text import REDACTORS
from wonder.language.redaction import Redactor

CANARY = "canary-5d41402abc4b2a76"
ORIGIN = Origin("project", "run", "node", "0.1", "token")


@pytest.fixture
def collector() -> Iterator[LogCollector]:
    """What takes the records of this process."""
    made = LogCollector("process")
    with capturing(made):
        yield made


@pytest.fixture
def redactor() -> Iterator[Redactor]:
    """One that knows a secret that was used."""
    made = Redactor()
    made.add("TOKEN", CANARY)
    REDACTORS.add(made)
    yield made
    REDACTORS.discard(made)


def test_inv_8_no_secret_is_logged(collector: LogCollector, redactor: Redactor) -> None:
    collector.add(
        logging.INFO,
        f"service {CANARY}",
        f"message {CANARY}",
        fields={"held": {"deep": [CANARY]}, CANARY: 1},
        stack=f"ValueError: {CANARY}",
    )
    (record,) = collector.take(10)
    assert CANARY not in repr(record)
    assert record.message == "message [secret TOKEN]"
    assert record.metadata == {"held": {"deep": ["[secret TOKEN]"]}, "[secret TOKEN]": 1}


def test_evt_4a_what_a_database_refuses_is_replaced_and_what_is_long_is_cut(collector: LogCollector) -> None:
    class Odd:
        def __str__(self) -> str:
            raise ValueError("odd")

    fields = {"nul": "a\0b", "half": "\ud800", "odd": Odd(), "nan": float("nan"), "big": 2**70, "pair": (1, {2})}
    collector.add(logging.DEBUG, "s", "a\0b\udcff" + "x" * 20_000, fields=fields, stack="y" * 60_000 + "the end")
    (record,) = collector.take(10)
    assert record.level == "debug"
    assert record.message.startswith("a\N{REPLACEMENT CHARACTER}b?xxx")
    assert len(record.message) == collecting.MESSAGE_MAX + 2
    assert record.error_stack
    assert record.error_stack.endswith("the end")
    assert len(record.error_stack) == collecting.STACK_MAX + 2
    assert record.metadata == {
        "nul": "a\N{REPLACEMENT CHARACTER}b",
        "half": "?",
        "odd": "[a Odd that can't be shown: ValueError]",
        "nan": "nan",
        "big": str(2**70),
        "pair": [1, [2]],
    }


def test_evt_4a_records_beyond_the_bounds_are_dropped_and_counted(collector: LogCollector) -> None:
    for _ in range(30):
        collector.add(logging.INFO, "s", "x" * 1_000_000)
    assert collector.waiting == 15
    assert collector.take_dropped() == 15
    assert collector.take_dropped() == 0
    assert len(collector.take(100)) == 15
    for number in range(collecting.RECORDS_MAX + 5):
        collector.add(logging.INFO, "s", str(number))
    assert (collector.waiting, collector.dropped) == (collecting.RECORDS_MAX, 5)


def test_evt_4a_what_records_hold_besides_their_message_counts(collector: LogCollector) -> None:
    """Fields, arguments and values inside of them; one record is taken, however much it holds."""
    before = CURRENT.set(ActionContext(ORIGIN, "step", 1, logs=collector))
    log, long = logging.getLogger("some.library"), "x" * 1_000_000
    ways: list[Callable[[], None]] = [
        lambda: log.warning("got", extra={"body": long}),
        lambda: log.warning("got", extra={"body": {"parts": [long]}}),
        lambda: log.warning("got %.3s", long),
        lambda: say(logging.INFO, "stdout", "got", body=long),
    ]
    try:
        for way in ways:
            for _ in range(30):
                way()
            assert collector.waiting == 16
            assert collector.take_dropped() == 14
            assert len(collector.take(100)) == 16
        for _ in range(2):
            log.warning("got", extra={"body": long * 20})
        assert [record.message for record in collector.take(100)] == ["got"]
    finally:
        CURRENT.reset(before)


def test_evt_4a_records_keep_their_order_by_their_ids(collector: LogCollector) -> None:
    for number in range(2_000):
        collector.add(logging.INFO, "s", str(number))
    taken = [*collector.take(700), *collector.take(10_000)]
    assert [record.message for record in sorted(taken, key=lambda record: record.id)] == [str(n) for n in range(2_000)]


def test_evt_4a_every_record_of_an_action_says_where_it_comes_from(collector: LogCollector) -> None:
    context = ActionContext(ORIGIN, "step", 2, logs=collector)
    before = CURRENT.set(context)
    try:
        logging.getLogger("some.library").warning("of %s", "a library")
        try:
            {}["x"]
        except KeyError:
            context.logger.exception("failed")
        context.logger.debug("not kept, unless the application's settings say so")
        say(logging.ERROR, "stdout", "said", cents=3)
        # As it is made by a handler that sends records elsewhere.
        logging.makeLogRecord({"name": "copy", "msg": "copied"})
    finally:
        CURRENT.reset(before)
    of_library, failed, said = collector.take(10)
    for record in (of_library, failed, said):
        assert (record.project_id, record.run_id, record.node, record.token_id) == ("project", "run", "node", "token")
        assert record.trace_id == "run"
    assert (of_library.service, of_library.level, of_library.message) == ("some.library", "warning", "of a library")
    assert of_library.metadata == {"step": "step", "branch": "0.1", "attempt": 2}
    assert failed.error_stack
    assert failed.error_stack.endswith("KeyError: 'x'")
    assert (said.service, said.level, said.metadata["cents"]) == ("stdout", "error", 3)


def test_evt_4a_loggers_of_an_application_work_as_before(
    collector: LogCollector, capsys: pytest.CaptureFixture[str]
) -> None:
    """No handler is added: `logging.basicConfig()` and the output to stderr are the application's own."""
    handlers = list(logging.getLogger().handlers)
    with capturing(LogCollector("another")):
        assert logging.getLogger().handlers == handlers


def test_evt_4a_a_record_is_taken_once_whatever_factories_are_set(collector: LogCollector) -> None:
    before = logging.getLogRecordFactory()

    class Wrapped:
        def __call__(self, *arguments: object, **fields: object) -> logging.LogRecord:
            return before(*arguments, **fields)  # type: ignore[arg-type]

    logging.setLogRecordFactory(Wrapped())
    try:
        with capturing(collector):
            logging.getLogger("wonder.engine").warning("once")
        assert [record.message for record in collector.take(10)] == ["once"]
    finally:
        logging.setLogRecordFactory(before)


def test_evt_4a_lines_of_a_program_are_cut_and_a_flood_is_counted() -> None:
    now, lines = 0.0, []

    def write(level: int, text: str) -> None:
        lines.append(text)

    program = LogLines(write, lambda: now)
    program.feed(b"first\nsecond half")
    program.feed(b" of it\r\n" + b"x" * 5_000 + b"\n\n")
    assert lines == ["first", "second half of it", "x" * 2_000 + " …"]
    program.feed(b"flood\n" * 100_000 + b"rest")
    now = 1.0
    program.feed(b"\nlater\n")
    program.close()
    assert len(lines) < 110
    assert lines[-3:] == ["99,903 lines are not shown, it writes too many", "rest", "later"]
