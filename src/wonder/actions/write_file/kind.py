"""`write_file`: a file in the project's `files_root`, written whole or not at all (ACT-10)."""

from hashlib import sha256
from typing import Final

from wonder.actions.equipment import Equipment
from wonder.actions.files.project_files import BYTES_MAX, files_root, write_bytes
from wonder.actions.protocol import ActionContext, ActionKind, Use
from wonder.actions.resources import Resources
from wonder.actions.secrets.template_names import names_of
from wonder.actions.threads import Threads
from wonder.actions.write_file.declaration import Declaration
from wonder.actions.write_file.record import WriteFile
from wonder.definitions.records.actions import ActionDef
from wonder.language.templates import compile_template
from wonder.language.values import JsonValue

_MARK_LENGTH: Final = 16


class WriteFileKind(Declaration, ActionKind):
    """Writes in a thread."""

    def __init__(self, resources: Resources, threads: Threads) -> None:
        self._resources, self._threads = resources, threads

    @classmethod
    def made_with(cls, equipment: Equipment) -> "WriteFileKind":
        """Make the kind with what it needs of a process."""
        return cls(equipment.resources, equipment.threads)

    def compile(self, action: ActionDef, use: Use) -> "FileWriting":
        """Compile the templates of the path and the content."""
        return FileWriting(self.read(action), self._resources, self._threads)


class FileWriting:
    """A file to write; its path and its content are templates over the input."""

    __slots__ = ("_content", "_path", "_resources", "_threads")

    def __init__(self, configured: WriteFile, resources: Resources, threads: Threads) -> None:
        self._path = compile_template(configured.path)
        self._content = compile_template(configured.content, output_max=BYTES_MAX)
        self._resources, self._threads = resources, threads

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Write the file, over one that may be there, and give its path and size."""
        names = names_of(input)
        path, content = self._path.render(names), self._content.render(names).encode()
        origin = context.origin
        root = files_root(await self._resources.tenancy(origin.project_id))
        place = f"{origin.run_id}/{origin.token_id}/{origin.node}/{origin.branch}/{context.step}"
        mark = sha256(place.encode()).hexdigest()[:_MARK_LENGTH]
        context.hold()
        written: str = await self._threads.call(lambda: write_bytes(root, path, content, mark), context.begin)
        return {"path": written, "size_bytes": len(content)}
