"""Warnings in the logs of runs whose mappings found nothing where a schema requires a value (CTX-5c)."""

import logging
from collections import OrderedDict
from typing import Final

from wonder.coordinator.live import LiveRun
from wonder.engine.decisions import WarnOfMapping

TOLD_MAX: Final = 10_000

log = logging.getLogger("wonder.mappings")


class MappingWarnings:
    """Logs each query of a node once for a run; of very many, those that were told long ago may come again."""

    def __init__(self) -> None:
        self._told: OrderedDict[tuple[str, str, str], None] = OrderedDict()

    def tell(self, run: LiveRun, order: WarnOfMapping) -> None:
        """Log what a mapping did not find, unless that was logged before."""
        for query in order.queries:
            key = (run.id, order.node_id, query)
            is_new = key not in self._told
            self._told[key] = None
            self._told.move_to_end(key)
            if is_new:
                self._log(run, order, query)
        while len(self._told) > TOLD_MAX:
            self._told.popitem(last=False)

    def _log(self, run: LiveRun, order: WarnOfMapping, query: str) -> None:
        ref = run.program.workflow.nodes[order.node_id].ref
        where = {"run_id": run.id, "project_id": run.project_id, "node": ref, "token_id": order.token_id}
        message = (
            "the input_mapping of '%s' found nothing at %s, which a schema of the workflow requires; write the value "
            "before, give it a default, or do not require it"
        )
        log.warning(message, ref, query, extra=where)
