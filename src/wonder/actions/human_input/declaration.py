"""The declaration of `human_input`."""

from collections.abc import Iterator

from wonder.actions.human_input.checks import check_question
from wonder.actions.human_input.record import HumanInput
from wonder.actions.waiting_kind import WaitingKind
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import ANYTHING, TEXT, WHOLE_NUMBER, Named
from wonder.language.schemas import Schema
from wonder.language.schemas.composing import list_schema, object_schema


class Declaration(WaitingKind):
    """Asks a person or several, and waits for the answer."""

    kind = "human_input"
    configuration = HumanInput
    summary = "asks a person or several, and waits for the answer"
    gives = "the answer; with a quorum {agreed, decided_by, answers: [{by, answer, at_ms}]}"
    no_idempotency = "ask in a workflow of its own, and call that with workflow_call and this idempotency"
    errors = ("HUMAN_INPUT_DEADLINE", "HUMAN_INPUT_DISAGREEMENT")
    schema_fields = ("schema",)

    def check(self, implementation: HumanInput, path: Path, findings: Findings) -> None:
        """Note what is wrong with the question."""
        check_question(implementation, path, findings)

    def output_schema(self, implementation: HumanInput | None, named: Named) -> Schema:
        """Give the schema of the answer, or of what approvers have answered."""
        if implementation is None:
            return ANYTHING
        answer: Schema = implementation.schema_
        if implementation.quorum is None:
            return answer
        given = object_schema({"by": TEXT, "answer": answer, "at_ms": WHOLE_NUMBER}, ("by", "answer", "at_ms"))
        decided_by: Schema = {"enum": ["agreement", "majority", "disagreement", "deadline"]}
        members = {"agreed": answer, "decided_by": decided_by, "answers": list_schema(given)}
        return object_schema(members, members)

    def templates(self, implementation: HumanInput) -> Iterator[tuple[Path, str | None]]:
        """Give the question, and whose it is."""
        yield ("prompt",), implementation.prompt
        yield ("assignee",), implementation.assignee

    def context_paths(self, implementation: HumanInput) -> Iterator[tuple[Path, str]]:
        """Give what is shown beside the question."""
        for name, text in implementation.evidence.items():
            yield ("evidence", name), text
