"""Where one local cluster lives: its name, folders, addresses and programs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

from pdcluster.controlplane import ControlPlane

DEFAULT_NAME = "pdcluster"
# A link's name has at most 15 characters, and ours get a suffix of 2.
NAME_PATTERN = re.compile(r"[a-z][a-z0-9]{0,11}")
# The third octet of every network: clusters beside each other take different ones.
MAX_SUBNET = 255


class SettingsError(ValueError):
    """A setting that can't be used, named together with its value."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One local cluster."""

    name: str
    subnet: int
    cache: Path

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Read PDCLUSTER_NAME and PDCLUSTER_SUBNET (for a second cluster beside the first) and XDG_CACHE_HOME."""
        name = environment.get("PDCLUSTER_NAME") or DEFAULT_NAME
        if not NAME_PATTERN.fullmatch(name):
            raise SettingsError(f"PDCLUSTER_NAME={name!r}: must match {NAME_PATTERN.pattern}")
        subnet = environment.get("PDCLUSTER_SUBNET") or "0"
        if not (subnet.isdecimal() and int(subnet) <= MAX_SUBNET):
            raise SettingsError(f"PDCLUSTER_SUBNET={subnet!r}: must be a number from 0 to {MAX_SUBNET}")
        home = environment.get("HOME") or str(Path.home())
        cache = Path(environment.get("XDG_CACHE_HOME") or Path(home) / ".cache")
        return cls(name, int(subnet), cache / "pd-operator")

    @property
    def binaries(self) -> Path:
        """The folder of the Kubernetes programs, helm and CoreDNS."""
        return self.cache / "bin"

    @property
    def client(self) -> Path:
        """The folder of what users of the cluster read: its kubeconfig."""
        return self.cache / ("cluster" if self.name == DEFAULT_NAME else f"cluster-{self.name}")

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.client / "kubeconfig"

    @property
    def state(self) -> Path:
        """What the cluster keeps on disk; gone after `down`."""
        return Path("/var/lib") / self.name

    @property
    def run(self) -> Path:
        """Sockets, pids and pinned namespaces; gone after `down`."""
        return Path("/run") / self.name

    @property
    def logs(self) -> Path:
        """The components' logs."""
        return self.state / "logs"

    @property
    def network_namespace(self) -> Path:
        """The network namespace that every part runs in."""
        return self.run / "ns" / "net"

    @property
    def mount_namespace(self) -> Path:
        """The mount namespace that every part runs in: its mounts end with it."""
        return self.run / "ns" / "mnt"

    @property
    def containerd_socket(self) -> Path:
        """The address of our containerd."""
        return self.run / "containerd.sock"

    @property
    def cgroup(self) -> str:
        """The control group, in every hierarchy, that every process of the cluster is below."""
        return f"/{self.name}"

    @property
    def link(self) -> IPv4Network:
        """The two ends between the host and the node."""
        return IPv4Network(f"10.213.{self.subnet}.0/30")

    @property
    def host_address(self) -> str:
        """The host's end."""
        return str(self.link[1])

    @property
    def node_address(self) -> str:
        """The node's end: the node IP, and where the API server listens."""
        return str(self.link[2])

    @property
    def pod_subnet(self) -> IPv4Network:
        """Pods' addresses."""
        return IPv4Network(f"10.214.{self.subnet}.0/24")

    @property
    def service_subnet(self) -> IPv4Network:
        """Services' addresses."""
        return IPv4Network(f"10.215.{self.subnet}.0/24")

    @property
    def dns_address(self) -> str:
        """The address of the kube-dns Service."""
        return str(self.service_subnet[10])

    @property
    def plane(self) -> ControlPlane:
        """The control plane."""
        return ControlPlane(
            name=self.name,
            directory=self.state / "control",
            address=self.node_address,
            service_subnet=self.service_subnet,
            pod_subnet=self.pod_subnet,
        )
