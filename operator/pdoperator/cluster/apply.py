"""apply(plan, live): make the children what the plan says, with no request for a child that is so already.

What is already so is known from memory: the digest of the manifest sent last and a fingerprint of the object that came
back. The fingerprint leaves out status and bookkeeping, so a status update of a workload costs nothing, and any edit of
anything else shows. A restarted operator applies each child once, which changes nothing where nothing differs.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pdoperator.api.errors import Invalid, Transient
from pdoperator.api.labels import DEPLOYMENT_LABEL, MANAGED_BY, MANAGED_BY_LABEL
from pdoperator.cluster.client import Client
from pdoperator.cluster.kinds import kind_of
from pdoperator.live.state import Key, Live, Manifest
from pdoperator.plan.plan import digest

# Changes without anybody having changed what the object asks for.
_BOOKKEEPING = ("resourceVersion", "managedFields", "generation")
_CONTROLLERS_OWN = "deployment.kubernetes.io/"  # annotations by which the Deployment controller counts its revisions

Name = tuple[str, str]  # kind, name: unique among the children of one parent


@dataclass(frozen=True, slots=True)
class _Applied:
    manifest_digest: str
    uid: str
    fingerprint: str


@dataclass(slots=True)
class Applier:
    """Applies plans. Remembers, per PDDeployment, what it applied last."""

    client: Client
    _memory: dict[Key, dict[Name, _Applied]] = field(default_factory=dict)

    async def apply(self, live: Live, manifests: Sequence[Manifest]) -> int:
        """Apply what differs and prune what the plan no longer has; returns the number of writes sent.

        Refuses before the first write when a name is taken by an object that isn't this PDDeployment's.
        """
        memory = self._memory.get(live.key, {})
        wanted = {_name(manifest): manifest for manifest in manifests}
        current = await self._current(live, wanted)
        for name, manifest in wanted.items():
            _check_ours(live, manifest, current[name])
        kept = {name: memory[name] for name in wanted if name in memory}
        self._memory[live.key] = kept
        writes = 0
        for name, manifest in wanted.items():
            if not _is_so(kept.get(name), manifest, current[name]):
                kept[name] = await self._write(manifest, current[name])
                writes += 1
        for child in live.children:
            if _name(child) not in wanted and _controller(child).get("uid") == live.uid and not _going(child):
                await self._prune(child)
                writes += 1
        return writes

    def forget(self, key: Key) -> None:
        """The PDDeployment is gone: so is what was applied for it."""
        self._memory.pop(key, None)

    async def _current(self, live: Live, wanted: Mapping[Name, Manifest]) -> dict[Name, Manifest | None]:
        """The live object of each name. One without our labels isn't in the list: it is looked for by name."""
        found: dict[Name, Manifest | None] = {_name(child): child for child in live.children}
        missing = [name for name in wanted if name not in found]
        looks = await asyncio.gather(*(self._by_name(wanted[name]) for name in missing))
        return found | dict(zip(missing, looks, strict=True))

    async def _by_name(self, manifest: Manifest) -> Manifest | None:
        meta = manifest["metadata"]
        return await self.client.get(kind_of(manifest), namespace=meta["namespace"], name=meta["name"])

    async def _write(self, manifest: Manifest, current: Manifest | None) -> _Applied:
        body = dict(manifest)
        if current is not None:
            # Only that very object as it was read: one recreated, or orphaned, since is a conflict and looked at again.
            seen = {name: current["metadata"][name] for name in ("uid", "resourceVersion")}
            body["metadata"] = {**manifest["metadata"], **seen}
        # Without force when nothing is there: what somebody creates this moment is a conflict, looked at next time.
        answer = await self.client.apply(body, force=current is not None)
        return _Applied(digest(manifest), answer["metadata"]["uid"], fingerprint(answer))

    async def _prune(self, child: Manifest) -> None:
        meta = child["metadata"]
        await self.client.delete(kind_of(child), namespace=meta["namespace"], name=meta["name"], uid=meta["uid"])


def fingerprint(live: Manifest) -> str:
    """What an object asks for: all of it but its status and others' bookkeeping."""
    meta = {name: value for name, value in live["metadata"].items() if name not in _BOOKKEEPING}
    notes = meta.pop("annotations", None) or {}
    meta["annotations"] = {name: text for name, text in notes.items() if not name.startswith(_CONTROLLERS_OWN)}
    return digest({**{name: value for name, value in live.items() if name != "status"}, "metadata": meta})


def _is_so(applied: _Applied | None, manifest: Manifest, current: Manifest | None) -> bool:
    if applied is None or current is None:
        return False
    return (applied.manifest_digest, applied.uid, applied.fingerprint) == (
        digest(manifest),
        current["metadata"]["uid"],
        fingerprint(current),
    )


def _check_ours(live: Live, manifest: Manifest, current: Manifest | None) -> None:
    """Raise unless the child is absent, controlled by this PDDeployment, or an orphan of one of its name."""
    if current is None:
        return
    owner = _controller(current)
    kind, name = _name(manifest)
    if owner.get("uid") == live.uid:
        if _going(current):
            raise Transient(f"{kind} {name} is being deleted: it is made anew when it is gone")
        return
    if owner.get("kind") == live.parent["kind"] and owner.get("name") == live.key.name:
        raise Transient(f"{kind} {name} belongs to a deleted PDDeployment of this name: waiting until it is gone")
    labels = current["metadata"].get("labels") or {}
    orphan = labels.get(MANAGED_BY_LABEL) == MANAGED_BY and labels.get(DEPLOYMENT_LABEL) == live.key.name
    if owner or not orphan:  # an orphan (left by `kubectl delete --cascade=orphan`) is adopted, as Kubernetes' own do
        by = f"is controlled by {owner.get('kind')} {owner.get('name')}" if owner else "isn't managed by pd-operator"
        raise Invalid("metadata.name", f"{kind} {name} exists and {by}; rename it or the PDDeployment {live.key.name}")


def _controller(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    references: list[Mapping[str, Any]] = obj["metadata"].get("ownerReferences") or []
    return next((each for each in references if each.get("controller")), {})


def _going(obj: Mapping[str, Any]) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def _name(manifest: Mapping[str, Any]) -> Name:
    return manifest["kind"], manifest["metadata"]["name"]
