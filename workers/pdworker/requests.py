"""A request's body, checked before anything is done for it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

ROOM_LIMIT = 1 << 63  # a room is a random 63-bit number


class BadRequestError(ValueError):
    """The body can't be served; the message names the field and both values."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as prefill and decode both get it."""

    prompt_tokens: int
    room: int
    bootstrap_host: str
    bootstrap_port: int


def prompt_tokens(body: Mapping[str, Any], *, limit: int) -> int:
    """The prompt's length: given as a number, or of a text, where every UTF-8 byte counts as a token."""
    given = body.get("prompt_tokens")
    if given is None:
        text = body.get("text", body.get("prompt"))
        if not isinstance(text, str):
            raise BadRequestError("the body needs prompt_tokens (an integer), or text or prompt (a string)")
        given = max(1, len(text.encode(errors="surrogatepass")))  # JSON can spell half a character
    if not _is_integer(given) or given < 1:
        raise BadRequestError(f"prompt_tokens is {given!r}, not an integer of at least 1")
    if given > limit:
        raise BadRequestError(f"prompt_tokens is {given}, and the KV pool of a rank holds {limit} tokens")
    return given


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def parse(body: object, *, limit: int, default_port: int) -> Request:
    """The request in a JSON body. Raises BadRequestError."""
    if not isinstance(body, Mapping):
        raise BadRequestError(f"the body is a JSON {type(body).__name__}, not an object")
    host, room = body.get("bootstrap_host"), body.get("bootstrap_room")
    port = default_port if body.get("bootstrap_port") is None else body["bootstrap_port"]
    if not isinstance(host, str) or not host:
        raise BadRequestError(f"bootstrap_host is {host!r}, not the address of a prefill pod")
    if not _is_integer(room) or not 0 <= room < ROOM_LIMIT:
        raise BadRequestError(f"bootstrap_room is {room!r}, not an integer from 0 to 2^63 - 1")
    if not _is_integer(port) or not 0 < port < 1 << 16:
        raise BadRequestError(f"bootstrap_port is {port!r}, not a port")
    return Request(prompt_tokens(body, limit=limit), room, host, port)
