"""The declaration of `read_file`."""

from collections.abc import Iterator

from wonder.actions.read_file.record import ReadFile
from wonder.definitions.checks.texts import check_file_path
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import TEXT, WHOLE_NUMBER, Kind, Named, object_of
from wonder.language.schemas import Schema


class Declaration(Kind):
    """Reads a file of the project's files_root."""

    kind = "read_file"
    configuration = ReadFile
    summary = "reads a file of the project's files_root"
    gives = "{content, size_bytes}"
    errors = (
        "FILES_ROOT_MISSING",
        "FILES_ROOT_REFUSED",
        "FILE_NOT_FOUND",
        "FILE_REFUSED",
        "FILE_TOO_LARGE",
        "NOT_A_FILE",
        "NOT_UTF_8",
        "PATH_OUTSIDE",
        "PATH_PRIVATE",
    )
    at_work = "wonder.actions.read_file.kind:ReadFileKind"

    def check(self, implementation: ReadFile, path: Path, findings: Findings) -> None:
        """Note a path that can't be read or leads out."""
        check_file_path(implementation.path, (*path, "path"), findings)

    def output_schema(self, implementation: ReadFile | None, named: Named) -> Schema:
        """Give the content and its size."""
        return object_of(content=TEXT, size_bytes=WHOLE_NUMBER)

    def templates(self, implementation: ReadFile) -> Iterator[tuple[Path, str | None]]:
        """Give the path."""
        yield ("path",), implementation.path
