# SPDX-License-Identifier: Apache-2.0
"""What the node's containers have, as the kubelet says it, and whose tenants are which pods'."""
import collections
import json
import os

import grpc
import podresources_pb2 as wire
import rpc
from tenants import Refused

TIMEOUT_S = 10
GPU = 'nvidia.com/gpu'
TENANT = 'wormhole/tenant='     # how the CDI devices of claims are named
LABELS = 'pods'                 # in the server's folder; `wormhole metrics' reads it

# `devices` are sets of ids by resource; `tenants` are those of claims.
Container = collections.namedtuple('Container', 'namespace pod name devices tenants')


def share_of(ids):
    """The name of the share of a container that has these units of nvidia.com/gpu.

    None if it has none, or units that another plugin gave out, whose names are no numbers.
    """
    return f'vgpu-{min(map(int, ids))}' if ids and all(i.isdecimal() for i in ids) else None


class Pods:
    def __init__(self, kubelet):
        self.socket = os.path.join(kubelet, 'pod-resources', 'kubelet.sock')

    def kubelet(self):
        """Which kubelet there is, as the next one has another socket, and when it made that (seconds of the clock)."""
        try:
            s = os.stat(self.socket)
        except OSError as e:
            raise Refused(f'there is no kubelet at {self.socket}: {e.strerror}') from e
        return (s.st_dev, s.st_ino, s.st_ctime_ns), s.st_ctime

    def containers(self):
        """All containers of pods that have not ended."""
        try:
            answer = rpc.call(self.socket, wire.DESCRIPTOR.services_by_name['PodResourcesLister'], 'List',
                              wire.ListPodResourcesRequest(), TIMEOUT_S)
        except grpc.RpcError as e:
            raise Refused(f'the kubelet does not say at {self.socket} what containers have: {e.details()}') from e
        return [self.container(p, c) for p in answer.pod_resources for c in p.containers]

    @staticmethod
    def container(pod, c):
        devices = {}
        for d in c.devices:
            devices.setdefault(d.resource_name, set()).update(d.device_ids)
        named = [n.name for r in c.dynamic_resources for part in r.claim_resources for n in part.cdi_devices]
        return Container(pod.namespace, pod.name, c.name, devices,
                         {n[len(TENANT):] for n in named if n.startswith(TENANT)})


def labels(containers):
    """The pod of each tenant. What several containers of one tenant do not have in common is left out."""
    found = {}
    for c in containers:
        own = share_of(c.devices.get(GPU))
        said = {'namespace': c.namespace, 'pod': c.pod, 'container': c.name}
        for tenant in sorted(c.tenants) + ([own] if own else []):
            found[tenant] = {k: v for k, v in found.get(tenant, said).items() if said[k] == v}
    return found


def tell(folder, containers):
    """Writes whose tenants are which pods' into the server's folder, if it is not what stands there."""
    if not os.path.isdir(folder):
        return      # there is no server, and so no tenant
    path = os.path.join(folder, LABELS)
    text = json.dumps(labels(containers), indent=1, sort_keys=True) + '\n'
    try:
        with open(path, encoding='utf-8') as f:
            if f.read() == text:
                return
    except (OSError, ValueError):
        pass
    try:
        # The folder is root's, and two drivers of a node may write: each has a draft of its own.
        new = f'{path}.{os.getpid()}'
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 'w', encoding='utf-8') as f:
            f.write(text)
        os.rename(new, path)
    except OSError as e:
        raise Refused(f'{path}: {e.strerror}; metrics have no labels of pods') from e
