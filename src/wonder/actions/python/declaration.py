"""The declaration of `python`."""

from wonder.actions.python.record import PythonFunction
from wonder.definitions.kinds import Kind


class Declaration(Kind):
    """Calls a Python function with the input as keyword arguments."""

    kind = "python"
    configuration = PythonFunction
    summary = "calls a Python function with the input as keyword arguments"
    gives = "what the function returns"
    errors = ("BAD_ARGUMENTS", "BAD_RESULT", "FUNCTION_IMPORT_FAILED", "PYTHON_EXCEPTION", "UNKNOWN_FUNCTION")
    evaluates = False
    function_field = "function"
    at_work = "wonder.actions.python.kind:PythonKind"
