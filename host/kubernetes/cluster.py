# SPDX-License-Identifier: Apache-2.0
"""What the driver asks of the API server: claims, and its own node's ResourceSlice.

Objects are plain dictionaries, since the client of Debian 12 is older than resource.k8s.io/v1.
"""
import hashlib
import json
import random
import time

import claims
import kubernetes
import urllib3
from tenants import Refused, is_instance

GROUP = ('resource.k8s.io', 'v1')
TIMEOUT_S = 20
MIB = 1 << 20
SENT = claims.DRIVER + '/sent'


def kind(d):
    """Attributes that say whether a device is a MIG instance, and of which profile."""
    profile = d['name'].partition(' MIG ')[2]
    if not is_instance(d['uuid']):
        return {'type': {'string': 'gpu'}}
    return {'type': {'string': 'mig'}, **({'profile': {'string': profile[:64]}} if profile else {})}


def device(d):
    """A device of a slice. Memory and share of time are given out in parts; who asks for none has all."""
    memory = d['memory'] // MIB
    return {
        'name': claims.device_name(d),
        'allowMultipleAllocations': True,
        'attributes': {'uuid': {'string': d['uuid']}, 'productName': {'string': d['name'][:64]},
                       'sms': {'int': d['sms']}, **kind(d)},
        'capacity': {
            'memory': {'value': f'{memory}Mi', 'requestPolicy': {
                'default': f'{memory}Mi', 'validRange': {'min': '1Mi', 'step': '1Mi', 'max': f'{memory}Mi'}}},
            'share': {'value': '100', 'requestPolicy': {
                'default': '100', 'validRange': {'min': '1', 'step': '1', 'max': '100'}}},
        },
    }


class Cluster:
    """`resync` is how many seconds the slice is taken to be as it was left; `now` is a clock of seconds.

    It is a fifth more or less, so that nodes that have started together do not ask together. For `settle`
    seconds after a kubelet has registered the driver, the slice is taken to be as it was left not at all.
    """

    def __init__(self, node, resync, now=time.monotonic, settle=0):
        self.node = node
        self.resync = resync * random.uniform(0.8, 1.2)
        self.settle = settle
        self.now = now
        self.doubted = now()            # until when
        self.published = None           # (the devices that the cluster has, when that was seen)
        self.slice = f'{node}-{claims.DRIVER}'
        self.objects = kubernetes.client.CustomObjectsApi()
        self.nodes = kubernetes.client.CoreV1Api()

    @staticmethod
    def call(function, *args, missing=False):
        """With `missing`, an object that is not there is None."""
        try:
            return function(*args, _request_timeout=TIMEOUT_S)
        except kubernetes.client.ApiException as e:
            if missing and e.status == 404:
                return None
            raise Refused(f'the API server says {e.status} {e.reason}: {(e.body or "")[:300]}') from e
        except urllib3.exceptions.HTTPError as e:
            raise Refused(f'the API server does not answer: {e}') from e

    def claim(self, namespace, name):
        return self.call(self.objects.get_namespaced_custom_object, *GROUP, namespace, 'resourceclaims', name)

    def publish(self, devices):
        """Brings the node's slice to these devices, if they are others than it was seen with, or that is long ago.

        So a node whose devices stay asks the API server once in a while.
        """
        now = self.now()
        if (self.published and self.published[0] == devices and self.doubted <= now < self.published[1] + self.resync):
            return
        self.published = None
        try:
            self.bring(devices)
        except (AttributeError, KeyError, TypeError) as e:
            raise Refused(f'the slice {self.slice} is not as an API server answers with slices: {e!r}') from e
        self.published = (devices, self.now())

    def registered(self):
        """A kubelet that has started deletes the slices of its node, soon and without a word to drivers.

        Another thread calls it, that of the kubelet's call.
        """
        self.doubted = self.now() + self.settle

    def bring(self, devices):
        """The slice goes with its node. It notes what was sent: a cluster without a feature gate keeps less."""
        wanted = {'driver': claims.DRIVER, 'nodeName': self.node, 'devices': [device(d) for d in devices]}
        note = {SENT: hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()}
        pool = {'name': self.node, 'resourceSliceCount': 1}
        found = self.call(self.objects.get_cluster_custom_object, *GROUP, 'resourceslices', self.slice, missing=True)
        if not found:
            node = self.call(self.nodes.read_node, self.node)
            owner = {'apiVersion': 'v1', 'kind': 'Node', 'name': self.node, 'uid': node.metadata.uid}
            kept = self.call(self.objects.create_cluster_custom_object, *GROUP, 'resourceslices', {
                'apiVersion': '/'.join(GROUP), 'kind': 'ResourceSlice',
                'metadata': {'name': self.slice, 'ownerReferences': [owner], 'annotations': note},
                'spec': {**wanted, 'pool': {**pool, 'generation': 1}}})
        elif (found['metadata'].get('annotations') or {}).get(SENT) != note[SENT]:
            found['metadata']['annotations'] = note
            found['spec'] = {**wanted, 'pool': {**pool, 'generation': found['spec']['pool']['generation'] + 1}}
            kept = self.call(self.objects.replace_cluster_custom_object, *GROUP, 'resourceslices', self.slice, found)
        else:
            return
        if not all(d.get('allowMultipleAllocations') for d in kept['spec'].get('devices') or []):
            raise Refused('the cluster gives out whole devices alone: '
                          'turn on its feature gate DRAConsumableCapacity, and delete the slice ' + self.slice)
