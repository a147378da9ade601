"""gather(key): the only reader of a PDDeployment and its children, live from the API server each time.

Events and caches are hints: after a broken watch a cache keeps objects that are gone, and applying for a deleted parent
would bring its children back.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from pdoperator.api.labels import DEPLOYMENT_LABEL, MANAGED_BY, MANAGED_BY_LABEL
from pdoperator.cluster.client import Client
from pdoperator.cluster.kinds import CHILD_KINDS, PDDEPLOYMENT, POD
from pdoperator.live.objects import pods_of, workloads_of
from pdoperator.live.state import Key, Live

MANAGED_SELECTOR = f"{MANAGED_BY_LABEL}={MANAGED_BY}"


async def gather(client: Client, key: Key) -> Live | None:
    """The parent and its children as they are now; None when the parent is gone or going."""
    labels = f"{MANAGED_SELECTOR},{DEPLOYMENT_LABEL}={key.name}"
    kinds = (*CHILD_KINDS, POD)
    lists = await asyncio.gather(*(client.list(kind, namespace=key.namespace, labels=labels) for kind in kinds))
    # After the children: where one was orphaned by now (`delete --cascade=orphan`), its parent shows as going here.
    # Owned again by a parent that is gone, the garbage collector would take it.
    parent = await client.get(PDDEPLOYMENT, namespace=key.namespace, name=key.name)
    if parent is None or parent["metadata"].get("deletionTimestamp"):
        return None
    children = tuple(child for found in lists[:-1] for child in found)
    meta = parent["metadata"]
    return Live(
        key=key,
        uid=meta["uid"],
        generation=meta["generation"],
        resource_version=meta["resourceVersion"],
        parent=parent,
        status=parent.get("status") or {},
        children=children,
        pods=pods_of(lists[-1]),
        workloads=workloads_of(children),
    )


def parents_of(meta: Mapping[str, Any]) -> tuple[Key, ...]:
    """Whom a change of this child may concern: by its owner and by its label, as either may have been edited."""
    names = [each.get("name") for each in meta.get("ownerReferences") or () if each.get("kind") == PDDEPLOYMENT.kind]
    names.append((meta.get("labels") or {}).get(DEPLOYMENT_LABEL))
    return tuple(Key(str(meta.get("namespace")), name) for name in dict.fromkeys(names) if name)
