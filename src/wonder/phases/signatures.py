"""What each kind of step takes and gives, from what is known of its tool or transform."""

from dataclasses import dataclass
from functools import lru_cache

from wonder.language.schemas import Schema, describe, disjoint, schema_faults
from wonder.language.values import encode_json, parse_json
from wonder.phases.errors import PhaseError
from wonder.phases.known import Known, ToolName, ToolSchemas, TransformTypes, TypeFault, Unchecked
from wonder.phases.records import PhaseStep
from wonder.phases.sources import ANYTHING
from wonder.phases.structure import kinds_of

_NOTHING: Schema = {"type": "object", "properties": {}, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Signature:
    """What one execution of a step takes and gives.

    `gives` is None where nothing is known of it; `unknown` then says what to do, unless an error has said so already.
    """

    takes: Schema
    gives: Schema | None
    taker: str = "The step"
    unknown: str | None = None
    errors: tuple[PhaseError, ...] = ()
    """What is wrong with the step's own fields; the caller knows which step it is."""


def signature_of(step: PhaseStep, known: Known) -> Signature:
    """Say what a step takes and gives; one that is no step at all takes and gives anything."""
    match kinds_of(step):
        case ["tool"]:
            signature = _tool(step, known)
        case ["transform"]:
            signature = _transform(step, known)
        case ["sleep"]:
            return Signature(ANYTHING, _NOTHING, "A sleep")
        case _:
            return Signature(ANYTHING, None)
    return signature if step.output_schema is None else _declared(step.output_schema, signature)


def _tool(step: PhaseStep, known: Known) -> Signature:
    assert step.tool
    name = ToolName(step.tool.connection_id, step.tool.tool_name)
    schemas = known.tools.get(name, "its schemas are not known")
    taker = f"The tool '{name.tool_name}'"
    if isinstance(schemas, Unchecked):
        return Signature(ANYTHING, None, taker)
    if not isinstance(schemas, ToolSchemas):
        message = f"Nothing is known of the tool '{name.tool_name}' of '{name.connection_id}': {schemas}"
        error = PhaseError("missing_schema", "", "tool", message=message, path=("tool",))
        return Signature(ANYTHING, None, taker, errors=(error,))
    # A tool whose schemas are none of JSON Schema's works all the same, and checks its input itself.
    takes = ANYTHING if _fault(schemas.input) else schemas.input
    why = "has no output schema"
    if schemas.output is not None:
        if (fault := _fault(schemas.output)) is None:
            return Signature(takes, schemas.output, taker)
        why = f"has an output schema that can't be used ({fault})"
    unknown = (
        f"{taker} of '{name.connection_id}' {why}, so nothing is known of what '{step.name}' gives; "
        f"give step '{step.name}' an outputSchema"
    )
    return Signature(takes, None, taker, unknown)


def _fault(schema: Schema) -> str | None:
    """Say what is wrong with the schema of a tool, once for each: it takes longer than all the rest of the check."""
    return _first_fault(encode_json(schema))


@lru_cache(maxsize=256)
def _first_fault(written: str) -> str | None:
    faults = schema_faults(parse_json(written))
    return faults[0].message if faults else None


def _transform(step: PhaseStep, known: Known) -> Signature:
    assert step.transform is not None
    types = known.transforms.get(step.transform, ())
    if isinstance(types, TransformTypes):
        return Signature(types.input, types.output, "The transform")
    errors = tuple(
        PhaseError(
            "invalid_typescript",
            "",
            "transform",
            message=fault.message,
            line=fault.line if _has_place(fault) else None,
            column=fault.column if _has_place(fault) else None,
            path=("transform",),
        )
        for fault in types
    )
    return Signature(ANYTHING, None, "The transform", errors=errors)


def _has_place(fault: TypeFault) -> bool:
    """Say whether a fault is at its place: what is missing is nowhere, and is told at the beginning."""
    return fault.line > 0 and not fault.message.startswith("Missing required")


def _declared(schema: Schema, signature: Signature) -> Signature:
    """Take what the author says of the output, which is checked at run time, in the place of what is known of it."""
    errors = [
        PhaseError(
            "missing_schema",
            "",
            "outputSchema",
            message=f"{fault.message}; {fault.hint}",
            path=("outputSchema", *fault.path),
        )
        for fault in schema_faults(schema)
    ]
    if errors:
        return Signature(signature.takes, None, signature.taker, errors=(*signature.errors, *errors))
    if signature.gives is not None and (refusal := disjoint(signature.gives, schema)):
        message = (
            f"Expected {describe(signature.gives)}, as {signature.taker.lower()} gives, but got {describe(schema)}"
        )
        errors = [
            PhaseError(
                "type_mismatch",
                "",
                "outputSchema",
                None,
                refusal.actual,
                refusal.expected,
                message,
                path=("outputSchema",),
            )
        ]
    return Signature(signature.takes, schema, signature.taker, errors=(*signature.errors, *errors))
