"""Reading a definition file: bytes to text, text to a value, by JSON's rules or by those of YAML 1.2."""

import codecs

from wonder.definitions.source.document import Place, SourceDocument, SourceText
from wonder.definitions.source.faults import SourceFault, SourceFaults
from wonder.definitions.source.json_text import read_json
from wonder.language.values import MAX_BYTES

_BYTE_ORDER_MARK = "\ufeff"
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def read_source(text: str | bytes, file: str, *, max_bytes: int = MAX_BYTES) -> SourceDocument:
    """Read a file's text, as JSON if its name ends in `.json` and as YAML 1.2 otherwise.

    Text that is JSON may stand in a file of any name. Raises SourceFaults with all that is wrong.
    """
    size = len(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else len(text)
    if size > max_bytes:
        raise _refusal(
            file, "TOO_LARGE", f"the file has {size:,} bytes; the limit is {max_bytes:,}", "split it into several files"
        )
    if isinstance(text, bytes):
        text = _decode(text, file)
    source = SourceText(text.removeprefix(_BYTE_ORDER_MARK), file)
    if not source.text.strip():
        raise _refusal(file, "EMPTY", "the file is empty", "write a definition in it")
    if file.lower().endswith(".json"):
        return read_json(source)
    return _read_json_or_yaml(source)


def _read_json_or_yaml(source: SourceText) -> SourceDocument:
    # YAML says that JSON is a part of it, but its parser refuses \ud83d\ude00, long keys and a tab as indentation.
    if source.text.lstrip()[0] in "{[":
        try:
            return read_json(source)
        except SourceFaults as refusal:
            if all(fault.code != "JSON_SYNTAX" for fault in refusal.faults):
                raise
    # Imported here, because the parser behind it takes 15 ms to load and JSON and values do without it.
    from wonder.definitions.source.yaml_text import read_yaml

    return read_yaml(source)


def _decode(text: bytes, file: str) -> str:
    if text.startswith(_WIDE_MARKS):
        raise _refusal(file, "NOT_UTF8", "the file is UTF-16 or UTF-32", "save it as UTF-8")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        before = SourceText(text[: error.start].decode("utf-8").removeprefix(_BYTE_ORDER_MARK), file)
        message = f"the byte 0x{text[error.start]:02X} is not UTF-8 ({error.reason})"
        fault = SourceFault("NOT_UTF8", before.place(len(before.text)), message, "save the file as UTF-8")
        raise SourceFaults([fault]) from None


def _refusal(file: str, code: str, message: str, hint: str) -> SourceFaults:
    return SourceFaults([SourceFault(code, Place(file, 1, 1), message, hint)])
