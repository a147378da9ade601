"""A request's body, checked before anything is done for it."""

import pytest

from pdworker.requests import BadRequestError, Request, parse

BODY = {"prompt_tokens": 4096, "bootstrap_host": "10.0.0.5", "bootstrap_port": 8998, "bootstrap_room": 1}


@pytest.mark.parametrize(
    ("changed", "tokens"),
    [
        pytest.param({}, 4096, id="a number"),
        pytest.param({"prompt_tokens": None, "text": "h\u00e9"}, 3, id="a text: every UTF-8 byte is a token"),
        pytest.param({"prompt_tokens": None, "prompt": "abcd"}, 4, id="OpenAI's name for it"),
        pytest.param({"prompt_tokens": None, "text": ""}, 1, id="an empty text is one token"),
    ],
)
def test_the_prompts_length(changed: dict[str, object], tokens: int) -> None:
    assert parse(BODY | changed, limit=8192, default_port=1).prompt_tokens == tokens


def test_a_router_that_names_no_port_means_the_workers_own() -> None:
    asked = parse(BODY | {"bootstrap_port": None}, limit=8192, default_port=8998)
    assert asked == Request(4096, 1, "10.0.0.5", 8998)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param([], "a JSON list, not an object", id="not an object"),
        pytest.param(
            BODY | {"prompt_tokens": 8193}, "is 8193.*holds 8192 tokens", id="longer than the pool: both numbers"
        ),
        pytest.param(BODY | {"prompt_tokens": 0}, "prompt_tokens is 0", id="nothing"),
        pytest.param(BODY | {"prompt_tokens": True}, "prompt_tokens is True", id="a truth value"),
        pytest.param(BODY | {"prompt_tokens": "9"}, "prompt_tokens is '9'", id="a number as text"),
        pytest.param(BODY | {"prompt_tokens": None}, "the body needs prompt_tokens", id="no prompt at all"),
        pytest.param(BODY | {"bootstrap_host": ""}, "bootstrap_host is ''", id="no host"),
        pytest.param(BODY | {"bootstrap_room": 1 << 63}, "bootstrap_room is 9223372036854775808", id="64 bits"),
        pytest.param(BODY | {"bootstrap_room": -1}, "bootstrap_room is -1", id="a negative room"),
        pytest.param(BODY | {"bootstrap_room": True}, "bootstrap_room is True", id="a room that is a truth value"),
        pytest.param(BODY | {"bootstrap_port": True}, "bootstrap_port is True", id="a port that is a truth value"),
        pytest.param(BODY | {"bootstrap_port": 70000}, "bootstrap_port is 70000", id="not a port"),
    ],
)
def test_a_body_that_cannot_be_served_is_refused_by_its_field(body: object, says: str) -> None:
    with pytest.raises(BadRequestError, match=says):
        parse(body, limit=8192, default_port=8998)
