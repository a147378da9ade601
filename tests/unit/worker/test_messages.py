"""The wire format: what one end says the other hears, and nothing else gets through."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdworker.bootstrap.messages import (
    LENGTH_BYTES,
    MAX_FRAME_BYTES,
    Abort,
    Done,
    Failed,
    MalformedError,
    Message,
    Registration,
    TransferInfo,
    decode,
    encode,
    frame_length,
)

REGISTRATION = Registration(
    decode_rank=3,
    attention_tp_size=4,
    session="10.0.0.6:15002",
    layer_addresses=[1 << 47, 0],
    item_bytes=73728,
    page_size=64,
    kv_cache_dtype="bfloat16",
    pool_pages=128,
)
EXAMPLES = [
    pytest.param(REGISTRATION, id="registration"),
    pytest.param(TransferInfo(room=2**63 - 1, pages=[4, 0, 7], required_dst_info_num=4, is_dummy=False), id="info"),
    pytest.param(TransferInfo(room=0, pages=[], required_dst_info_num=1, is_dummy=True), id="a dummy"),
    pytest.param(TransferInfo(room=1, pages=[0], required_dst_info_num=None, is_dummy=False), id="without a count"),
    pytest.param(Abort(room=1), id="abort"),
    pytest.param(Done(room=1, checksums=[[1, 2], [3, 4]]), id="done"),
    pytest.param(Failed(room=1, reason="EngineError", detail="ключ \u2028"), id="failed, in any script"),
]


@pytest.mark.parametrize("message", EXAMPLES)
def test_a_message_arrives_as_it_was_sent(message: Message) -> None:
    frame = encode(message)
    header, body = frame[:LENGTH_BYTES], frame[LENGTH_BYTES:]
    assert frame_length(header) == len(body)
    assert decode(body) == message


@pytest.mark.parametrize("message", EXAMPLES)
def test_no_beginning_of_a_message_is_a_message(message: Message) -> None:
    body = encode(message)[LENGTH_BYTES:]
    for end in range(len(body)):
        with pytest.raises(MalformedError):
            decode(body[:end])


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(b"", id="no header"),
        pytest.param(b"\x00\x00\x01", id="half a header"),
        pytest.param(b"\x00\x00\x00\x00", id="nothing announced"),
        pytest.param((MAX_FRAME_BYTES + 1).to_bytes(LENGTH_BYTES, "big"), id="one byte too many"),
        pytest.param(b"\xff\xff\xff\xff", id="four gigabytes"),
        pytest.param(b"GET ", id="somebody speaks HTTP"),
    ],
)
def test_a_length_that_is_no_frames_is_refused_before_it_is_read(header: bytes) -> None:
    with pytest.raises(MalformedError, match="is announced; the limit is 4194304"):
        frame_length(header)


def test_the_largest_frame_is_accepted() -> None:
    assert frame_length(MAX_FRAME_BYTES.to_bytes(LENGTH_BYTES, "big")) == MAX_FRAME_BYTES


def test_a_message_larger_than_a_peer_takes_is_not_sent() -> None:
    with pytest.raises(MalformedError, match="the limit is 4194304"):
        encode(Failed(room=1, reason="EngineError", detail="x" * MAX_FRAME_BYTES))


def test_the_largest_honest_message_fits() -> None:
    assert len(encode(Done(room=1, checksums=[[2**32 - 1] * 2048] * 61))) < MAX_FRAME_BYTES


INFO: dict[str, Any] = {"kind": "TransferInfo", "room": 1, "pages": [0], "required_dst_info_num": 4, "is_dummy": False}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({}, id="no kind"),
        pytest.param({"kind": "Shutdown"}, id="unknown kind"),
        pytest.param({"kind": ["Abort"], "room": 1}, id="the kind is a list"),
        pytest.param({"kind": "Abort"}, id="a field is missing"),
        pytest.param({"kind": "Abort", "room": 1, "more": 2}, id="a field too many"),
        pytest.param({"kind": "Abort", "room": "1"}, id="a number as text"),
        pytest.param({"kind": "Abort", "room": 1.0}, id="a float"),
        pytest.param({"kind": "Abort", "room": True}, id="a boolean is no number"),
        pytest.param({"kind": "Abort", "room": None}, id="null where a number must be"),
        pytest.param({**INFO, "pages": 0}, id="one page instead of a list"),
        pytest.param({**INFO, "pages": ["0"]}, id="a page as text"),
        pytest.param({**INFO, "pages": [[0]]}, id="a list too deep"),
        pytest.param({**INFO, "required_dst_info_num": "4"}, id="the count as text"),
        pytest.param({**INFO, "required_dst_info_num": True}, id="the count as a boolean"),
        pytest.param({**INFO, "is_dummy": 0}, id="a number is no boolean"),
        pytest.param({"kind": "Done", "room": 1, "checksums": [1]}, id="checksums not by layer"),
        pytest.param([], id="a list"),
        pytest.param("Abort", id="a string"),
        pytest.param(None, id="null"),
    ],
)
def test_wrong_types_are_refused(body: object) -> None:
    with pytest.raises(MalformedError):
        decode(json.dumps(body).encode())


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"\xff\xfe", id="no UTF-8"),
        pytest.param(b"[" * 100_000, id="nested deeper than any stack"),
        pytest.param(b'{"kind":"Abort","room":' + b"9" * 5000 + b"}", id="a number of 5,000 digits"),
        pytest.param(b'{"kind":"Abort","room":NaN}', id="not a number"),
    ],
)
def test_hostile_bytes_are_refused(body: bytes) -> None:
    with pytest.raises(MalformedError):
        decode(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(sorted({*REGISTRATION.__dataclass_fields__, *INFO, "checksums", "reason", "detail"}))
FIELDS_OF = {
    "Registration": list(REGISTRATION.__dataclass_fields__),
    "TransferInfo": ["room", "pages", "required_dst_info_num", "is_dummy"],
    "Abort": ["room"],
    "Done": ["room", "checksums"],
    "Failed": ["room", "reason", "detail"],
}
KINDS = st.sampled_from(list(FIELDS_OF))


@given(st.binary(max_size=200))
def test_bytes_are_a_message_or_malformed(body: bytes) -> None:
    _decode_or_malformed(body)


@given(kind=KINDS, fields=st.dictionaries(FIELDS, JSON, max_size=9))
def test_fields_of_any_type_are_a_message_or_malformed(kind: str, fields: dict[str, Any]) -> None:
    _decode_or_malformed(json.dumps(fields | {"kind": kind}).encode())


@given(kind=KINDS, values=st.lists(JSON, min_size=9, max_size=9))
def test_the_right_fields_of_any_type_are_a_message_or_malformed(kind: str, values: list[Any]) -> None:
    fields = dict(zip(FIELDS_OF[kind], values, strict=False))
    _decode_or_malformed(json.dumps(fields | {"kind": kind}).encode())


def _decode_or_malformed(body: bytes) -> None:
    try:
        message = decode(body)
    except MalformedError:
        return
    assert decode(encode(message)[LENGTH_BYTES:]) == message
