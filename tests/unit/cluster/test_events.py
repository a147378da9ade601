import pytest

from pdoperator.cluster.events import Events, Notice
from tests.support.children import a_live
from tests.support.fake_api import FakeServer, refusal

NOTICE = Notice(reason="AllReady", note="Ready is True: a pair is routable", warning=False)


async def test_an_event_is_about_the_object_and_says_who_reports() -> None:
    server = FakeServer()
    await Events(client=server.client(), now=lambda: 0.0, instance="pod-1").post(a_live(), [NOTICE])
    ((method, path, event),) = server.bodies
    assert (method, path) == ("POST", "/apis/events.k8s.io/v1/namespaces/ns/events")
    assert event["regarding"]["uid"] == "uid-parent"
    assert (event["reason"], event["type"]) == ("AllReady", "Normal")
    assert (event["reportingController"], event["reportingInstance"]) == ("pdoperator.io/pd-operator", "pod-1")


async def test_a_condition_that_flaps_does_not_flood_the_namespace() -> None:
    server, clock = FakeServer(), [0.0]
    events = Events(client=server.client(), now=lambda: clock[0], instance="x")
    for _ in range(50):
        await events.post(a_live(), [NOTICE])
    assert server.requests["POST"] == 10
    await events.post(a_live(uid="another"), [NOTICE])
    assert server.requests["POST"] == 11
    clock[0] = 601.0
    await events.post(a_live(), [NOTICE])
    assert server.requests["POST"] == 12


@pytest.mark.parametrize(
    ("notice", "field", "length"),
    [
        pytest.param(Notice("R", "ü" * 2000, warning=True), "note", 512, id="a long note: 1,024 bytes, no half letter"),
        pytest.param(Notice("R" * 500, "n", warning=True), "reason", 128, id="a long reason"),
    ],
)
async def test_what_is_too_long_is_cut(notice: Notice, field: str, length: int) -> None:
    server = FakeServer()
    await Events(client=server.client(), now=lambda: 0.0, instance="x" * 500).post(a_live(), [notice])
    assert len(server.bodies[0][2][field]) == length
    assert len(server.bodies[0][2]["reportingInstance"]) == 128


async def test_one_that_is_lost_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    server = FakeServer()

    async def down(_: str, path: str) -> None:
        raise refusal(503, path)

    server.before = down
    await Events(client=server.client(), now=lambda: 0.0, instance="x").post(a_live(), [NOTICE, NOTICE])
    assert [each.getMessage()[:16] for each in caplog.records if each.levelname == "WARNING"] == [
        "event not posted"
    ] * 2
