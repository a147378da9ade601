"""kubectl and helm as the demo and the cluster tests call them: by name, bounded in time, errors with their output."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class CommandError(RuntimeError):
    """A command ended with another status than 0; the message is what it said."""


def run(command: Sequence[str], *, env: Mapping[str, str], timeout: float, stdin: str | None = None) -> str:
    """Run a command to its end and return its standard output.

    Raises CommandError with the command and both its outputs, also when the time is up.
    """
    try:
        done = subprocess.run(
            list(command), env=dict(env), timeout=timeout, input=stdin, text=True, capture_output=True, check=False
        )
    except subprocess.TimeoutExpired as late:
        raise CommandError(f"{' '.join(command)}: no end after {timeout:.0f} s") from late
    if done.returncode:
        raise CommandError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


def until(what: str, check: Callable[[], object], *, seconds: float, every: float = 1.0) -> Any:  # noqa: ANN401 -- whatever the check found
    """Call `check` until it returns something true, and return that.

    Raises TimeoutError naming `what` and the last thing seen, be it a false value or the error of a command.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            seen = check()
        except CommandError as failed:
            seen, found = failed, False
        else:
            found = bool(seen)
        if found:
            return seen
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s; last seen: {seen!r}")
        time.sleep(every)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Kubernetes somebody already runs, named by its kubeconfig."""

    kubeconfig: Path
    tools: Path | None = None  # where kubectl and helm lie, when not on the PATH

    @property
    def env(self) -> dict[str, str]:
        """The environment in which kubectl and helm find their cluster."""
        path = os.environ["PATH"]
        return {
            **os.environ,
            "KUBECONFIG": str(self.kubeconfig),
            "PATH": f"{self.tools}:{path}" if self.tools else path,
        }

    def kubectl(self, *args: str, timeout: float = 60, stdin: str | None = None) -> str:
        """What kubectl printed. Raises CommandError."""
        return run(["kubectl", *args], env=self.env, timeout=timeout, stdin=stdin)

    def helm(self, *args: str, timeout: float = 300) -> str:
        """What helm printed. Raises CommandError."""
        return run(["helm", *args], env=self.env, timeout=timeout)

    def get(self, kind: str, name: str, *, namespace: str) -> dict[str, Any]:
        """One object, as JSON. Raises CommandError when it isn't there."""
        found: dict[str, Any] = json.loads(self.kubectl("get", kind, name, "-n", namespace, "-o", "json"))
        return found

    def items(self, kinds: str, *, namespace: str, selector: str = "") -> list[dict[str, Any]]:
        """Every object of these kinds (comma between) that the selector matches, as JSON."""
        found = self.kubectl("get", kinds, "-n", namespace, "-l", selector, "-o", "json")
        items: list[dict[str, Any]] = json.loads(found)["items"]
        return items

    def apply(self, manifest: str, *, namespace: str) -> str:
        """Apply YAML or JSON text, as a user does."""
        return self.kubectl("apply", "-n", namespace, "-f", "-", stdin=manifest)


def condition(obj: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The condition of that type, {} while it hasn't been written."""
    conditions = obj.get("status", {}).get("conditions", [])
    return next((found for found in conditions if found["type"] == kind), {})
