"""What can be wrong with a path: its text, or the work that it asks for."""

from wonder.errors import WonderError


class PathSyntax(WonderError):
    """A text is not a path; `position` is the offset of the character where it stops being one."""

    code = "PATH_SYNTAX"

    def __init__(self, text: str, position: int, reason: str, hint: str) -> None:
        shown = text if len(text) <= 200 else text[:200] + "…"
        super().__init__(f"{shown!r} is not a path: {reason} at character {position + 1}; {hint}")
        self.text, self.position, self.reason, self.hint = text, position, reason, hint


class QueryTooLarge(WonderError):
    """A query visited or compared more of its document than one query may."""

    code = "QUERY_TOO_LARGE"

    def __init__(self, text: str, steps_max: int) -> None:
        super().__init__(
            f"the query {text!r} visits and compares more than {steps_max:,} values; "
            "name more of the path, and use fewer wildcards, '..' and nested filters"
        )
        self.text, self.steps_max = text, steps_max
