"""What the operators contains, in, starts_with and ends_with of structured conditions compute (EXP-5)."""

from wonder.language.expressions.errors import EvaluationError
from wonder.language.expressions.json_functions import sql_value
from wonder.language.expressions.sql_values import Document, SqlValue, compare, text_of
from wonder.language.steps import spend


def contains(whole: SqlValue, part: SqlValue) -> int | None:
    """Tell whether a list has an element, or else a text a part; case matters."""
    if type(whole) is Document and type(whole.node) is list:
        return is_element(part, whole)
    if whole is None or part is None:
        return None
    return int(text_of(part) in text_of(whole))


def is_element(value: SqlValue, elements: SqlValue) -> int | None:
    """Tell what `value IN (element, ...)` says for the elements of a list."""
    if elements is None:
        return None
    if type(elements) is not Document or type(elements.node) is not list:
        raise EvaluationError(f"the operator in needs a list, not {text_of(elements)[:100]!r}")
    spend(len(elements.node))
    unknown = value is None and bool(elements.node)
    for node in elements.node:
        element = sql_value(node, elements.native)
        if element is None:
            unknown = True
        elif value is not None and compare(value, element, None) == 0:
            return 1
    return None if unknown else 0


def starts_with(text: SqlValue, beginning: SqlValue) -> int | None:
    """Tell whether a text begins with another; case matters."""
    if text is None or beginning is None:
        return None
    return int(text_of(text).startswith(text_of(beginning)))


def ends_with(text: SqlValue, ending: SqlValue) -> int | None:
    """Tell whether a text ends with another; case matters."""
    if text is None or ending is None:
        return None
    return int(text_of(text).endswith(text_of(ending)))
