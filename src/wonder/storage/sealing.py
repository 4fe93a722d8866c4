"""Sealing: secrets are stored encrypted (AES-256-GCM), by keys that are never in the database."""

import os
from base64 import b64decode, b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from wonder.errors import WonderError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_ID_LENGTH: Final = 16


class SecretKeyBad(WonderError):
    """A key is invalid, or others could read it."""

    code = "SECRET_KEY_BAD"

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"the key for secrets in {where} can't be used: {reason}")
        self.where, self.reason = where, reason


class SecretKeyMissing(WonderError):
    """Secrets are stored that no key here opens."""

    code = "SECRET_KEY_MISSING"

    def __init__(self, where: str, key_id: str) -> None:
        super().__init__(
            f"secrets are stored that were sealed with the key {key_id}, which is not in {where}; put that key there "
            "(a backup, or the machine where they were stored, has it), or delete these secrets and store them again"
        )
        self.where, self.key_id = where, key_id


class SecretBroken(WonderError):
    """What is stored as a secret was changed by somebody, or belongs to another name."""

    code = "SECRET_BROKEN"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the secret {name!r} was changed in the database since it was stored; find out by whom, and store it "
            f"again with: wonder secrets set {name}"
        )
        self.name = name


class Key:
    """One key of 32 bytes; its text never shows it."""

    __slots__ = ("_secret", "id")

    def __init__(self, secret: bytes) -> None:
        assert len(secret) == KEY_BYTES
        self._secret = secret
        self.id = sha256(b"wonder secret key " + secret).hexdigest()[:_ID_LENGTH]

    def __repr__(self) -> str:
        return f"Key({self.id})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self._secret == other._secret

    def __hash__(self) -> int:
        return hash(self._secret)

    @property
    def text(self) -> str:
        """The key as a file or the environment holds it."""
        return b64encode(self._secret).decode()

    def seal(self, text: str, belongs_to: str) -> bytes:
        """Encrypt a text so that it can be opened only as what it belongs to."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + _cipher(self._secret).encrypt(nonce, text.encode("utf-8", "surrogatepass"), belongs_to.encode())

    def open(self, sealed: bytes, belongs_to: str, name: str) -> str:
        """Decrypt a text; raises SecretBroken."""
        # As in `_cipher`.
        from cryptography.exceptions import InvalidTag

        try:
            opened = _cipher(self._secret).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], belongs_to.encode())
        except (InvalidTag, ValueError):
            raise SecretBroken(name) from None
        return opened.decode("utf-8", "surrogatepass")


def new_key() -> Key:
    """Make a key by chance."""
    return Key(os.urandom(KEY_BYTES))


def read_keys(text: str, where: str) -> tuple[Key, ...]:
    """Read keys in base64, separated by commas or lines; raises SecretKeyBad, which shows nothing of them."""
    keys: list[Key] = []
    for number, written in enumerate(text.replace(",", "\n").split(), 1):
        try:
            secret = b64decode(written, validate=True)
        except ValueError:
            secret = b""
        if len(secret) != KEY_BYTES:
            reason = f"key {number} is not the base64 of {KEY_BYTES} bytes; make one with: openssl rand -base64 32"
            raise SecretKeyBad(where, reason)
        keys.append(Key(secret))
    if not keys:
        raise SecretKeyBad(where, "it is empty; make a key with: openssl rand -base64 32")
    return tuple(dict.fromkeys(keys))


class KeyRing:
    """Keys of which the first seals and all open; `where` says where they are."""

    def __init__(self, keys: Sequence[Key], where: str) -> None:
        self.keys, self.where = tuple(keys), where
        self._by_id = {key.id: key for key in keys}

    @property
    def first(self) -> Key:
        """The key that seals."""
        return self.keys[0]

    def __contains__(self, key_id: object) -> bool:
        return key_id in self._by_id

    def key(self, key_id: str) -> Key:
        """Return a key by its id; raises SecretKeyMissing."""
        try:
            return self._by_id[key_id]
        except KeyError:
            raise SecretKeyMissing(self.where, key_id) from None


def _cipher(secret: bytes) -> "AESGCM":
    # Imported here, because it takes 10 ms to load and most processes have no secrets.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(secret)
