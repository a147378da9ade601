"""The API server, as a few verbs on plain dictionaries. Every call ends in time, and fails as one of our four kinds."""

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from kubernetes.aio import client as kube
from kubernetes.aio import config as kube_config
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.dynamic import DynamicClient

from pdoperator.api.errors import Conflict, Transient
from pdoperator.cluster.failures import failure_of
from pdoperator.cluster.kinds import Kind, kind_of

Object = dict[str, Any]

FIELD_MANAGER = "pd-operator"  # for ever: another name would orphan every field applied under this one
# A pooled connection that a load balancer dropped silently would otherwise block for minutes.
OBJECT_SECONDS = 10.0  # one object is milliseconds
LIST_SECONDS = 30.0  # thousands of objects on a busy API server
CONNECTIONS = 16  # the lists of two reconciles at once; more only cost handshakes
PAGE = 500  # objects in one chunk of a list
MAX_PAGES = 200  # 100,000 objects; more is a server that doesn't end its list


class Count(Protocol):
    """Is told of every request: `verb` is get, list, apply, create, replace or delete; `resource` a kind's plural."""

    def __call__(self, *, verb: str, resource: str, result: str) -> None: ...  # noqa: D102


@dataclass(slots=True)
class Client:
    """Reads and writes. Knows nothing of PDDeployments."""

    api: Any  # kubernetes.aio.client.ApiClient
    count: Count
    may_write: Callable[[], bool] = lambda: True  # false once the lease may have passed to another operator
    keep_alive: bool = True  # else each request has a connection of its own, which nobody can have dropped

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.api.close()

    async def get(self, kind: Kind, *, namespace: str, name: str) -> Object | None:
        """One object, or None where there is none."""
        path = kind.path(namespace=namespace, name=name)
        return await self._request("get", "GET", kind, path, absent_is_none=True)

    async def list(self, kind: Kind, *, namespace: str | None, labels: str = "") -> list[Object]:
        """All objects of a kind, with their kind filled in (lists leave it out)."""
        found: list[Object] = []
        query: dict[str, Any] = {"limit": PAGE, "label_selector": labels or None}
        for _ in range(MAX_PAGES):
            page = await self._request("list", "GET", kind, kind.path(namespace=namespace), **query)
            items = (page or {}).get("items") or []
            found.extend({**item, "apiVersion": kind.api_version, "kind": kind.kind} for item in items)
            query["_continue"] = ((page or {}).get("metadata") or {}).get("continue")
            if not query["_continue"]:
                return found
        raise Transient(f"list {kind.plural}: more than {MAX_PAGES} pages of {PAGE}")

    async def apply(self, manifest: Mapping[str, Any], *, force: bool = True, dry_run: bool = False) -> Object:
        """Server-side apply. With `metadata.uid` in the manifest, only to that very object.

        Without force, a field that someone else set to another value is a Conflict.
        """
        kind, meta = kind_of(manifest), manifest["metadata"]
        path = kind.path(namespace=meta["namespace"], name=meta["name"])
        return await self._apply(kind, path, manifest, force=force, dry_run=dry_run) or {}

    async def apply_status(self, manifest: Mapping[str, Any], *, dry_run: bool = False) -> Object | None:
        """Server-side apply of the status subresource; None when the object is gone."""
        kind, meta = kind_of(manifest), manifest["metadata"]
        path = kind.path(namespace=meta["namespace"], name=meta["name"], subresource="status")
        return await self._apply(kind, path, manifest, force=True, dry_run=dry_run, absent_is_none=True)

    async def create(self, manifest: Mapping[str, Any]) -> Object:
        """Create what must not exist yet; a Conflict when it does."""
        kind = kind_of(manifest)
        path = kind.path(namespace=manifest["metadata"]["namespace"])
        return await self._request("create", "POST", kind, path, body=manifest, field_manager=FIELD_MANAGER) or {}

    async def replace(self, manifest: Mapping[str, Any]) -> Object:
        """Replace the version named by `metadata.resourceVersion`; a Conflict when there is a newer one."""
        kind, meta = kind_of(manifest), manifest["metadata"]
        path = kind.path(namespace=meta["namespace"], name=meta["name"])
        return await self._request("replace", "PUT", kind, path, body=manifest, field_manager=FIELD_MANAGER) or {}

    async def delete(self, kind: Kind, *, namespace: str, name: str, uid: str) -> None:
        """Delete that very object; done when it, or the name, is gone already."""
        body = {"preconditions": {"uid": uid}, "propagationPolicy": "Background"}
        path = kind.path(namespace=namespace, name=name)
        try:
            await self._request("delete", "DELETE", kind, path, body=body, absent_is_none=True)
        except Conflict:
            return  # the name belongs to another object by now

    async def _apply(
        self,
        kind: Kind,
        path: str,
        body: Mapping[str, Any],
        *,
        force: bool,
        dry_run: bool,
        absent_is_none: bool = False,
    ) -> Object | None:
        options = {
            "field_manager": FIELD_MANAGER,
            "force_conflicts": force,
            "dry_run": "All" if dry_run else None,
            "content_type": "application/apply-patch+yaml",
        }
        return await self._request("apply", "PATCH", kind, path, body=body, absent_is_none=absent_is_none, **options)

    async def _request(
        self, verb: str, method: str, kind: Kind, path: str, *, absent_is_none: bool = False, **params: object
    ) -> Object | None:
        what = f"{verb} {kind.kind} {path.rsplit('/namespaces/', 1)[-1]}"
        if method != "GET" and not self.may_write():
            raise Transient(f"{what}: not sent, the lease may belong to another operator")
        result = "error"
        try:
            answer = await self._send(method, path, params)
            result = "ok"
        except ApiException as error:
            result = str(error.status)
            if error.status == 404 and absent_is_none and _is_absence(error):  # noqa: PLR2004 -- HTTP
                return None
            raise failure_of(
                status=int(error.status or 0), body=str(error.body or error.reason or ""), what=what
            ) from None
        except TimeoutError:
            result = "timeout"
            raise Transient(f"{what}: no answer in time") from None
        except (OSError, kube.rest.aiohttp.ClientError, ValueError) as error:  # ValueError: an answer that isn't JSON
            raise Transient(f"{what}: {type(error).__name__}: {error}"[:500]) from None
        finally:
            self.count(verb=verb, resource=kind.plural, result=result)
        return answer

    async def _send(self, method: str, path: str, params: Mapping[str, Any]) -> Object:
        seconds = LIST_SECONDS if "limit" in params else OBJECT_SECONDS
        headers = {} if self.keep_alive else {"Connection": "close"}
        async with asyncio.timeout(seconds):
            # The dynamic client without its discovery: `request` needs none.
            response = await DynamicClient(self.api).request(
                method.lower(), path, serialize=False, header_params=headers, _request_timeout=seconds, **params
            )
            answer = json.loads(await response.read())
        if not isinstance(answer, dict):
            raise ValueError(f"{path}: expected an object, got {type(answer).__name__}")  # noqa: TRY004 -- as bad JSON is
        return answer


def _is_absence(error: ApiException) -> bool:
    """Whether a 404 says that the object is absent. A 404 for the whole path (no such CRD) isn't that."""
    try:
        details = json.loads(str(error.body or "")).get("details") or {}
    except (ValueError, AttributeError):
        return False
    return bool(details.get("name"))


async def connect(*, count: Count, may_write: Callable[[], bool] = lambda: True, keep_alive: bool = True) -> Client:
    """A client by the kubeconfig that KUBECONFIG names, else by the pod's service account."""
    configuration = kube.Configuration()
    if os.environ.get("KUBECONFIG") or not os.environ.get("KUBERNETES_SERVICE_HOST"):
        await kube_config.load_kube_config(client_configuration=configuration)
    else:
        kube_config.load_incluster_config(client_configuration=configuration)
    configuration.connection_pool_maxsize = CONNECTIONS
    return Client(api=kube.ApiClient(configuration), count=count, may_write=may_write, keep_alive=keep_alive)
