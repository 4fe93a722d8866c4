"""RES-6: how much a run may log, and what is said when it logs more."""

import logging
from collections.abc import Sequence

import pytest

from support.systems import bundle, calls, running, settle, until
from wonder.app import log_limits
from wonder.app.log_limits import LogLimits
from wonder.operations.logs import ListLogs, list_logs
from wonder.storage.logs import LogRecord

log = logging.getLogger("shop.prices")


def record(number: int, run_id: str | None, project_id: str | None, text: str = "x" * 700) -> LogRecord:
    return LogRecord(
        id=f"{number:026}",
        at_ms=number,
        level="info",
        service="shop",
        trace_id="t",
        project_id=project_id,
        run_id=run_id,
        node="a",
        token_id="k",
        message=text,
        metadata=None,
        error_stack=None,
    )


async def test_res_6_a_run_that_logs_too_much_goes_on_and_its_logs_say_so(store_url: str) -> None:
    def chatter() -> str:
        for number in range(50):
            log.warning("%d %s", number, "x" * 1_000)
        return "done"

    async with running(store_url, chatter=chatter) as wonder:
        await settle(wonder, run_limits={"log_bytes": 10_000})
        workflow = await wonder.deploy(bundle("w", {"a": calls("chatter")}))
        ended = [await (await wonder.start(workflow)).wait() for _ in range(2)]
        assert [one.status for one in ended] == ["completed", "completed"]
        for one in ended:
            # Each run has its own.
            async def look(run_id: str = one.run_id) -> Sequence[str] | None:
                found = [one.message for one in (await list_logs(wonder, ListLogs(run_id=run_id))).logs]
                return found if any("dropped" in message for message in found) else None

            last, *others = await until(look)
            assert last.startswith("the run has logged 10,000 bytes, its limit run_limits.log_bytes; this message and")
            assert [message.split()[0] for message in others] == ["6", "5", "4", "3", "2", "1", "0"]


async def test_res_6_what_belongs_to_no_run_has_no_limit_and_old_counts_are_forgotten(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_limits, "RUNS_COUNTED", 2)
    async with running(store_url) as wonder:
        await settle(wonder, run_limits={"log_bytes": 1_500})
        limits, project = LogLimits(wonder.store), wonder.home.project_id

        async def admitted(*runs: str | None) -> list[str]:
            records = [record(number, run, project if run != "gone" else "gone") for number, run in enumerate(runs)]
            return [one.service for one in await limits.admitted(records)]

        assert await admitted("r", "r", "r", None) == ["shop", "wonder.logs", "shop"]
        assert await admitted("r", "s", "t") == ["shop", "shop"]
        # The one that logged longest ago begins again; a project that is gone has the default.
        assert await admitted("r", "gone") == ["shop", "shop"]
