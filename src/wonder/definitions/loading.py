"""From a text to a checked bundle: read it, check it, and say all that is wrong with it at once."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from wonder.definitions.catalog import Catalog
from wonder.definitions.checks.bundles import check_bundle
from wonder.definitions.checks.lookup import references_outside
from wonder.definitions.drafts import Bundle, CompiledPhases
from wonder.definitions.faults import DefinitionRefused, Fault, Path, has_errors, place_faults, say_inside
from wonder.definitions.file_form.phase_form import PhaseDocument, find_phase_forms
from wonder.definitions.file_form.reading import Reading, read_bundle
from wonder.definitions.references import Reference
from wonder.definitions.source import VALUES_MAX, SourceDocument, SourceFaults, read_source
from wonder.language.values import JsonValue, check_value, encode_json


class Loaded(Struct):
    """A definition that was read and is not checked yet."""

    reading: Reading
    document: SourceDocument | None
    written: bytes = b""
    """The text that it was read from."""
    phases: PhaseDocument | None = None
    """Its workflows in the phase form, if it has any."""
    is_compiled: bool = True
    """Whether these have become graphs; what has not can't be stored."""

    @property
    def is_phase_form(self) -> bool:
        """Whether it is one workflow in the phase form, and not a bundle that holds some."""
        return self.phases is not None and self.phases.forms[0].path == ()

    @property
    def needs_compiling(self) -> bool:
        """Whether it holds TypeScript, or workflows that are not graphs yet."""
        return not self.is_compiled or any(True for _ in self.reading.bundle.transforms())

    @property
    def references(self) -> list[Reference]:
        """What it names and does not hold itself: the catalog should have that."""
        return references_outside(self.reading)

    def check(self, catalog: Catalog) -> list[Fault]:
        """Give all faults, errors and warnings, in the order of the text."""
        found = check_bundle(self.reading, catalog)
        if self.phases:
            found = [replace(fault, path=self.phases.source_path(fault.path)) for fault in found]
            if not self.is_compiled:
                message = "a workflow in the phase form is compiled before it is checked, and this one was not"
                found.append(Fault("phase_form", self.phases.forms[0].path, message, "deploy it with an App"))
        faults = self.reading.faults + found
        return place_faults(faults, self.document) if self.document else [say_inside(fault) for fault in faults]

    def bundle(self, catalog: Catalog) -> tuple[Bundle, list[Fault]]:
        """Give the checked bundle with its warnings, or raise DefinitionRefused with all its faults."""
        faults = self.check(catalog)
        if has_errors(faults):
            raise DefinitionRefused(faults)
        return self.reading.bundle, faults

    def compiled(self, compiled: Mapping[Path, CompiledPhases], faults: Sequence[Fault]) -> "Loaded":
        """Give the definition with graphs in the places of its phase forms, and what was wrong with those without."""
        assert self.phases
        document = self.phases.bundle({path: one.graph for path, one in compiled.items()})
        left_out: set[Path] = {
            ("workflows", form.name or "") for form in self.phases.forms if form.path not in compiled
        }
        reading = read_bundle(document, left_out)
        shape = [replace(fault, path=self.phases.source_path(fault.path)) for fault in reading.faults]
        reading.faults = [*shape, *faults]
        for form in self.phases.forms:
            if form.name and form.path in compiled:
                reading.bundle.phases[form.name] = compiled[form.path].kept
        return Loaded(reading, self.document, self.written, self.phases)


def load_text(text: str | bytes, file: str) -> Loaded:
    """Read a definition file; raises DefinitionRefused if it is no YAML or JSON at all."""
    try:
        document = read_source(text, file)
    except SourceFaults as error:
        faults = [Fault(f.code.lower(), (), f.message, f.hint, place=f.place) for f in error.faults]
        raise DefinitionRefused(faults) from None
    return _loaded(document.value, document, text if isinstance(text, bytes) else text.encode())


def load_value(value: JsonValue) -> Loaded:
    """Read a definition that is a value already; its faults have paths, but no lines."""
    if _count(check_value(value)) > VALUES_MAX:
        fault = Fault("too_large", (), f"more than {VALUES_MAX:,} values", "split the definition into several")
        raise DefinitionRefused([fault])
    return _loaded(value, None, b"")


def _loaded(value: JsonValue, document: SourceDocument | None, written: bytes) -> Loaded:
    phases = find_phase_forms(value)
    if phases is None:
        return Loaded(read_bundle(value), document, written)
    left_out: set[Path] = {("workflows", form.name or "") for form in phases.forms}
    reading = read_bundle(phases.bundle({}), left_out)
    reading.faults = [replace(fault, path=phases.source_path(fault.path)) for fault in reading.faults]
    return Loaded(reading, document, written or encode_json(value).encode(), phases, is_compiled=False)


def _count(value: JsonValue) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_count, value.values()))
    return 1 + sum(map(_count, value)) if isinstance(value, list) else 1
