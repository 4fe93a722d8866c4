"""`read_file`: the content of a file in the project's `files_root` (ACT-10)."""

from base64 import b64encode

from wonder.actions.equipment import Equipment
from wonder.actions.files.project_files import files_root, read_bytes
from wonder.actions.protocol import ActionContext, ActionFailed, ActionKind, Use
from wonder.actions.read_file.declaration import Declaration
from wonder.actions.read_file.record import ReadFile
from wonder.actions.resources import Resources
from wonder.actions.secrets.template_names import names_of
from wonder.actions.threads import Threads
from wonder.definitions.records.actions import ActionDef
from wonder.language.templates import compile_template
from wonder.language.values import JsonValue


class ReadFileKind(Declaration, ActionKind):
    """Reads in a thread."""

    def __init__(self, resources: Resources, threads: Threads) -> None:
        self._resources, self._threads = resources, threads

    @classmethod
    def made_with(cls, equipment: Equipment) -> "ReadFileKind":
        """Make the kind with what it needs of a process."""
        return cls(equipment.resources, equipment.threads)

    def compile(self, action: ActionDef, use: Use) -> "FileReading":
        """Compile the template of the path."""
        return FileReading(self.read(action), self._resources, self._threads)


class FileReading:
    """A file to read; its path is a template over the input."""

    __slots__ = ("_is_text", "_path", "_resources", "_threads")

    def __init__(self, configured: ReadFile, resources: Resources, threads: Threads) -> None:
        self._path = compile_template(configured.path)
        self._is_text = configured.encoding == "utf-8"
        self._resources, self._threads = resources, threads

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Give the content and its size."""
        path = self._path.render(names_of(input))
        root = files_root(await self._resources.tenancy(context.origin.project_id))
        context.hold()
        content: bytes = await self._threads.call(lambda: read_bytes(root, path), context.begin)
        text = _text(content, path) if self._is_text else b64encode(content).decode()
        return {"content": text, "size_bytes": len(content)}


def _text(content: bytes, path: str) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _no_text(path, f"is not UTF-8 at byte {error.start}") from error
    if "\0" in text:
        raise _no_text(path, "holds the character U+0000, which no text of a workflow can")
    return text


def _no_text(path: str, reason: str) -> ActionFailed:
    message = f"the file {path!r} {reason}; read it with 'encoding: base64'"
    return ActionFailed("NOT_UTF_8", message, details={"path": path})
