"""The declaration of `transform`."""

from wonder.actions.transform.record import Transform
from wonder.definitions.kinds import Kind


class Declaration(Kind):
    """Computes in TypeScript, without a clock, chance or anything outside."""

    kind = "transform"
    configuration = Transform
    summary = "computes in TypeScript, without a clock, chance or anything outside"
    gives = "its value"
    errors = (
        "TRANSFORMS_MISSING",
        "TRANSFORM_CRASHED",
        "TRANSFORM_INPUT",
        "TRANSFORM_MEMORY",
        "TRANSFORM_NOT_JSON",
        "TRANSFORM_NOT_STARTED",
        "TRANSFORM_THREW",
        "TRANSFORM_TIMEOUT",
    )
    pure = True
    evaluates = False
    typescript_field = "source"
    at_work = "wonder.actions.transform.kind:TransformKind"
