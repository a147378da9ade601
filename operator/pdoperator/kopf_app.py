"""kopf, as the source of events and nothing more: every handler is one line that puts a key on our queue.

Only `on.event`: any other kind of handler makes kopf write to the objects (a finalizer, or annotations).
"""

import asyncio
import os
from pathlib import Path
from typing import Any, cast

import kopf

from pdoperator.cluster.gather import MANAGED_SELECTOR, parents_of
from pdoperator.cluster.kinds import CHILD_KINDS, PDDEPLOYMENT, POD, Kind
from pdoperator.controller.run import Hint
from pdoperator.controller.settings import RunSettings
from pdoperator.live.state import Key

WATCHED_CHILDREN = (*CHILD_KINDS, POD)

_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


async def watch(settings: RunSettings, hint: Hint, *, ready: asyncio.Event, stop: asyncio.Event) -> None:
    """Call `hint` for every event, until `stop` is set. A watch that can't go on raises."""
    await kopf.operator(
        registry=_registry(hint),
        settings=_settings(settings),
        # kopf's default needs a passwd entry, which a pod may lack; the type isn't exported.
        identity=cast("Any", settings.identity),
        standalone=True,  # a stray KopfPeering object must not pause us: one operator acts by our own Lease
        clusterwide=not settings.namespaces,
        namespaces=settings.namespaces,
        ready_flag=ready,
        stop_flag=stop,
    )


def _registry(hint: Hint) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()

    @kopf.on.event(PDDEPLOYMENT.group, PDDEPLOYMENT.version, PDDEPLOYMENT.plural, registry=registry)
    async def parent_changed(namespace: str | None, name: str | None, **_: Any) -> None:  # noqa: ANN401 -- kopf's kwargs
        hint(PDDEPLOYMENT, Key(str(namespace), str(name)))

    for kind in WATCHED_CHILDREN:
        kopf.on.event(kind.group, kind.version, kind.plural, id=kind.plural, registry=registry)(
            _child_changed(kind, hint)
        )

    kopf.on.login(registry=registry)(login)
    return registry


def _child_changed(kind: Kind, hint: Hint) -> Any:  # noqa: ANN401 -- whatever kopf's decorator takes
    async def changed(meta: kopf.Meta, **_: Any) -> None:  # noqa: ANN401 -- kopf's kwargs
        hint(kind, *parents_of(meta))

    return changed


def login(**kwargs: Any) -> kopf.ConnectionInfo | None:  # noqa: ANN401 -- kopf's kwargs
    """The kubeconfig that KUBECONFIG names, else the pod's service account, as the operator's own client does."""
    host = os.environ.get("KUBERNETES_SERVICE_HOST")
    if os.environ.get("KUBECONFIG") or not host:
        return kopf.login_with_kubeconfig(**kwargs)
    # By address, not by kopf's own kubernetes.default.svc: watching must not depend on the cluster's DNS.
    host = f"[{host}]" if ":" in host else host
    return kopf.ConnectionInfo(
        server=f"https://{host}:{os.environ.get('KUBERNETES_SERVICE_PORT', '443')}",
        ca_path=str(_TOKEN.with_name("ca.crt")),
        token=_TOKEN.read_text(encoding="utf-8").strip(),
    )


def _settings(settings: RunSettings) -> kopf.OperatorSettings:
    ours = kopf.OperatorSettings()
    ours.posting.enabled = False  # Events are ours: on transitions only
    ours.scanning.disabled = True  # the chart installs the CRD first; so no rights to watch CRDs and namespaces
    ours.networking.request_timeout = 30.0  # kopf's 5 minutes are an outage
    ours.networking.connect_timeout = 5.0
    ours.networking.error_backoffs = (1, 1, 2, 3, 5, 8)
    ours.persistence.finalizer = f"{PDDEPLOYMENT.group}/unused"  # nothing sets one; never under kopf's name
    ours.process.ultimate_exiting_timeout = 8.0  # under the 10 s in which a stop must end
    ours.watching.inactivity_timeout = settings.watch_inactivity_seconds
    # On the server's side: a client-side filter would still hold 32 KiB per foreign pod in memory.
    for kind in WATCHED_CHILDREN:
        ours.watching.label_selectors[kind.group, kind.version, kind.plural] = MANAGED_SELECTOR
    return ours
