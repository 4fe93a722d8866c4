"""The declaration of `human_input`."""

from collections.abc import Iterator

from wonder.actions.human_input.record import DefaultAnswer, HumanInput
from wonder.actions.waiting_kind import WaitingKind
from wonder.definitions.checks.texts import check_template
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import ANYTHING, Named
from wonder.language.schemas import Schema, compile_validator


class Declaration(WaitingKind):
    """Asks a person, and waits for the answer."""

    kind = "human_input"
    configuration = HumanInput
    summary = "asks a person, and waits for the answer"
    gives = "the answer"
    no_idempotency = "ask in a workflow of its own, and call that with workflow_call and this idempotency"
    errors = ("HUMAN_INPUT_DEADLINE",)
    schema_fields = ("schema",)

    def check(self, implementation: HumanInput, path: Path, findings: Findings) -> None:
        """Note a default answer that does not fit, or that no deadline ever needs."""
        check_template(implementation.prompt, (*path, "prompt"), findings)
        if implementation.on_deadline != "fail" and implementation.deadline_ms is None:
            message = "on_deadline needs a deadline, and deadline_ms is missing"
            findings.error("no_deadline", (*path, "on_deadline"), message, "add deadline_ms")
        if isinstance(implementation.on_deadline, DefaultAnswer):
            for fault in compile_validator(implementation.schema_).faults(implementation.on_deadline.default):
                where = (*path, "on_deadline", "default", *fault.path)
                message = f"the default answer does not fit the schema: {fault.message}"
                findings.error("default_misfit", where, message, "correct it")

    def output_schema(self, implementation: HumanInput | None, named: Named) -> Schema:
        """Give the schema of the answer."""
        return implementation.schema_ if implementation is not None else ANYTHING

    def templates(self, implementation: HumanInput) -> Iterator[tuple[Path, str | None]]:
        """Give the question."""
        yield ("prompt",), implementation.prompt
