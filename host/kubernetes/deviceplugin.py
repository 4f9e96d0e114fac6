# SPDX-License-Identifier: Apache-2.0
"""The device plugins of a node, one for each resource, as a kubelet calls them."""
import os
import sys
import threading

import deviceplugin_pb2 as wire
import grpc
import rpc
from pods import GPU, share_of
from tenants import Refused

VERSION = 'v1beta1'
TIMEOUT_S = 10
AWAKE_S = 1             # how long a watcher that has gone away is not noticed
LIST = 4 << 20          # bytes of a list, at most: a kubelet takes no more
MANY = 16 << 10         # units from which on a kubelet of 1.36 is slow
OPTIONS = wire.DevicePluginOptions(pre_start_required=True)
KIND = 'wormhole/share='


def warn(text):
    print('wormhole: warn: ' + text, file=sys.stderr, flush=True)


class Plugin:
    """One resource's service. `start` is called before each start of a container, with ids."""

    def __init__(self, resource, folder, start):
        self.resource = resource
        self.folder = folder
        self.start = start
        self.endpoint = 'wormhole-' + resource.partition('/')[2] + '.sock'
        self.server = None
        self.kubelet = None             # the kubelet's socket that this is registered with
        self.changed = threading.Condition()
        self.units = None
        self.version = 0
        self.ended = False

    # --- What the kubelet calls ----------------------------------------------------------------------------

    def watch(self, _, context):
        told = 0
        while context.is_active() and not self.ended:
            with self.changed:
                self.changed.wait_for(lambda: self.version != told or self.ended, AWAKE_S)
                if self.version == told:
                    continue
                told, units = self.version, self.units
            yield wire.ListAndWatchResponse(devices=[
                wire.Device(ID=i, health='Healthy' if well else 'Unhealthy') for i, well in units])

    def allocate(self, request, context):
        """The share's name is known now, and what it is only when the container starts."""
        answer = wire.AllocateResponse()
        for c in request.container_requests:
            one = answer.container_responses.add()
            share = share_of(c.devices_ids)
            if self.resource == GPU and not share:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, f'these are no units of {GPU}')
            if self.resource == GPU:
                # Kubelets before 1.29 pass on annotations alone; engines read both, and take one.
                one.cdi_devices.add(name=KIND + share)
                one.annotations['cdi.k8s.io/wormhole'] = KIND + share
        return answer

    def before_start(self, request, context):
        try:
            self.start(self.resource, list(request.devices_ids))
        except Refused as e:
            warn(str(e))
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(e))
        return wire.PreStartContainerResponse()

    # --- Its life --------------------------------------------------------------------------------------------

    def tell(self, units):
        """What the kubelet may give out from now on."""
        size = sum(len(i) + len('Unhealthy') + 6 for i, _ in units)
        if size > LIST:
            raise SystemExit(f'wormhole: error: {len(units)} units of {self.resource} are more than a kubelet takes; '
                             'give --unit a larger number of MiB')
        if len(units) > MANY and not self.units:
            warn(f'{len(units)} units of {self.resource} keep a kubelet from 1.36 busy for minutes: turn its feature '
                 'gates ResourceHealthStatus and ResourceHealthStatusMessage off, or give --unit a larger number '
                 'of MiB')
        with self.changed:
            if units != self.units:
                self.units = units
                self.version += 1
                self.changed.notify_all()

    def listen(self):
        service = wire.DESCRIPTOR.services_by_name['DevicePlugin']
        return rpc.listen(os.path.join(self.folder, self.endpoint), rpc.handler(service, {
            'GetDevicePluginOptions': lambda *_: OPTIONS, 'ListAndWatch': self.watch,
            'Allocate': self.allocate, 'PreStartContainer': self.before_start}))

    def end(self):
        if self.server:
            self.server.stop(grace=None).wait()     # also removes its socket
            self.server = None

    def keep(self):
        """Registers with the kubelet, and again with the next one, which has removed the sockets."""
        socket = os.path.join(self.folder, 'kubelet.sock')
        try:
            s = os.stat(socket)
            now = (s.st_dev, s.st_ino, s.st_ctime_ns)
        except OSError as e:
            self.kubelet = None
            raise Refused(f'there is no kubelet at {socket}: {e.strerror}') from e
        if now == self.kubelet and os.path.exists(os.path.join(self.folder, self.endpoint)):
            return
        self.end()
        self.server = self.listen()
        try:
            rpc.call(socket, wire.DESCRIPTOR.services_by_name['Registration'], 'Register', wire.RegisterRequest(
                version=VERSION, endpoint=self.endpoint, resource_name=self.resource, options=OPTIONS), TIMEOUT_S)
        except grpc.RpcError as e:
            self.kubelet = None
            raise Refused(f'the kubelet does not take {self.resource}: {e.details()}') from e
        self.kubelet = now
