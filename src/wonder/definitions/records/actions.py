"""ActionDef: one atomic operation, with how it is executed."""

from typing import Annotated

from pydantic import Field

from wonder.definitions.records.fields import (
    Count,
    Description,
    Identifier,
    Json,
    JsonSchema,
    Milliseconds,
    Name,
    Record,
    Retry,
    Tag,
    Timestamp,
    Version,
)
from wonder.definitions.records.tenancy import Owned

KindName = Annotated[str, Field(min_length=1, max_length=200)]
"""A kind of action. That it is known is checked where it is written (ACT-8): what is stored stays readable where the
package is not installed that adds its kind."""


class RetryPolicy(Retry):
    """Infrastructure retry; `retryable_errors` replaces the default list (RET-1)."""

    retryable_errors: list[Annotated[str, Field(min_length=1, max_length=200)]] | None = None


class Execution(Record):
    """Limits of one attempt, and how many attempts."""

    timeout_ms: Milliseconds | None = None
    retry_policy: RetryPolicy | None = None


class Idempotency(Record):
    """A second execution with the same key gives the first result (RET-4)."""

    key_template: Annotated[str, Field(min_length=1, max_length=10_000)]
    ttl_seconds: Count | None = None


class ActionBody(Record):
    """What an author says of an action; `implementation` is checked by its kind."""

    kind: KindName
    implementation: Json = {}
    description: Description = ""
    tags: list[Tag] = []
    requires: JsonSchema = None
    produces: JsonSchema = None
    execution: Execution | None = None
    idempotency: Idempotency | None = None


class ActionDef(ActionBody, Owned):
    """One version of an action, which never changes."""

    id: Identifier
    version: Version
    name: Name
    content_hash: str
    created_at: Timestamp
    updated_at: Timestamp
