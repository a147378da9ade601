"""etcd, API server, controller manager and scheduler: certificates and command lines.

The test suite's throw-away API server and the local cluster are both made of this.
"""

from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

from pdcluster import kubeconfig, pki

# What a pod's service account token is issued for, and by whom.
ISSUER = "https://kubernetes.default.svc.cluster.local"


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """Where one control plane listens and keeps its files."""

    name: str
    directory: Path
    address: str
    service_subnet: IPv4Network
    pod_subnet: IPv4Network
    apiserver_port: int = 6443
    etcd_port: int = 2379
    etcd_peer_port: int = 2380
    controllers_port: int = 10257
    scheduler_port: int = 10259

    @property
    def url(self) -> str:
        """The API server's address."""
        return f"https://{self.address}:{self.apiserver_port}"

    @property
    def etcd_url(self) -> str:
        """The address of etcd, which only the API server may use."""
        return f"https://127.0.0.1:{self.etcd_port}"

    @property
    def pki(self) -> Path:
        """The folder of certificates."""
        return self.directory / "pki"

    def kubeconfig(self, client: str) -> Path:
        """Return the path of one component's kubeconfig."""
        return self.directory / f"{client}.kubeconfig"


def write_certificates(plane: ControlPlane, *, node: str = "") -> None:
    """Make every authority, certificate and kubeconfig; NODE gets a kubelet's certificates when it is named."""
    plane.pki.mkdir(parents=True, exist_ok=True, mode=0o700)
    cluster, front_proxy, etcd = (pki.authority(n) for n in ("kubernetes", "front-proxy", "etcd"))
    for name, pair in (("ca", cluster), ("front-proxy-ca", front_proxy), ("etcd-ca", etcd)):
        pair.write(plane.pki, name)
    service_ip = str(plane.service_subnet[1])
    names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
    local = ("localhost", "127.0.0.1")
    reachable = tuple(dict.fromkeys((*names, service_ip, plane.address, *local)))
    pki.issue(cluster, "kube-apiserver", names=reachable).write(plane.pki, "apiserver")
    pki.issue(cluster, "kube-apiserver-kubelet-client").write(plane.pki, "apiserver-kubelet-client")
    pki.issue(front_proxy, "front-proxy-client").write(plane.pki, "front-proxy-client")
    pki.issue(etcd, "etcd", names=local).write(plane.pki, "etcd")
    pki.issue(etcd, "kube-apiserver").write(plane.pki, "apiserver-etcd-client")
    tokens = pki.new_key()
    pki.write_private(plane.pki / "sa.key", pki.key_pem(tokens))
    (plane.pki / "sa.pub").write_bytes(pki.public_pem(tokens))
    clients = {
        "admin": ("pd-admin", "system:masters"),
        "controller-manager": ("system:kube-controller-manager", ""),
        "scheduler": ("system:kube-scheduler", ""),
        "kube-proxy": ("system:kube-proxy", ""),
    }
    if node:
        clients["kubelet"] = (f"system:node:{node}", "system:nodes")
        pki.issue(cluster, node, names=(node, plane.address)).write(plane.pki, "kubelet")
    for client, (user, group) in clients.items():
        content = kubeconfig.render(
            server=plane.url,
            authority=cluster.certificate_pem,
            client=pki.issue(cluster, user, group=group),
            name=plane.name,
        )
        pki.write_private(plane.kubeconfig(client), content.encode())


def etcd_command(plane: ControlPlane) -> list[str]:
    """Return etcd's command line: one member on loopback, clients known by certificate."""
    peer_url = f"http://127.0.0.1:{plane.etcd_peer_port}"
    return [
        "etcd",
        f"--name={plane.name}",
        f"--data-dir={plane.directory / 'etcd'}",
        f"--listen-client-urls={plane.etcd_url}",
        f"--advertise-client-urls={plane.etcd_url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster={plane.name}={peer_url}",
        f"--cert-file={plane.pki / 'etcd.crt'}",
        f"--key-file={plane.pki / 'etcd.key'}",
        f"--trusted-ca-file={plane.pki / 'etcd-ca.crt'}",
        "--client-cert-auth",
        # Nothing here outlives the machine: waiting for the disk on each write buys nothing.
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def apiserver_command(plane: ControlPlane, *, address: str = "") -> list[str]:
    """Return the API server's command line, with RBAC and node authorisation on."""
    pki_path = plane.pki
    return [
        "kube-apiserver",
        f"--advertise-address={plane.address}",
        f"--bind-address={address or plane.address}",
        f"--secure-port={plane.apiserver_port}",
        f"--service-cluster-ip-range={plane.service_subnet}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--anonymous-auth=false",
        f"--etcd-servers={plane.etcd_url}",
        f"--etcd-cafile={pki_path / 'etcd-ca.crt'}",
        f"--etcd-certfile={pki_path / 'apiserver-etcd-client.crt'}",
        f"--etcd-keyfile={pki_path / 'apiserver-etcd-client.key'}",
        f"--client-ca-file={pki_path / 'ca.crt'}",
        f"--tls-cert-file={pki_path / 'apiserver.crt'}",
        f"--tls-private-key-file={pki_path / 'apiserver.key'}",
        f"--kubelet-certificate-authority={pki_path / 'ca.crt'}",
        f"--kubelet-client-certificate={pki_path / 'apiserver-kubelet-client.crt'}",
        f"--kubelet-client-key={pki_path / 'apiserver-kubelet-client.key'}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--requestheader-client-ca-file={pki_path / 'front-proxy-ca.crt'}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={pki_path / 'front-proxy-client.crt'}",
        f"--proxy-client-key-file={pki_path / 'front-proxy-client.key'}",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={pki_path / 'sa.pub'}",
        f"--service-account-signing-key-file={pki_path / 'sa.key'}",
        "--profiling=false",
    ]


def controller_manager_command(plane: ControlPlane, *, nodes: bool = True) -> list[str]:
    """Return the controller manager's command line; without NODES it only works on objects."""
    config = plane.kubeconfig("controller-manager")
    return [
        "kube-controller-manager",
        f"--kubeconfig={config}",
        f"--authentication-kubeconfig={config}",
        f"--authorization-kubeconfig={config}",
        f"--bind-address={plane.address}",
        f"--secure-port={plane.controllers_port}",
        "--leader-elect=false",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={plane.pki / 'sa.key'}",
        f"--root-ca-file={plane.pki / 'ca.crt'}",
        f"--cluster-signing-cert-file={plane.pki / 'ca.crt'}",
        f"--cluster-signing-key-file={plane.pki / 'ca.key'}",
        f"--allocate-node-cidrs={str(nodes).lower()}",
        f"--cluster-cidr={plane.pod_subnet}",
        f"--node-cidr-mask-size={plane.pod_subnet.prefixlen}",
        f"--service-cluster-ip-range={plane.service_subnet}",
        "--profiling=false",
    ]


def scheduler_command(plane: ControlPlane) -> list[str]:
    """Return the scheduler's command line."""
    config = plane.kubeconfig("scheduler")
    return [
        "kube-scheduler",
        f"--kubeconfig={config}",
        f"--authentication-kubeconfig={config}",
        f"--authorization-kubeconfig={config}",
        f"--bind-address={plane.address}",
        f"--secure-port={plane.scheduler_port}",
        "--leader-elect=false",
        "--profiling=false",
    ]
