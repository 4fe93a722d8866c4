"""Changing the context: a draft becomes decisions if it fits, and a failure if it does not."""

from wonder.engine.context_size import count_writes
from wonder.engine.decisions import WriteBranchOutput, WriteContext
from wonder.engine.events import CONTEXT_UPDATED, ContextUpdated
from wonder.engine.failure import Failure, misfit
from wonder.engine.limits import evaluation_failure, over_limit
from wonder.engine.state import Scope, Token
from wonder.engine.turn import Turn
from wonder.engine.writing import Draft, TooMuchWritten, Writes
from wonder.errors import WonderError
from wonder.language.values import JsonValue


def draft_for(turn: Turn, scope: Scope) -> Draft:
    """Begin changes as seen from a scope."""
    run, in_branch = turn.run, scope.group is not None
    most = run.limits.context_bytes
    return Draft(run.state, run.output, scope.output, scope.replaced, in_branch=in_branch, most=most)


def write_output(turn: Turn, scope: Scope, writes: Writes, output: JsonValue, token: Token | None) -> Failure | None:
    """Carry out an output mapping, all of it or nothing."""
    draft = draft_for(turn, scope)
    try:
        for target, value in writes.values(output):
            draft.write(target, value)
    except WonderError as error:
        return write_failure(error)
    return apply_draft(turn, scope, draft, token)


def write_failure(error: WonderError) -> Failure:
    """Turn what was raised while a node wrote into its failure, or into that of the run's limit."""
    if isinstance(error, TooMuchWritten):
        return over_limit("context_bytes", error.size, error.most)
    return evaluation_failure(error)


def apply_draft(turn: Turn, scope: Scope, draft: Draft, token: Token | None) -> Failure | None:
    """Make the changes of a draft, or give the reason why they can't be (CTX-5b)."""
    run, to_run, to_branch = turn.run, draft.to_run, draft.to_branch
    if to_run:
        state = draft.roots.get("state", run.state)
        faults = run.workflow.state_check.faults(state, to_run) if scope.group is None else None
        if faults:
            return misfit("CONTEXT_SCHEMA", "what was written to state", faults)
        turn.emit(WriteContext(to_run, state, draft.roots["output"]))
        turn.record(CONTEXT_UPDATED({"changes": to_run}), token)
    if to_branch:
        assert scope.group is not None
        group_id, index = scope.group.id, scope.index
        told: ContextUpdated = {"group": group_id, "branch": index, "changes": to_branch}
        if draft.replaced != scope.replaced:
            told["replaced"] = draft.replaced
        turn.emit(WriteBranchOutput(group_id, index, to_branch, draft.roots["branch"], draft.replaced))
        turn.record(CONTEXT_UPDATED(told), token)
    return count_writes(turn, draft) if draft.size else None
