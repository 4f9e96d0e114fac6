#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A kubelet's device manager, for tests of the device plugin: it registers plugins, gives out units
that are healthy and free, and says which container has which.

node_kubelet.py FOLDER serve                      is the kubelet of the folder FOLDER/kubelet
node_kubelet.py FOLDER WORD [ARGUMENT...]         has that kubelet do it, and prints what it answers:
    units                    of each resource, healthy ones and all
    admit POD [RES=N...]     gives a pod's one container units, of nvidia.com/RES
    start POD                prints the CDI devices that the container starts with
    end POD                  the pod is gone
    restart [unsynced]       the kubelet starts again: it removes all sockets, and keeps what was given out
    sync                     it hears of its pods from the API server: unsynced, it names none before
    claim POD TENANT         a pod whose container has a claim's tenant
A pod is `team/NAME'; its container is `main'.
"""
import json
import multiprocessing.connection as connection
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.environ['WH_BUILD'], 'kubernetes'))
import deviceplugin_pb2 as wire         # noqa: E402
import grpc                             # noqa: E402
import podresources_pb2 as podwire      # noqa: E402
import rpc                              # noqa: E402

DOMAIN = 'nvidia.com/'
WAIT_S = 60
SERVICE = wire.DESCRIPTOR.services_by_name


class Endpoint:
    """A plugin that has registered, with the units that it told last."""

    def __init__(self, path):
        self.path = path
        self.units = {}
        self.told = threading.Event()
        self.channel = grpc.insecure_channel('unix:' + path)
        threading.Thread(target=self.watch, daemon=True).start()
        self.options = self.call('GetDevicePluginOptions', wire.Empty())

    def watch(self):
        listed = self.channel.unary_stream('/v1beta1.DevicePlugin/ListAndWatch',
                                           request_serializer=wire.Empty.SerializeToString,
                                           response_deserializer=wire.ListAndWatchResponse.FromString)
        try:
            for answer in listed(wire.Empty()):
                self.units = {d.ID: d.health == 'Healthy' for d in answer.devices}
                self.told.set()
        except (grpc.RpcError, ValueError):
            pass
        self.units = {i: False for i in self.units}     # as a kubelet does when an endpoint stops

    def call(self, method, request):
        return rpc.call(self.path, SERVICE['DevicePlugin'], method, request, WAIT_S)


class Refusal(Exception):
    pass


class Kubelet:
    def __init__(self, folder):
        self.folder = os.path.join(folder, 'kubelet')
        self.devices = os.path.join(self.folder, 'device-plugins')
        os.makedirs(self.devices, exist_ok=True)
        os.makedirs(os.path.join(self.folder, 'pod-resources'), exist_ok=True)
        self.endpoints = {}
        self.pods = {}          # name: {resource: ids}
        self.cdi = {}           # name: devices
        self.claims = {}        # name: tenant
        self.servers = []
        self.synced = True
        self.listen()

    def listen(self):
        registration = rpc.handler(SERVICE['Registration'], {'Register': self.register})
        resources = rpc.handler(podwire.DESCRIPTOR.services_by_name['PodResourcesLister'], {'List': self.list})
        self.servers = [rpc.listen(os.path.join(self.devices, 'kubelet.sock'), registration),
                        rpc.listen(os.path.join(self.folder, 'pod-resources/kubelet.sock'), resources)]

    # --- What plugins ask --------------------------------------------------------------------------------------

    def register(self, request, context):
        if request.version != 'v1beta1':
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f'version {request.version}')
        path = os.path.join(self.devices, request.endpoint)

        def connect():
            self.endpoints[request.resource_name] = Endpoint(path)
        threading.Thread(target=connect, daemon=True).start()
        return wire.Empty()

    def list(self, _, __):
        answer = podwire.ListPodResourcesResponse()
        for name in list(self.pods) if self.synced else []:
            namespace, _, pod = name.partition('/')
            p = answer.pod_resources.add(name=pod, namespace=namespace)
            c = p.containers.add(name='main')
            for resource, ids in self.pods[name].items():
                c.devices.add(resource_name=resource, device_ids=ids)
            if name in self.claims:
                c.dynamic_resources.add(claim_name='c', claim_namespace=namespace).claim_resources.add(
                ).cdi_devices.add(name='wormhole/tenant=' + self.claims[name])
        return answer

    # --- What it does ------------------------------------------------------------------------------------------

    def units(self):
        """Of each resource, the healthy units and all."""
        return {r[len(DOMAIN):]: [sum(e.units.values()), len(e.units)] for r, e in sorted(self.endpoints.items())}

    def free(self, resource):
        held = {i for p in self.pods.values() for i in p.get(resource, [])}
        e = self.endpoints.get(resource)
        return [i for i, well in e.units.items() if well and i not in held] if e else []

    def admit(self, name, *wanted):
        """Gives units of each resource, in no order, to the pod; all that it has goes if one is refused."""
        wanted = [(DOMAIN + r, int(n)) for r, n in (w.split('=') for w in wanted)]
        random.shuffle(wanted)
        given, devices = {}, []
        for resource, n in wanted:
            free = self.free(resource)
            if len(free) < n:
                raise Refusal(f'{len(free)} of {resource} are free')
            given[resource] = random.sample(free, n)
            answer = self.endpoints[resource].call('Allocate', wire.AllocateRequest(
                container_requests=[wire.ContainerAllocateRequest(devices_ids=given[resource])]))
            devices += [d.name for d in answer.container_responses[0].cdi_devices]
        self.pods[name], self.cdi[name] = given, devices
        return devices

    def start(self, name):
        for resource in random.sample(list(self.pods[name]), len(self.pods[name])):
            endpoint = self.endpoints[resource]
            if endpoint.options.pre_start_required:
                endpoint.call('PreStartContainer', wire.PreStartContainerRequest(
                    devices_ids=self.pods[name][resource]))
        return self.cdi[name]

    def end(self, name):
        for has in self.pods, self.cdi, self.claims:
            has.pop(name, None)

    def claim(self, name, tenant):
        self.pods[name], self.claims[name] = {}, tenant

    def stop(self):
        """The kubelet's process ends, and with it its sockets."""
        for s in self.servers:
            s.stop(grace=None).wait()
        for e in self.endpoints.values():
            e.channel.close()
        self.endpoints = {}

    def restart(self, how=None):
        self.stop()
        self.synced = how != 'unsynced'
        for f in os.listdir(self.devices):
            os.unlink(os.path.join(self.devices, f))
        self.listen()
        self.await_plugins()

    def sync(self):
        self.synced = True

    def await_plugins(self, count=4):
        """Waits until this many have registered and told what they have."""
        end = time.monotonic() + WAIT_S
        while len(self.endpoints) < count or not all(e.told.is_set() for e in list(self.endpoints.values())):
            if time.monotonic() > end:
                raise Refusal(f'{len(self.endpoints)} plugins have registered')
            time.sleep(0.02)
        return self.units()

    def do(self, word, arguments):
        try:
            return getattr(self, word)(*arguments)
        except Refusal as e:
            return {'refused': str(e)}
        except grpc.RpcError as e:
            return {'refused': e.details()}
        except KeyError as e:
            return {'refused': f'the kubelet does not know {e}'}


def main():
    folder, word, *arguments = sys.argv[1:]
    control = os.path.join(folder, 'kubelet.control')
    if word != 'serve':
        with connection.Client(control, 'AF_UNIX') as c:
            c.send((word, arguments))
            print(json.dumps(c.recv()))
        return
    kubelet = Kubelet(folder)
    with connection.Listener(control, 'AF_UNIX') as listener:
        while True:
            with listener.accept() as c:
                c.send(kubelet.do(*c.recv()))


if __name__ == '__main__':
    main()
