"""JSON has values that Python would let pass for a number."""

from typing import Any

import pytest

from pdworker.metrics import Metrics
from pdworker.requests import BadRequestError, parse, prompt_tokens
from pdworker.transfer.accounting import TransferMetric

BODY: dict[str, Any] = {"prompt_tokens": 4, "bootstrap_host": "10.0.0.5", "bootstrap_port": 8998, "bootstrap_room": 1}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        pytest.param({"bootstrap_room": True}, "bootstrap_room is True", id="a boolean as room"),
        pytest.param({"bootstrap_port": True}, "bootstrap_port is True", id="a boolean as port"),
        pytest.param({"bootstrap_port": 0}, "bootstrap_port is 0", id="port 0 is not 'none given'"),
        pytest.param({"bootstrap_port": ""}, "bootstrap_port is ''", id="an empty port is not 'none given'"),
        pytest.param({"prompt_tokens": False}, "prompt_tokens is False", id="a boolean as length"),
        pytest.param({"bootstrap_room": 1.0}, "bootstrap_room is 1.0", id="a float as room"),
    ],
)
def test_it_is_refused_with_what_was_given(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(BadRequestError) as refused:
        parse(BODY | changed, limit=8192, default_port=8998)
    assert str(refused.value).startswith(says)


def test_half_a_character_counts_like_any_bytes() -> None:
    assert prompt_tokens({"text": "a\ud800"}, limit=8192) == 4


def test_a_transfer_that_took_no_time_has_no_speed_and_crashes_nothing() -> None:
    metrics = Metrics(role="prefill", tp_rank=0, cp_rank=0)
    metrics.transferred(TransferMetric(logical_bytes=1, reported_bytes=1, seconds=0.0))
    lines = metrics.page().splitlines()
    labels = '{cp_rank="0",role="prefill",tp_rank="0"}'
    assert f"kv_transfer_speed_gb_s_count{labels} 0.0" in lines
    assert f"pd_kv_transfers_total{labels} 1.0" in lines
