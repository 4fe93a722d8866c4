"""Source text: a definition file read to a JSON value that knows where each of its parts stands."""

from wonder.definitions.source.document import VALUES_MAX, Place, SourceDocument
from wonder.definitions.source.faults import SourceFault, SourceFaults
from wonder.definitions.source.reading import read_source

__all__ = ["VALUES_MAX", "Place", "SourceDocument", "SourceFault", "SourceFaults", "read_source"]
