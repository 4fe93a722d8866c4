"""What a server counts of its own requests, as Prometheus reads it: names with units, and labels with few values."""

from wonder.api.limits import Usage

CONTENT_TYPE = "text/plain; version=0.0.4"


class Figures:
    """Counts requests by operation and status. One process counts for itself, from its start on."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, int], int] = {}
        self._seconds: dict[str, float] = {}

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Count a request that was answered; what is at no path has the operation `none`."""
        self._requests[operation, status] = self._requests.get((operation, status), 0) + 1
        self._seconds[operation] = self._seconds.get(operation, 0.0) + seconds

    def text(self, usage: Usage) -> str:
        """Write all figures."""
        lines = ["# TYPE wonder_http_requests_total counter"]
        for (operation, status), count in sorted(self._requests.items()):
            lines.append(f'wonder_http_requests_total{{operation="{operation}",status="{status}"}} {count}')
        lines.append("# TYPE wonder_http_request_seconds_total counter")
        for operation, seconds in sorted(self._seconds.items()):
            lines.append(f'wonder_http_request_seconds_total{{operation="{operation}"}} {seconds:.6f}')
        lines += [
            "# TYPE wonder_http_requests_in_progress gauge",
            f"wonder_http_requests_in_progress {sum(usage.at_once.values())}",
            "# TYPE wonder_http_body_bytes_in_progress gauge",
            f"wonder_http_body_bytes_in_progress {usage.bytes_in_flight}",
        ]
        return "".join(f"{line}\n" for line in lines)
