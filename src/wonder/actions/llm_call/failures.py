"""What a provider's faults become: failures that say what to fix, retryable exactly where RET-1 says so."""

from collections.abc import Iterator
from typing import Final

from wonder.actions.exceptions import message_of, storable
from wonder.actions.http.addresses import AddressRefused
from wonder.actions.llm_call.question import Fault, Provider
from wonder.actions.models.addresses import ALLOW
from wonder.actions.protocol import ActionFailed

_MESSAGE_MAX: Final = 1_000
_CAUSES_MAX: Final = 10

# RET-1: time-outs, too early, too many, and what a server is to blame for.
_RETRYABLE: Final = frozenset({408, 425, 429})

_ADVICE: Final[dict[int, tuple[str, str]]] = {
    400: ("PROVIDER_REFUSED", "correct the model's parameters or the prompt"),
    401: ("PROVIDER_KEY_REFUSED", "correct api_key in its execution_config, or the secret that it names"),
    402: ("PROVIDER_REFUSED", "settle the account with the provider"),
    403: ("PROVIDER_KEY_REFUSED", "let the key use this model, or use another key"),
    404: ("MODEL_UNKNOWN", "correct its model_id, or base_url in its execution_config"),
    408: ("PROVIDER_TIMEOUT", "try again later"),
    413: ("PROVIDER_REFUSED", "shorten the prompt"),
    429: ("PROVIDER_RATE_LIMITED", "give the action a retry_policy, or slow the workflow down"),
}


def failure_of(error: Exception, provider: Provider, model: str) -> ActionFailed:
    """Return the failure that an exception out of a provider's library means; `model` names it for people."""
    for cause in _causes(error):
        # What our own transport raised: a forbidden address, a flood.
        if isinstance(cause, AddressRefused):
            return AddressRefused(cause.host, cause.address, cause.reason, f"this one: {ALLOW} '[\"BASE_URL\"]'")
        if isinstance(cause, ActionFailed):
            return cause
    fault = provider.fault_of(error) or _wire_fault(error)
    details = {"model": model, "type": type(error).__name__}
    match fault.kind:
        case "status":
            return _status_failure(fault, model, details)
        case "time_out":
            message = f"{model} did not answer in time; raise timeout_ms in its execution_config, or try again later"
            return ActionFailed(
                "PROVIDER_TIMEOUT", message, retryable=True, details=details, names=("TimeoutError", _name(error))
            )
        case "lost":
            message = f"the connection to {model} was lost: {_shown(fault.message)}; check base_url and the network"
            return ActionFailed(
                "PROVIDER_LOST", message, retryable=True, details=details, names=("ConnectionError", _name(error))
            )
        case "garbled":
            message = f"{model} gave an answer that its provider's API does not define: {_shown(fault.message)}; " + (
                "check that base_url leads to a server that speaks this provider's protocol"
            )
            return ActionFailed("PROVIDER_GARBLED", message, details=details, names=(_name(error),))


def _status_failure(fault: Fault, model: str, details: dict[str, str]) -> ActionFailed:
    status = fault.status
    retryable = status in _RETRYABLE or status >= 500
    if status >= 500:
        code, advice = "PROVIDER_UNAVAILABLE", "try again later"
    elif 300 <= status < 400:
        code, advice = "PROVIDER_REFUSED", "correct base_url in its execution_config: redirects are not followed"
    else:
        code, advice = _ADVICE.get(status, ("PROVIDER_REFUSED", "see what it says"))
    message = f"{model} answered with status {status}: {_shown(fault.message)}; {advice}"
    return ActionFailed(
        code,
        message,
        retryable=retryable,
        details={**details, "status": status},
        retry_after_ms=fault.retry_after_ms if retryable else None,
        names=(f"HTTP_{status}", details["type"]),
    )


def _wire_fault(error: Exception) -> Fault:
    """Read an exception that is not the provider's library's own: out of the HTTP client, or of a parser."""
    import httpx2  # heavy; what raised the error has loaded it

    message = message_of(error) or type(error).__name__
    if isinstance(error, httpx2.TimeoutException | TimeoutError):
        return Fault("time_out", message)
    if isinstance(error, httpx2.TransportError | ConnectionError | OSError):
        return Fault("lost", message)
    return Fault("garbled", f"{type(error).__name__}: {message}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    for _ in range(_CAUSES_MAX):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__


def _shown(message: str) -> str:
    return storable(" ".join(message.split()), _MESSAGE_MAX) or "(nothing)"


def _name(error: Exception) -> str:
    return type(error).__name__
