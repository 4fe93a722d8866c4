"""JSON Schemas: their faults, validators, defaults, the shape at a path, and whether one fits another."""

from wonder.language.schemas.assignability import Mismatch, assignable, disjoint
from wonder.language.schemas.bounds import schema_faults
from wonder.language.schemas.defaults import compile_defaults, fill_defaults
from wonder.language.schemas.describe import describe
from wonder.language.schemas.faults import BadSchema, SchemaFault, ValueFault
from wonder.language.schemas.names import closest
from wonder.language.schemas.positions import Schema
from wonder.language.schemas.shapes import Shape, shape_at
from wonder.language.schemas.validators import Validator, compile_validator

__all__ = [
    "BadSchema",
    "Mismatch",
    "Schema",
    "SchemaFault",
    "Shape",
    "Validator",
    "ValueFault",
    "assignable",
    "closest",
    "compile_defaults",
    "compile_validator",
    "describe",
    "disjoint",
    "fill_defaults",
    "schema_faults",
    "shape_at",
]
