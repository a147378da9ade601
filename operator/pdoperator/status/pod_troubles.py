"""What keeps a role's pods from working, from what the kubelet and the scheduler say."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from pdoperator.api.conditions import Finding, Reason, Status
from pdoperator.live.state import Pod
from pdoperator.topology.role import Role
from pdoperator.verify.wording import names

MOST_QUOTED: Final = 400  # characters of somebody else's words in a message of ours
# A container that came this often and isn't ready loops, also in the moments when it runs: the condition must not
# flicker with each attempt.
_RESTARTS_OF_A_LOOP = 3
_NO_IMAGE = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
     "RegistryUnavailable", "SignatureValidationFailed"}
)  # fmt: skip
_LOOPS = "CrashLoopBackOff"
# The kubelet alternates between the error and "Back-off pulling image ...: <the error>"; both are the same news.
_BACK_OFF = re.compile(r'Back-off pulling image "[^"]*"(?:: )?')
_ERROR_NAME = re.compile(r"^(?:ErrImagePull|ImagePullBackOff): ")
_EPHEMERAL_PORT = re.compile(r"(?<=[0-9\]]):[0-9]{4,5}(?=->)")  # a new one with every attempt

Check = Callable[[Role, Sequence[Pod]], Finding | None]


def pod_trouble(role: Role, pods: Sequence[Pod]) -> Finding | None:
    """The worst that is known about these pods of one role; None when nothing is."""
    found = (check(role, pods) for check in _CHECKS)
    return next((each for each in found if each is not None), None)


def quoted(text: str) -> str:
    """Somebody else's words on one line, bounded."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_QUOTED else f"{line[:MOST_QUOTED]}…"


def _no_image(role: Role, pods: Sequence[Pod]) -> Finding | None:
    stuck = [pod for pod in pods if pod.waiting_reason in _NO_IMAGE]
    if not stuck:
        return None
    images = names(pod.waiting_image or "(no name)" for pod in stuck)
    words = _first(_pull_error(pod.waiting_message) for pod in stuck) or _first(pod.waiting_reason for pod in stuck)
    return _trouble(
        Reason.IMAGE_PULL_FAILED,
        f"{role.value}: image {images} can't be pulled: {quoted(words)}. Correct the image or its pull secret; the pod "
        "recovers by itself.",
    )


def _not_started(role: Role, pods: Sequence[Pod]) -> Finding | None:
    stuck = [pod for pod in pods if pod.waiting_reason and pod.waiting_reason not in {*_NO_IMAGE, _LOOPS}]
    if not stuck:
        return None
    words = _first(pod.waiting_message or pod.waiting_reason for pod in stuck)
    where = names(pod.name for pod in stuck)
    return _trouble(Reason.CONTAINER_NOT_STARTED, f"{role.value}: {where} can't start its container: {quoted(words)}")


def _crash_looping(role: Role, pods: Sequence[Pod]) -> Finding | None:
    loops = [
        pod for pod in pods if not pod.ready and (pod.waiting_reason == _LOOPS or pod.restarts >= _RESTARTS_OF_A_LOOP)
    ]
    if not loops:
        return None
    exits = names(pod.last_exit for pod in loops if pod.last_exit)
    ended = f" with {exits}" if exits else ""
    where = names(pod.name for pod in loops)
    return _trouble(
        Reason.CRASH_LOOPING,
        f"{role.value}: {where} keeps exiting{ended}. Read `kubectl logs {loops[0].name} --previous`.",
    )


def _unschedulable(role: Role, pods: Sequence[Pod]) -> Finding | None:
    homeless = [pod for pod in pods if pod.unschedulable_message]
    if not homeless:
        return None
    words = _first(pod.unschedulable_message for pod in homeless)
    where = names(pod.name for pod in homeless)
    return _trouble(Reason.PODS_UNSCHEDULABLE, f"{role.value}: no node for {where}: {quoted(words)}")


_CHECKS: tuple[Check, ...] = (_no_image, _not_started, _crash_looping, _unschedulable)


def _pull_error(message: str) -> str:
    return _EPHEMERAL_PORT.sub("", _ERROR_NAME.sub("", _BACK_OFF.sub("", message)))


def _first(texts: Iterable[str]) -> str:
    """One of several pods' words, the same one whatever order they came in."""
    return min((each for each in texts if each), default="")


def _trouble(reason: Reason, message: str) -> Finding:
    return Finding(Status.FALSE, reason, message)
