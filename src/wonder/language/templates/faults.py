"""What can be wrong with a template: its text, or the work that it asks for."""

from wonder.errors import WonderError


class TemplateSyntax(WonderError):
    """A text is not a template; `position` is the offset of what is wrong, `line` and `column` count from 1."""

    code = "TEMPLATE_SYNTAX"

    def __init__(self, text: str, position: int, reason: str, hint: str) -> None:
        before = text[:position]
        self.line = before.count("\n") + 1
        self.column = position - (before.rfind("\n") + 1) + 1
        super().__init__(f"the template is wrong at line {self.line}, column {self.column}: {reason}; {hint}")
        self.text, self.position, self.reason, self.hint = text, position, reason, hint


class TemplateVariableMissing(WonderError):
    """A template that must write all of its variables was given none for one of them; `name` as it is written."""

    code = "TEMPLATE_VARIABLE_MISSING"

    def __init__(self, text: str, name: str, found: str) -> None:
        super().__init__(f"{{{{{name}}}}} of {text[:200]!r} is {found}")
        self.text, self.name, self.found = text, name, found


class TemplateTooLarge(WonderError):
    """A template writes more, or repeats more often, than one rendering may."""

    code = "TEMPLATE_TOO_LARGE"

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"the template gives more than {limit:,} {what}; give it less to write, or raise the limit")
        self.what, self.limit = what, limit
