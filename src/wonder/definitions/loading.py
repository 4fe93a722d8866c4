"""From a text to a checked bundle: read it, check it, and say all that is wrong with it at once."""

from dataclasses import dataclass

from wonder.definitions.catalog import Catalog
from wonder.definitions.checks.bundles import check_bundle
from wonder.definitions.checks.lookup import references_outside
from wonder.definitions.drafts import Bundle
from wonder.definitions.faults import DefinitionRefused, Fault, has_errors, place_faults
from wonder.definitions.file_form.reading import Reading, read_bundle
from wonder.definitions.references import Reference
from wonder.definitions.source import VALUES_MAX, SourceDocument, SourceFaults, read_source
from wonder.language.values import JsonValue, check_value


@dataclass
class Loaded:
    """A definition that was read and is not checked yet."""

    reading: Reading
    document: SourceDocument | None

    @property
    def references(self) -> list[Reference]:
        """What it names and does not hold itself: the catalog should have that."""
        return references_outside(self.reading)

    def check(self, catalog: Catalog) -> list[Fault]:
        """Give all faults, errors and warnings, in the order of the text."""
        faults = self.reading.faults + check_bundle(self.reading, catalog)
        return place_faults(faults, self.document) if self.document else faults

    def bundle(self, catalog: Catalog) -> tuple[Bundle, list[Fault]]:
        """Give the checked bundle with its warnings, or raise DefinitionRefused with all its faults."""
        faults = self.check(catalog)
        if has_errors(faults):
            raise DefinitionRefused(faults)
        return self.reading.bundle, faults


def load_text(text: str | bytes, file: str) -> Loaded:
    """Read a definition file; raises DefinitionRefused if it is no YAML or JSON at all."""
    try:
        document = read_source(text, file)
    except SourceFaults as error:
        faults = [Fault(f.code.lower(), (), f.message, f.hint, place=f.place) for f in error.faults]
        raise DefinitionRefused(faults) from None
    return Loaded(read_bundle(document.value), document)


def load_value(value: JsonValue) -> Loaded:
    """Read a definition that is a value already; its faults have paths, but no lines."""
    if _count(check_value(value)) > VALUES_MAX:
        fault = Fault("too_large", (), f"more than {VALUES_MAX:,} values", "split the definition into several")
        raise DefinitionRefused([fault])
    return Loaded(read_bundle(value), None)


def _count(value: JsonValue) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_count, value.values()))
    return 1 + sum(map(_count, value)) if isinstance(value, list) else 1
