"""Opens what a command works on: a database, or a project on a server."""

import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wonder.app import opening
from wonder.cli.settings import KEY_FILE_VARIABLE, KEY_VARIABLE, BadSettings, is_server
from wonder.operations.declaring import Place, local_place

if TYPE_CHECKING:
    from wonder.app.application import Application


def open_app(
    url: str, *, workspace: str | None = None, project: str | None = None, **options: Any
) -> "AbstractAsyncContextManager[Application]":
    """Open a database for a command that needs no engine, as `app.opening.open_app` does; or a project on a server."""
    if is_server(url):
        return _on_server(url, workspace, project)
    return opening.open_app(url, workspace=workspace, project=project, **options)


def open_wonder(
    url: str, *, workspace: str | None = None, project: str | None = None, **options: Any
) -> "AbstractAsyncContextManager[Application]":
    """Open a database with its engine, as `app.opening.open_wonder` does; or a project on a server."""
    if is_server(url):
        return _on_server(url, workspace, project)
    return opening.open_wonder(url, workspace=workspace, project=project, **options)


@asynccontextmanager
async def open_place(url: str) -> AsyncIterator[Place]:
    """Give where a database is, for what is asked of a whole database; or the server that has it."""
    if not is_server(url):
        yield local_place(url)
        return
    async with _on_server(url, None, None) as app:
        yield Place(url, remote=app.remote)


def _on_server(url: str, workspace: str | None, project: str | None) -> "AbstractAsyncContextManager[Application]":
    from wonder.client.application import RemoteApplication, connected  # most commands open a database

    return connected(RemoteApplication, url, _key(), workspace=workspace, project=project)


def _key() -> str | None:
    """Give the API key for a server: never a flag, which others on the machine could read."""
    if key := os.environ.get(KEY_VARIABLE):
        return key.strip()
    if (path := os.environ.get(KEY_FILE_VARIABLE)) is None:
        return None
    try:
        return Path(path).read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise BadSettings(f"the API key can't be read from {path}, which {KEY_FILE_VARIABLE} names: {error}") from None
