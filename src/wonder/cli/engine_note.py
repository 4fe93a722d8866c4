"""A note for people who wait for a schedule or a run while no process runs the engine."""

from wonder.app.application import Application
from wonder.cli.output import color
from wonder.operations.engine_status import EngineQuestion, EngineStatus, engine_status

HOW = "`wonder serve --no-http`, or a program that has the database open"
CONTINUE = "`wonder run` and the same --key and input, or with `wonder serve --no-http`"


async def print_if_nobody_runs(app: Application, what: str, run_ids: list[str] | None = None) -> None:
    """Print that something waits for an engine, if no process runs one; `what` says what it would do.

    Given run ids, it is printed only if an engine would continue one of these runs.
    """
    status = await engine_status(app, EngineQuestion(run_ids=run_ids or []))
    if not status.is_running and (run_ids is None or status.runs_wait):
        print(f"{color('warning', '!')} no process runs the engine now; {what} only when one does ({HOW})")


def awaited(status: EngineStatus) -> list[str]:
    """Describe what waits for an engine in a project."""
    schedules = ["schedules start runs"] if status.schedules_wait else []
    return [*schedules, "runs continue"] if status.runs_wait else schedules
