"""Where models may be: at their provider's own address, and at the base URLs that the operator allows (RES-6)."""

from wonder.actions.protocol import ActionFailed
from wonder.definitions.addresses import base_url_of
from wonder.definitions.records.tenancy import WorkspaceSettings
from wonder.definitions.secret_scopes import quoted
from wonder.language.values import encode_json

ALLOW = "wonder workspace set allowed_model_base_urls"


def may_be_private(base_url: str, settings: WorkspaceSettings, *, local: bool, user: str) -> bool:
    """Return whether the server at a base URL may have a private address; raises BaseUrlNotAllowed.

    `user` names the model or vector index that uses it. A URL on the operator's list may lead anywhere; without a
    list, a person's own runs may reach any public address, and a long-running process only the providers' own.
    """
    listed = settings.allowed_model_base_urls
    if listed is not None and base_url_of(base_url) in listed:
        return True
    if listed is not None or not local:
        raise BaseUrlNotAllowed(base_url, listed or [], user)
    return settings.allow_private_addresses


class BaseUrlNotAllowed(ActionFailed):
    """A model is at an address that the operator has not allowed."""

    def __init__(self, base_url: str, listed: list[str], user: str) -> None:
        shown = encode_json([*listed, base_url_of(base_url)])
        message = (
            f"{user} is at {base_url}, which is not an address of its provider and not in allowed_model_base_urls of "
            f"the workspace; leave base_url out, or have the operator allow it: {ALLOW} {quoted(shown)}"
        )
        super().__init__("BASE_URL_NOT_ALLOWED", message, details={"base_url": base_url})
