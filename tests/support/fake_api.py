"""An API server in memory, for what a real one can't be made to do on time: fail, hang, or answer late.

Only the rules that the tests rest on: names, resourceVersions, UIDs, optimistic locking, and applying as replacing.
What server-side apply really does is tested against a real kube-apiserver in tests/api.
"""

import copy
import itertools
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubernetes.aio.client.exceptions import ApiException

from pdoperator.cluster.client import Client, Object
from pdoperator.cluster.kinds import ALL_KINDS

_PLURALS = {kind.plural for kind in ALL_KINDS}

Hook = Callable[[str, str], Awaitable[None]]  # method, path: raise or wait here


async def _nothing(method: str, path: str) -> None:
    pass


@dataclass(slots=True)
class FakeServer:
    """What is stored, what was asked, and a hook before each answer."""

    objects: dict[str, Object] = field(default_factory=dict)  # by path
    requests: Counter[str] = field(default_factory=Counter)  # by method
    bodies: list[tuple[str, str, Mapping[str, Any]]] = field(default_factory=list)
    before: Hook = _nothing
    _versions: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def client(self, **options: Any) -> "FakeClient":  # noqa: ANN401 -- passed on to the client
        """A client of this server."""
        return FakeClient(api=None, count=lambda **_: None, server=self, **options)

    def put(self, path: str, obj: Mapping[str, Any]) -> Object:
        """Store an object, as some other client would."""
        old = self.objects.get(path)
        stored = copy.deepcopy(dict(obj))
        version = str(next(self._versions))
        stored["metadata"] = {
            **stored["metadata"],
            "resourceVersion": version,
            "uid": old["metadata"]["uid"] if old else f"uid-{version}",
        }
        self.objects[path] = stored
        return copy.deepcopy(stored)

    async def answer(self, method: str, path: str, params: Mapping[str, Any]) -> Object:
        """One request."""
        self.requests[method] += 1
        body = params.get("body")
        if body is not None:
            self.bodies.append((method, path, copy.deepcopy(body)))
        await self.before(method, path)
        if method == "GET" and path.rpartition("/")[2] in _PLURALS:
            items = [each for at, each in self.objects.items() if at.rpartition("/")[0] == path]
            return {"items": copy.deepcopy(items), "metadata": {}}
        if method == "POST":
            return self._create(f"{path}/{params['body']['metadata']['name']}", params["body"])
        if method == "PATCH" and path not in self.objects:
            return self.put(path, params["body"])
        if path not in self.objects:
            raise refusal(404, path)
        return self._change(method, path, params)

    def _create(self, path: str, body: Mapping[str, Any]) -> Object:
        if path in self.objects:
            raise refusal(409, path)
        return self.put(path, body)

    def _change(self, method: str, path: str, params: Mapping[str, Any]) -> Object:
        stored, body = self.objects[path], params.get("body") or {}
        if method == "GET":
            return copy.deepcopy(stored)
        if method == "DELETE":
            if body.get("preconditions", {}).get("uid") != stored["metadata"]["uid"]:
                raise refusal(409, path)
            return self.objects.pop(path)
        seen = body["metadata"].get("resourceVersion")
        if method in ("PUT", "PATCH") and seen not in (None, stored["metadata"]["resourceVersion"]):
            raise refusal(409, path)
        return self.put(path, body)


@dataclass(slots=True)
class FakeClient(Client):
    """The operator's own client with another transport."""

    server: FakeServer = field(default_factory=FakeServer)

    async def _send(self, method: str, path: str, params: Mapping[str, Any]) -> Object:
        return await self.server.answer(method, path, params)


def refusal(status: int, path: str) -> ApiException:
    """An error answer as the API server words it."""
    error = ApiException(status=status, reason="refused")
    error.body = json.dumps({"message": f"{path}: {status}", "details": {"name": path.rpartition("/")[2]}})
    return error
