"""The wire format between decode and prefill ranks: JSON in frames with a length before them. Pure, and bounded."""

import json
from dataclasses import asdict, dataclass
from typing import Any

# The largest honest message carries a checksum a page and layer: 61 layers x 2,048 pages x 11 digits is 1.4 MB.
MAX_FRAME_BYTES = 4 << 20
LENGTH_BYTES = 4


class MalformedError(ValueError):
    """Bytes that no honest peer sends; the connection they came over is of no further use."""


@dataclass(frozen=True, slots=True)
class Registration:
    """The first message of a decode rank: where its pool lies. Once for each connection."""

    decode_rank: int
    attention_tp_size: int
    session: str
    layer_addresses: list[int]
    item_bytes: int
    page_size: int
    kv_cache_dtype: str
    pool_pages: int


@dataclass(frozen=True, slots=True)
class TransferInfo:
    """One destination of a room. A dummy has no pages: its sender only learns that the room needs nothing of it."""

    room: int
    pages: list[int]
    required_dst_info_num: int | None
    is_dummy: bool


@dataclass(frozen=True, slots=True)
class Abort:
    """Decode no longer waits for a room."""

    room: int


@dataclass(frozen=True, slots=True)
class Done:
    """Prefill's last word: every byte was written, and this is what it must look like, [layer][position]."""

    room: int
    checksums: list[list[int]]


@dataclass(frozen=True, slots=True)
class Failed:
    """Prefill's last word when it could not send."""

    room: int
    reason: str
    detail: str


Message = Registration | TransferInfo | Abort | Done | Failed
KINDS: dict[str, type[Message]] = {kind.__name__: kind for kind in (Registration, TransferInfo, Abort, Done, Failed)}
_SIMPLE: dict[Any, type | tuple[type, ...]] = {int: int, str: str, bool: bool, int | None: (int, type(None))}


def encode(message: Message) -> bytes:
    """A message as one frame. Raises MalformedError when it is larger than a peer would take."""
    body = json.dumps({"kind": type(message).__name__, **asdict(message)}, separators=(",", ":")).encode()
    if len(body) > MAX_FRAME_BYTES:
        raise MalformedError(f"a message of {len(body)} bytes; the limit is {MAX_FRAME_BYTES}")
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def frame_length(header: bytes) -> int:
    """The length that a frame's header announces. Raises MalformedError beyond the limit, before any of it is read."""
    length = int.from_bytes(header, "big")
    if len(header) != LENGTH_BYTES or not 0 < length <= MAX_FRAME_BYTES:
        raise MalformedError(f"a frame of {length} bytes is announced; the limit is {MAX_FRAME_BYTES}")
    return length


def decode(body: bytes) -> Message:
    """The message in a frame's body. Raises MalformedError for anything but a message, whole and well typed."""
    try:
        fields = json.loads(body)
        kind = KINDS[fields.pop("kind")]
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as wrong:
        raise MalformedError(f"not a message: {wrong!r}") from None
    expected = kind.__dataclass_fields__
    if set(fields) != set(expected):
        raise MalformedError(f"{kind.__name__} has the fields {sorted(expected)}, not {sorted(fields)}")
    for name, field in expected.items():
        if not _fits(fields[name], field.type):
            raise MalformedError(f"{kind.__name__}.{name} is not {field.type}")
    return kind(**fields)


def _fits(value: object, kind: Any) -> bool:  # noqa: ANN401 -- a type, as a dataclass field keeps it
    if kind in _SIMPLE:
        return isinstance(value, _SIMPLE[kind]) and (kind is bool or not isinstance(value, bool))
    (inner,) = kind.__args__
    return isinstance(value, list) and all(_fits(each, inner) for each in value)
