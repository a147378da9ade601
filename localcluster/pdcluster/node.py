"""Configuration of what runs on the node: containerd, its network plugins, kubelet, kube-proxy."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pdcluster.settings import Settings

PAUSE_IMAGE = "localhost/pause:1"
# One node holds every pod of the scale measures that has a process; its pod subnet has room for twice as many.
MAX_PODS = 110


def containerd_toml(settings: Settings) -> str:
    """Return containerd's configuration."""
    return f"""version = 2
root = "{settings.state}/containerd"
state = "{settings.run}/containerd"
# opt makes a folder /opt/containerd; the other snapshotters look for file systems that are not used here.
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
]

[grpc]
  address = "{settings.containerd_socket}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  # Without CAP_SYS_RESOURCE a sandbox that asks for a lower score than ours does not start.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{settings.state}/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"""


def network_conflist(settings: Settings) -> dict[str, Any]:
    """Return the pod network: a routed link per pod, shaped where a pod's annotations say so.

    Routed and not bridged: what a pod sends to a Service comes back through the same translation, without help from
    the kernel's bridge filter.
    """
    ipam = {
        "type": "host-local",
        "dataDir": f"{settings.state}/cni/addresses",
        "ranges": [[{"subnet": str(settings.pod_subnet)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    plugins = [
        {"type": "ptp", "ipMasq": False, "ipam": ipam},
        {"type": "portmap", "capabilities": {"portMappings": True}},
        {"type": "bandwidth", "capabilities": {"bandwidth": True}},
    ]
    return {"cniVersion": "1.0.0", "name": settings.name, "plugins": plugins}


def kubelet_configuration(settings: Settings) -> dict[str, Any]:
    """Return the kubelet's configuration; it is right for both versions of control groups."""
    pki = settings.plane.pki
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{settings.containerd_socket}",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(pki / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(pki / "kubelet.crt"),
        "tlsPrivateKeyFile": str(pki / "kubelet.key"),
        "healthzBindAddress": settings.node_address,
        "clusterDomain": "cluster.local",
        "clusterDNS": [settings.dns_address],
        "resolvConf": str(resolv_conf(settings)),  # a pod finds no name server but ours
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": settings.cgroup,
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "maxPods": MAX_PODS,
        "oomScoreAdj": 0,  # a lower one needs CAP_SYS_RESOURCE
        "serializeImagePulls": False,
        "registryPullQPS": 0,
        "volumePluginDir": f"{settings.state}/kubelet-plugins",
        # The disk is the developer's own and may be nearly full: that must neither evict a pod nor delete an image.
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {
            "memory.available": "0%",
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "0%",
            "imagefs.inodesFree": "0%",
        },
    }


def proxy_configuration(settings: Settings) -> dict[str, Any]:
    """Return kube-proxy's configuration."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": str(settings.plane.kubeconfig("kube-proxy"))},
        "clusterCIDR": str(settings.pod_subnet),
        "hostnameOverride": settings.name,
        "healthzBindAddress": f"{settings.node_address}:10256",
        "metricsBindAddress": f"{settings.node_address}:10249",
        "oomScoreAdj": 0,
        "conntrack": {"maxPerCore": 0},  # the host's own table size is not ours to set
    }


def containerd_command(settings: Settings) -> list[str]:
    """Return containerd's command line."""
    return ["containerd", f"--config={_config(settings, 'containerd.toml')}"]


def kubelet_command(settings: Settings) -> list[str]:
    """Return the kubelet's command line."""
    return [
        "kubelet",
        f"--config={_config(settings, 'kubelet.json')}",
        f"--kubeconfig={settings.plane.kubeconfig('kubelet')}",
        f"--hostname-override={settings.name}",
        f"--node-ip={settings.node_address}",
        f"--node-labels=pdoperator.io/local-cluster={settings.name}",
        f"--cert-dir={settings.plane.pki}",
    ]


def proxy_command(settings: Settings) -> list[str]:
    """Return kube-proxy's command line."""
    return ["kube-proxy", f"--config={_config(settings, 'kube-proxy.json')}"]


def files(settings: Settings) -> Mapping[Path, str]:
    """Return every configuration file of the node."""
    return {
        _config(settings, "containerd.toml"): containerd_toml(settings),
        _config(settings, "kubelet.json"): json.dumps(kubelet_configuration(settings), indent=1),
        _config(settings, "kube-proxy.json"): json.dumps(proxy_configuration(settings), indent=1),
        settings.state / "cni/net.d/10-pods.conflist": json.dumps(network_conflist(settings), indent=1),
        resolv_conf(settings): "",
    }


def resolv_conf(settings: Settings) -> Path:
    """Return the path of the name server list that pods inherit."""
    return _config(settings, "resolv.conf")


def _config(settings: Settings, name: str) -> Path:
    return settings.state / "config" / name
