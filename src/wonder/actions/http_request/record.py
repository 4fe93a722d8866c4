"""What an `http_request` takes."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from wonder.definitions.records.fields import Record
from wonder.definitions.records.implementation_fields import TemplateText, Text

StatusCode = Annotated[int, Field(ge=100, le=599)]


class HttpRequest(Record):
    """An HTTP request from templates; a status of 400 or above fails unless accepted."""

    secret_fields: ClassVar = frozenset({"url_template", "headers", "body_template"})
    url_template: Text
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]
    headers: dict[Text, TemplateText] | None = None
    body_template: TemplateText | None = None
    accept_status: list[StatusCode] = []
    response: Literal["json", "text", "artifact"] = "json"
