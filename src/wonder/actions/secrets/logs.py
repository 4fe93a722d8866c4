"""Redaction of logs: no record of this process shows a secret that was used (INV-8).

Records are looked at when they are made, and not by a filter of our own loggers: an HTTP library that logs the address
of a request does so by a logger of its own, and a filter is not handed down to the loggers below.
"""

import logging
import traceback
from typing import Any

from wonder.actions.logs.redacted_text import REDACTORS
from wonder.language.redaction import Redactor

# What a record has by itself; anything else was added by who logged it.
_OWN_FIELDS = frozenset(vars(logging.makeLogRecord({})))


def redact_logs(redactor: Redactor) -> None:
    """Keep what a redactor knows out of all log records from now on, for as long as it is in use."""
    REDACTORS.add(redactor)
    # Looked at each time, because somebody may have set another one meanwhile.
    made = logging.getLogRecordFactory()
    if not isinstance(made, _RedactedRecords):
        logging.setLogRecordFactory(_RedactedRecords(made))
    # Fields that are given as `extra` are put into a record after it was made; for what actions log, that is seen to.
    logger = logging.getLogger("wonder.actions")
    if not any(isinstance(known, _RedactedFields) for known in logger.filters):
        logger.addFilter(_RedactedFields())


class _RedactedRecords:
    """Makes log records as they were made before, without secrets."""

    def __init__(self, made: Any) -> None:
        self._made = made

    def __call__(self, *arguments: Any, **fields: Any) -> logging.LogRecord:
        record: logging.LogRecord = self._made(*arguments, **fields)
        for redactor in tuple(REDACTORS):
            _redact(record, redactor)
        return record


class _RedactedFields(logging.Filter):
    """Takes secrets out of the fields that were added to a record."""

    def filter(self, record: logging.LogRecord) -> bool:
        for name, value in list(vars(record).items()):
            if name not in _OWN_FIELDS and value is not None and not isinstance(value, bool):
                for redactor in tuple(REDACTORS):
                    setattr(record, name, redactor.value(value))
        return True


def _redact(record: logging.LogRecord, redactor: Redactor) -> None:
    try:
        message = record.getMessage()
    except Exception:
        # It will be told when it is written; what it was made of may hold anything.
        message = repr((record.msg, record.args))
    shown = redactor.text(message)
    if shown != message:
        record.msg, record.args = shown, None
    if record.exc_info and record.exc_info[1] is not None:
        told = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        shown = redactor.text(told)
        if shown != told:
            # The exception itself would be written again when the record is formatted.
            record.exc_text, record.exc_info = shown, None
    if record.stack_info:
        record.stack_info = redactor.text(record.stack_info)
