"""Signed texts: a server gives them to its client, and can trust them when they come back.

A cursor that the client carries is untrusted input. It is short, it is signed with a key that only the servers know,
and it contains its user and its purpose, so that nobody can use it for another one. The signature is compared in
constant time. Nothing in it is secret: a client may read its cursor.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import TypeVar

import msgspec

from vez.servers.paging.refusal import Refused

Value = TypeVar("Value", bound=msgspec.Struct)
LONGEST = 512
"""Largest number of characters of a signed text; longer ones are refused before anything is decoded."""
KEY_BYTES = 32
SIGNATURE_BYTES = 16
"""HMAC-SHA-256 cut to 128 bits, as RFC 2104 allows: a guess is right once in 2**128."""


def new_key() -> bytes:
    """A key from the system's source of randomness."""
    return secrets.token_bytes(KEY_BYTES)


class Signer:
    """Signs values of one purpose. Servers that share the key accept each other's texts."""

    def __init__(self, key: bytes, purpose: str, *, status: int = 400) -> None:
        if len(key) < KEY_BYTES:
            raise ValueError(f"a key has at least {KEY_BYTES} bytes, found {len(key)}")
        # A key of its own for each purpose: a cursor can never pass as a token of a user.
        self._key = hmac.digest(key, f"vez.servers.paging {purpose}".encode(), "sha256")
        self._purpose = purpose
        self._status = status

    def sign(self, value: msgspec.Struct) -> str:
        """The value as a signed text."""
        body = msgspec.json.encode(value)
        return _text(self._signature(body) + body)

    def read(self, text: str, kind: type[Value]) -> Value:
        """The value of a signed text. Raises `Refused` if the signature is wrong."""
        if len(text) > LONGEST:
            raise Refused(self._status, f"the {self._purpose} has {len(text)} characters, {LONGEST} are allowed")
        try:
            data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            data = b""
        signature, body = data[:SIGNATURE_BYTES], data[SIGNATURE_BYTES:]
        # The last character may have unused bits, so several texts would decode to the same bytes.
        if not hmac.compare_digest(signature, self._signature(body)) or _text(data) != text:
            raise Refused(self._status, f"the {self._purpose} is not one of ours")
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.MsgspecError:  # signed by another version of this program
            raise Refused(self._status, f"the {self._purpose} has another form than ours") from None

    def _signature(self, body: bytes) -> bytes:
        return hmac.digest(self._key, body, hashlib.sha256)[:SIGNATURE_BYTES]


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
