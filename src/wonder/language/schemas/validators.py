"""Validators: a schema compiled once, then values checked against it in microseconds."""

import jsonschema_rs

from wonder.language.schemas.bounds import schema_faults
from wonder.language.schemas.compiled import compile_checked
from wonder.language.schemas.explain import FAULTS, explain
from wonder.language.schemas.faults import BadSchema, ValueFault, show_value
from wonder.language.schemas.positions import Schema
from wonder.language.schemas.references import References
from wonder.language.schemas.work import Work, work_of
from wonder.language.values import JsonValue, check_value


class Validator:
    """A compiled schema; make one with `compile_validator`."""

    __slots__ = ("_compiled", "_references", "_work", "schema")

    def __init__(self, schema: Schema, compiled: jsonschema_rs.Validator) -> None:
        self.schema = schema
        self._compiled = compiled
        self._references = References(schema)
        work = work_of(self._references)
        # None for most schemas: there is nothing to ask then.
        self._work: Work | None = None if work.is_little else work

    def is_valid(self, value: object) -> bool:
        """Say whether a value fits the schema; what would take too long to find out does not."""
        if self._work is not None and self._work.is_too_much(value):
            return False
        try:
            return self._compiled.is_valid(value)
        except ValueError:
            check_value(value)  # It is not JSON: say where.
            raise

    def faults(self, value: JsonValue) -> list[ValueFault]:
        """Say where and why a value does not fit, at most 50 times; empty when it fits."""
        if self._work is not None and self._work.is_too_much(value):
            message = (
                "is too much to be held against this schema, which has many alternatives or long patterns for each "
                f"part of it, found {show_value(value)}; write the schema simpler (one enum of texts for many const), "
                "or give less at a time"
            )
            return [ValueFault((), message, "schema")]
        if self.is_valid(value):
            return []
        found = explain(self._references, self.schema, value, faults_max=FAULTS)
        return found or [ValueFault((), f"does not fit its schema, found {show_value(value)}", "schema")]


def compile_validator(schema: Schema) -> Validator:
    """Compile a schema, or raise BadSchema with all that is wrong with it.

    Read as JSON Schema 2020-12. `format` describes and refuses nothing, as that draft has it. Nothing is fetched.
    """
    faults = schema_faults(schema)
    if faults:
        raise BadSchema(faults)
    return Validator(schema, compile_checked(schema))
