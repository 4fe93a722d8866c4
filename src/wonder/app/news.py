"""News of the engine in this process, and its orderly end, for the command that keeps an engine running."""

from wonder.app.application import Application
from wonder.coordinator.news import EngineNews as EngineNews
from wonder.coordinator.news import RunNews as RunNews


def tasks_under_way(application: Application) -> int:
    """Say how many tasks the engine in this process has under way."""
    return application.engine.coordinator.tasks.under_way if application.engine else 0


async def drain(application: Application, seconds: float) -> int:
    """Begin no more tasks here, and wait for those under way; returns how many are left by then."""
    return await application.engine.drain(seconds) if application.engine else 0
