"""What can go wrong between a program and a server."""

from wonder.errors import WonderError


class ServerRefused(WonderError):
    """The server refused a request; `code` and the message are those of the error that it answered with."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        # Of this one error: a program sees the same code as with a database of its own.
        self.code = code  # type: ignore[misc]


class ServerUnreachable(WonderError):
    """The server does not answer, or something answers that is not Wonder."""

    code = "SERVER_UNREACHABLE"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"the server {url} can't be used: {reason}; check the address, and that `wonder serve` runs")
        self.url, self.reason = url, reason


class BadServer(WonderError):
    """The address or the key of a server can't be used."""

    code = "BAD_SERVER"


class NotOverServer(WonderError):
    """Something was asked for through a server that can only be done on its machine."""

    code = "NOT_OVER_SERVER"

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"{what} can't be asked of a server: it {reason}; do it on the machine of the server")
        self.what, self.reason = what, reason
