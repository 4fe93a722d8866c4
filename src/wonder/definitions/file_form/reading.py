"""Reads a document in the file form into a bundle of drafts, with all faults of its shape at once."""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError

from wonder.definitions.drafts import Bundle
from wonder.definitions.faults import FAULTS_MAX, Fault, Path, too_many_faults
from wonder.definitions.file_form.expansion import Expansion
from wonder.definitions.file_form.models import BundleFile, PlainFile
from wonder.definitions.file_form.pruning import Pruning
from wonder.definitions.file_form.record_faults import record_faults
from wonder.definitions.file_form.wording import show
from wonder.definitions.records.fields import Record
from wonder.language.values import JsonValue

R = TypeVar("R", bound=Record)

# Each round cuts out what the round before found; what is nested in parts that are wrong takes one round a level.
_ROUNDS = 12
# Faults of lacking something, which are no errors where we have cut it out ourselves.
_LACKS = frozenset({"too_short", "task_or_action", "no_limit", "cron_or_interval"})


class Reading(Struct):
    """What could be read of a document, and what was wrong with its shape."""

    bundle: Bundle
    faults: list[Fault]
    pruning: Pruning | None

    def original(self, fault: Fault) -> Fault:
        """Give a fault, found in what was left of the document, the path that it has in the document itself."""
        return replace(fault, path=self.pruning.original(fault.path)) if self.pruning else fault

    def is_whole(self, path: Path) -> bool:
        """Say whether nothing was cut out at or below a path."""
        return not self.pruning or not any(cut[: len(path)] == path for cut in self.pruning.cuts)

    def was_cut(self, path: Path) -> bool:
        """Say whether what stands at a path was cut out, by itself or with all around it."""
        return self.pruning is not None and self.pruning.is_consequence(path)


def read_bundle(document: JsonValue, left_out: Collection[Path] = ()) -> Reading:
    """Read a bundle, around whatever is wrong in it and what was left out of it already."""
    if not isinstance(document, dict):
        message = f"a definition file must contain an object, found {show(document)}"
        return _nothing(Fault("wrong_type", (), message, "start with 'workflow:'"))
    if not document and not left_out:
        return _nothing(Fault("empty", (), "the file defines nothing", "start with 'workflow:'"))
    read, faults, pruning = _read_plain(document) or read_around_faults(BundleFile, document)
    expansion = Expansion()
    bundle = expansion.bundle(read or BundleFile())
    if left_out:
        pruning = pruning or Pruning(document)
        pruning.cuts.update(left_out)
    reading = Reading(bundle, faults, pruning)
    for fault in map(reading.original, expansion.faults[:FAULTS_MAX]):
        if not (pruning and pruning.is_consequence(fault.path)):
            faults.append(fault)
    return reading


def _read_plain(document: dict[str, JsonValue]) -> tuple[BundleFile, list[Fault], None] | None:
    """Read a file that has only workflows, tasks and actions; None if it has more, or something is wrong in it."""
    if not document.keys() <= PlainFile.model_fields.keys():
        return None
    try:
        plain = PlainFile.model_validate(document)
    except ValidationError:
        return None
    # Not validated once more, so that the whole of a bundle's record need not be built.
    return BundleFile.model_construct(plain.model_fields_set, **dict(plain)), [], None


def read_around_faults(model: type[R], document: dict[str, JsonValue]) -> tuple[R | None, list[Fault], Pruning | None]:
    """Read a record around what is wrong in it, which is told; None if nothing of it can be read."""
    try:
        return model.model_validate(document), [], None
    except ValidationError as error:
        found = _shape_faults(error, model, document)
    faults, pruning = list(found), Pruning(document)
    for _ in range(_ROUNDS):
        if len(found) > FAULTS_MAX:
            break
        pruning.cut(found)
        try:
            return model.model_validate(pruning.document), faults, pruning
        except ValidationError as error:
            found = _shape_faults(error, model, pruning.document)
        faults.extend(_new_faults(found, pruning))
    pruning.cut([Fault("unreadable", (), "")])
    return None, faults, pruning


def _shape_faults(error: ValidationError, model: type[Record], document: JsonValue) -> list[Fault]:
    found = list(islice(record_faults(error, model, document, ()), FAULTS_MAX))
    return [*found, too_many_faults()] if error.error_count() > FAULTS_MAX else found


def _new_faults(found: list[Fault], pruning: Pruning) -> Iterator[Fault]:
    for fault in found:
        path = pruning.original(fault.path)
        if not pruning.is_consequence(path) and not (fault.code in _LACKS and pruning.emptied(path)):
            yield replace(fault, path=path)


def _nothing(fault: Fault) -> Reading:
    return Reading(Bundle(), [fault], None)
