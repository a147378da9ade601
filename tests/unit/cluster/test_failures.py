import json

import pytest

from pdoperator.api.errors import Bug, Conflict, Failure, Invalid, Transient
from pdoperator.cluster.failures import MAX_MESSAGE, failure_of


def answer(message: str, *fields: str) -> str:
    causes = [{"reason": "FieldValueInvalid", "field": field} for field in fields]
    return json.dumps({"kind": "Status", "message": message, "details": {"name": "x", "causes": causes}})


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        pytest.param(409, answer("the object has been modified"), Conflict, id="somebody wrote first"),
        pytest.param(409, answer("AlreadyExists"), Conflict, id="the name was taken meanwhile"),
        pytest.param(422, answer("immutable", "metadata.uid"), Conflict, id="the name belongs to another object now"),
        pytest.param(422, answer("must be positive", "spec.replicas"), Invalid, id="a value the server refuses"),
        pytest.param(500, answer(".spec.foo: field not declared in schema"), Bug, id="a field the schema hasn't"),
        pytest.param(500, answer("etcdserver: request timed out"), Transient, id="any other 500"),
        pytest.param(503, "no healthy upstream", Transient, id="a proxy's plain text"),
        pytest.param(504, answer("Timeout"), Transient, id="a gateway's timeout"),
        pytest.param(429, answer("too many requests"), Transient, id="priority and fairness"),
        pytest.param(401, answer("Unauthorized"), Transient, id="a token that is being rotated"),
        pytest.param(403, answer("exceeded quota"), Transient, id="a quota or a right that somebody may grant"),
        pytest.param(404, "404 page not found", Transient, id="a kind that isn't served yet"),
        pytest.param(410, answer("Expired"), Transient, id="a list that took too long"),
        pytest.param(400, answer("unable to decode"), Bug, id="what we sent isn't an object"),
        pytest.param(415, "", Bug, id="nor a media type"),
    ],
)
def test_each_answer_is_one_of_four_kinds(status: int, body: str, kind: type[Failure]) -> None:
    assert type(failure_of(status=status, body=body, what="apply Service ns/x")) is kind


def test_an_invalid_names_the_field_and_what_was_asked() -> None:
    failure = failure_of(status=422, body=answer("must be positive", "spec.replicas"), what="apply StatefulSet ns/x")
    assert isinstance(failure, Invalid)
    assert failure.field == "spec.replicas"
    assert failure.message == "apply StatefulSet ns/x: must be positive"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param("", "get Pod ns/x: HTTP 502", id="an empty body leaves the status"),
        pytest.param("[1]", "get Pod ns/x: [1]", id="JSON that is no object is text"),
        pytest.param('{"message": null, "details": null}', "get Pod ns/x: HTTP 502", id="nulls are absent"),
        pytest.param("x" * 9000, ("get Pod ns/x: " + "x" * 9000)[:MAX_MESSAGE], id="a long body is cut"),
    ],
)
def test_a_body_that_is_no_status_object(body: str, text: str) -> None:
    assert str(failure_of(status=502, body=body, what="get Pod ns/x")) == text
