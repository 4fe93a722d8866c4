"""The declaration of `write_file`."""

from collections.abc import Iterator

from wonder.actions.write_file.record import WriteFile
from wonder.definitions.checks.texts import check_file_path, check_template
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import TEXT, WHOLE_NUMBER, Kind, Named, object_of
from wonder.language.schemas import Schema


class Declaration(Kind):
    """Writes a file of the project's files_root."""

    kind = "write_file"
    configuration = WriteFile
    summary = "writes a file of the project's files_root"
    gives = "{path, size_bytes}"
    errors = (
        "FILES_ROOT_MISSING",
        "FILES_ROOT_REFUSED",
        "FILE_NOT_FOUND",
        "FILE_REFUSED",
        "FILE_TOO_LARGE",
        "NOT_A_FILE",
        "PATH_OUTSIDE",
        "PATH_PRIVATE",
    )
    at_work = "wonder.actions.write_file.kind:WriteFileKind"

    def check(self, implementation: WriteFile, path: Path, findings: Findings) -> None:
        """Note a path that can't be read or leads out, and content that can't be read."""
        check_file_path(implementation.path, (*path, "path"), findings)
        check_template(implementation.content, (*path, "content"), findings)

    def output_schema(self, implementation: WriteFile | None, named: Named) -> Schema:
        """Give the path and the size."""
        return object_of(path=TEXT, size_bytes=WHOLE_NUMBER)

    def templates(self, implementation: WriteFile) -> Iterator[tuple[Path, str | None]]:
        """Give the path and the content."""
        yield ("path",), implementation.path
        yield ("content",), implementation.content
