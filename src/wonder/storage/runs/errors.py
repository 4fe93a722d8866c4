"""What can go wrong with runs as they are stored."""

from wonder.errors import WonderError


class IdempotencyKeyReused(WonderError):
    """A key was used again with another input (CTL-17)."""

    code = "IDEMPOTENCY_KEY_REUSED"

    def __init__(self, key: str, run_id: str) -> None:
        super().__init__(
            f"the idempotency key {key!r} belongs to run {run_id}, which was started with another input; "
            "send the same input again, or use another key"
        )
        self.key, self.run_id = key, run_id


class RequestUnanswered(WonderError):
    """Nobody answered a request in time; it may still be carried out."""

    code = "REQUEST_UNANSWERED"

    def __init__(self, id: str, seconds: float) -> None:
        super().__init__(
            f"the process that runs the engine did not answer within {seconds:g} seconds; request {id} waits for it, "
            "and is carried out when it comes to it"
        )
        self.id, self.seconds = id, seconds
