"""The live view of a run: how far its nodes are, drawn again and again on a terminal, a few lines elsewhere."""

import asyncio
import shutil
import sys
import time
from collections import defaultdict
from contextlib import ExitStack

from wonder.app.api import RunResult, Wonder
from wonder.cli.output import color
from wonder.cli.progress import ProgressLines
from wonder.cli.questions import question_lines
from wonder.definitions.records.graph import WorkflowDef
from wonder.observe.watching import Watcher
from wonder.storage.definitions import load_definition
from wonder.storage.runs.headers import RunHeader, load_header
from wonder.storage.runs.looking import InboxItem
from wonder.storage.runs.standing import NodeCount, count_tokens, only_outside_moves, open_questions

_FRAME_SECONDS = 0.1
_PLAIN_SECONDS = 5.0
_BAR = 24
# A token that waits at a join has its own node behind it.
_DONE = ("completed", "waiting_for_siblings")
_ENDED = (*_DONE, "failed", "timed_out", "cancelled")


async def watch(wonder: Wonder, run_id: str, *, quiet: bool) -> RunHeader:
    """Show a run until it has ended, or only a person or an outside event can move it on; give its header then."""
    store = wonder.app.store
    view = _View(sys.stdout.isatty() and not quiet, quiet)
    header = await load_header(store, run_id)
    definition = await load_definition(store, WorkflowDef, header.workflow_def_id, header.workflow_version)
    refs = {node.id: node.ref for node in definition.nodes}
    watcher: Watcher | None = None
    with ExitStack() as stack:
        end: asyncio.Task[RunResult] | None = None
        if engine := wonder.engine:
            end = asyncio.create_task(wonder.wait(run_id))
            stack.callback(end.cancel)
            if not quiet:
                watcher = stack.enter_context(engine.watchers.watch(run_id))
        while True:
            header = await load_header(store, run_id)
            if watcher:
                view.progress.add(watcher.take())
            counts = [] if quiet else await count_tokens(store, run_id)
            if not quiet:
                view.show(refs, counts, header)
            if header.has_ended or await only_outside_moves(store, header):
                break
            if any(one.status == "suspended" for one in counts):
                view.ask(await open_questions(store, run_id))
            await (asyncio.wait([end], timeout=_FRAME_SECONDS) if end else asyncio.sleep(_FRAME_SECONDS))
    view.close()
    return header


class _View:
    """Draws over what it drew before on a terminal; elsewhere writes a line now and then."""

    def __init__(self, on_terminal: bool, quiet: bool) -> None:
        self.on_terminal, self._quiet = on_terminal, quiet
        self.progress = ProgressLines()
        self._drawn = 0
        self._open: set[str] = set()
        self._asked: set[str] = set()
        self._started = time.monotonic()
        self._written = self._started

    def show(self, refs: dict[str, str], counts: list[NodeCount], header: RunHeader) -> None:
        """Show how far the nodes are."""
        nodes: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for node_id, status, tokens in counts:
            nodes[node_id][status] += tokens
        if self.on_terminal:
            width = shutil.get_terminal_size().columns
            lines = [self._line(refs[node_id], nodes[node_id], width) for node_id in refs if node_id in nodes]
            elapsed = time.monotonic() - self._started
            self._draw([*lines, color("dim", f"{header.status} · {elapsed:.1f} s · {header.id}")])
        elif time.monotonic() - self._written >= _PLAIN_SECONDS:
            # In a pipe: one line every few seconds, so that a log shows that it goes on.
            self._written = time.monotonic()
            done = sum(one.tokens for one in counts if one.status in _ENDED)
            total = sum(one.tokens for one in counts)
            live = {refs[one.node_id] for one in counts if one.status not in _ENDED}
            told = "".join(f"; {waits}" for waits in self.progress.in_line(live))
            print(f"{header.status}: {done} of {total} node executions done{told}", flush=True)

    def ask(self, items: list[InboxItem]) -> None:
        """Show questions while the run goes on, each once; at second sight, as a run that stops reports its own."""
        new = [item for item in items if item.id in self._open and item.id not in self._asked]
        self._open = {item.id for item in items}
        self._asked.update(item.id for item in new)
        if new and self._drawn:
            # Over the picture, which is drawn again below.
            sys.stdout.write(f"\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0
        for item in new:
            print("\n".join(question_lines(item)), flush=True)

    def close(self) -> None:
        """Leave the last picture standing."""
        self._drawn = 0

    def _line(self, ref: str, statuses: dict[str, int], width: int) -> str:
        line = _line(ref, statuses)
        if all(status in _ENDED for status, tokens in statuses.items() if tokens):
            return line
        told = self.progress.beside(line, ref, width)
        return f"{line} {color('dim', told)}" if told else line

    def _draw(self, lines: list[str]) -> None:
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        sys.stdout.write(up + "".join(f"\x1b[2K{line}\n" for line in lines))
        sys.stdout.flush()
        self._drawn = len(lines)


def _line(ref: str, statuses: dict[str, int]) -> str:
    total = sum(statuses.values())
    done = sum(statuses[status] for status in _DONE)
    failed = statuses["failed"] + statuses["timed_out"]
    gone = statuses["cancelled"]
    if failed:
        mark = color("error", "✗")
    elif done + gone == total:
        mark = color("good", "✓")
    elif statuses["suspended"]:
        mark = color("warning", "…")
    else:
        mark = color("hint", "▶")
    text = f"{mark} {ref[:40].ljust(24)}"
    if total > 1:
        filled = _BAR * (done + failed + gone) // total
        text += f" {'█' * filled}{color('dim', '░' * (_BAR - filled))} {done}/{total}"
        text += color("error", f" {failed} failed") if failed else ""
    elif statuses["suspended"]:
        text += color("warning", " waits")
    return text
