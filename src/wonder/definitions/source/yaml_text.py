"""YAML 1.2 text to a value with places: no tags, no merge keys, aliases bounded, keys unique and texts."""

from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from wonder.definitions.source.document import VALUES_MAX, Marks, MarksInside, SourceDocument, SourceText
from wonder.definitions.source.faults import FaultList, SourceFaults, Unreadable
from wonder.definitions.source.scalars import resolve_scalar
from wonder.definitions.source.yaml_events import YamlEvents, offset_of
from wonder.language.values import MAX_DEPTH, BadValue, JsonValue

# What aliases may add to a document, in characters and values: enough for sharing, too little for a bomb.
_ALIASED_MAX = 1_000_000


def read_yaml(source: SourceText) -> SourceDocument:
    """Read YAML text; a mistake of syntax ends the reading, all other faults are collected."""
    faults = FaultList(source)
    try:
        value, marks = _Builder(source, faults).document()
    except Unreadable:
        raise SourceFaults(faults.found) from None
    faults.raise_if_any()
    return SourceDocument(value, source, marks)


class _Builder:
    """Takes the parser's events one by one and builds the value that they tell of."""

    def __init__(self, source: SourceText, faults: FaultList) -> None:
        self.faults = faults
        self.events = YamlEvents(source, faults)
        # What each anchor stands for; None while its collection is still being read.
        self.anchors: dict[str, tuple[JsonValue, MarksInside] | None] = {}
        self.aliased = 0
        self.values = 0

    def document(self) -> tuple[JsonValue, Marks]:
        self.events.next()  # the stream's start
        if isinstance(self.events.next(), StreamEndEvent):
            raise self.empty()
        event = self.events.next()
        if isinstance(event, ScalarEvent) and event.value == event.style == "" and not (event.tag or event.anchor):
            raise self.empty()
        value, inside = self.node(event, MAX_DEPTH)
        self.events.next()  # the document's end
        behind = self.events.next()
        if isinstance(behind, DocumentStartEvent):
            raise self.stop("YAML_DOCUMENTS", behind, "a second document begins here", "put each in a file of its own")
        return value, (offset_of(event), inside)

    def node(self, event: Event, depth_left: int) -> tuple[JsonValue, MarksInside]:
        self.count(event)
        if isinstance(event, AliasEvent):
            return self.alias(event, depth_left)
        assert isinstance(event, ScalarEvent | SequenceStartEvent | MappingStartEvent)
        if event.tag is not None:
            hint = "remove it; put the value in quotes to make it a string"
            self.note("YAML_TAG", event, f"the tag {event.tag} is not allowed", hint)
        if isinstance(event, ScalarEvent):
            read: tuple[JsonValue, MarksInside] = self.scalar(event), None
        else:
            if not depth_left:
                raise self.stop("TOO_DEEP", event, f"nested deeper than {MAX_DEPTH} levels", "flatten the document")
            if event.anchor is not None:
                self.anchors[event.anchor] = None
            if isinstance(event, SequenceStartEvent):
                read = self.sequence(depth_left - 1)
            else:
                read = self.mapping(depth_left - 1)
        if event.anchor is not None:
            self.anchors[event.anchor] = read
        return read

    def sequence(self, depth_left: int) -> tuple[JsonValue, MarksInside]:
        elements: list[JsonValue] = []
        marks: list[Marks] = []
        while not isinstance(event := self.events.next(), SequenceEndEvent):
            value, inside = self.node(event, depth_left)
            elements.append(value)
            marks.append((offset_of(event), inside))
        return elements, marks

    def mapping(self, depth_left: int) -> tuple[JsonValue, MarksInside]:
        members: dict[str, JsonValue] = {}
        marks: dict[str, Marks] = {}
        while not isinstance(event := self.events.next(), MappingEndEvent):
            key = self.key(event, depth_left)
            value, inside = self.node(self.events.next(), depth_left)
            if key is None:
                continue
            if key in members:
                self.faults.note_duplicate(key, offset_of(event), marks[key][0])
            else:
                members[key], marks[key] = value, (offset_of(event), inside)
        return members, marks

    def key(self, event: Event, depth_left: int) -> str | None:
        """Read a key; None stands for one that is not allowed and was noted."""
        if isinstance(event, ScalarEvent) and event.style == "" and event.value == "<<":
            self.note("YAML_MERGE", event, "merge keys (<<) are not part of YAML 1.2", "write the fields out")
        faults = len(self.faults.found)
        key, _ = self.node(event, depth_left)
        if isinstance(key, str):
            return key
        if len(self.faults.found) == faults:
            if isinstance(key, list | dict):
                hint = "quote a string that begins with { or ["
                self.note("YAML_KEY", event, f"a {'list' if isinstance(key, list) else 'mapping'} can't be a key", hint)
            else:
                word = event.value if isinstance(event, ScalarEvent) else str(key)
                self.note("YAML_KEY", event, f"the key {word or 'null'} is not a string", f'quote it: "{word}"')
        return None

    def scalar(self, event: ScalarEvent) -> JsonValue:
        text = self.events.restored(event.value)
        if event.style:
            if "\x00" in text:
                message = "the string contains the character U+0000, which can't be stored"
                self.note("BAD_VALUE", event, message, "remove it")
            return text
        try:
            return resolve_scalar(text)
        except BadValue as refusal:
            self.note("BAD_VALUE", event, refusal.reason, "use null or a string in quotes")
            return None

    def alias(self, event: AliasEvent, depth_left: int) -> tuple[JsonValue, MarksInside]:
        name = event.anchor
        assert name is not None, "an alias names its anchor"
        if name not in self.anchors:
            hint = f"write &{name} before the value that it means, or quote a string that begins with *"
            raise self.stop("YAML_ALIASES", event, f"the alias *{name} has no anchor before it", hint)
        anchored = self.anchors[name]
        if anchored is None:
            raise self.stop("YAML_ALIASES", event, f"the alias *{name} stands inside what it means", "remove the cycle")
        value, inside = anchored
        return self.copied(value, event, depth_left), inside

    def copied(self, value: JsonValue, event: AliasEvent, depth_left: int) -> JsonValue:
        """Return a copy of an anchored value, so that nothing is shared, within what aliases may add."""
        self.aliased += 1 + (len(value) if isinstance(value, str) else 0)
        if self.aliased > _ALIASED_MAX:
            message = f"aliases make the document longer by more than {_ALIASED_MAX:,} values and characters"
            raise self.stop("YAML_ALIASES", event, message, "use fewer aliases")
        self.values += 1
        if self.values > VALUES_MAX:
            message = f"with its aliases written out, the document has more than {VALUES_MAX:,} values"
            raise self.stop("YAML_ALIASES", event, message, "use fewer aliases")
        if not isinstance(value, list | dict):
            return value
        if not depth_left:
            raise self.stop("TOO_DEEP", event, f"nested deeper than {MAX_DEPTH} levels", "flatten the document")
        if isinstance(value, list):
            return [self.copied(element, event, depth_left - 1) for element in value]
        self.aliased += sum(map(len, value))
        return {key: self.copied(element, event, depth_left - 1) for key, element in value.items()}

    def count(self, event: Event) -> None:
        self.values += 1
        if self.values > VALUES_MAX:
            raise self.faults.stop_at_too_many(offset_of(event))

    def note(self, code: str, event: Event, message: str, hint: str) -> None:
        self.faults.note(code, offset_of(event), message, hint)

    def stop(self, code: str, event: Event, message: str, hint: str) -> Unreadable:
        return self.faults.stop(code, offset_of(event), message, hint)

    def empty(self) -> Unreadable:
        return self.faults.stop("EMPTY", 0, "the file contains no value", "write a definition in it")
