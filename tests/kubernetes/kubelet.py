#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A kubelet's side, and a cluster user's and scheduler's, for tests of the DRA driver.

kubelet.py FOLDER register                       prints what the driver says that it is
kubelet.py FOLDER prepare|unprepare UID[=NAME]... prints the answer for each claim, a line of JSON
kubelet.py FOLDER health WORD                     prints what is told of the devices, until all are WORD
kubelet.py FOLDER looks N                          the same after N looks of the driver that find them HEALTHY
kubelet.py FOLDER claim UID [CAPACITY=VALUE...] [class:KEY=VALUE...] [claim:KEY=VALUE...] [device=NAME]
                                                  makes an allocated claim in the cluster
kubelet.py FOLDER METHOD PATH                     prints an object of the cluster; a body is standard input
FOLDER has `kubelet', the kubelet's folder, and `kubeconfig'. A claim's name is its UID unless said.
"""
import json
import os
import sys
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.environ['WH_BUILD'], 'kubernetes'))
import dra_pb2 as dra                       # noqa: E402
import google.protobuf.json_format as as_json    # noqa: E402
import grpc                                 # noqa: E402
import health_pb2 as health                 # noqa: E402
import registration_pb2 as registration     # noqa: E402

DRIVER = 'gpu.wormhole.invalid'
SOFTGPU = 'gpu-776f726d-686f-6c65-2d73-6f6674677075'
CLAIMS = '/apis/resource.k8s.io/v1/namespaces/team/resourceclaims'
TIMEOUT_S = 60


def call(socket, method, request, answer):
    with grpc.insecure_channel('unix:' + socket) as channel:
        unary = channel.unary_unary(method, request_serializer=type(request).SerializeToString,
                                    response_deserializer=answer.FromString)
        return unary(request, timeout=TIMEOUT_S, wait_for_ready=True)


class Kubelet:
    def __init__(self, folder):
        self.folder = folder
        self.registry = os.path.join(folder, 'kubelet/plugins_registry', DRIVER + '-reg.sock')
        self.endpoint = None

    def register(self):
        info = call(self.registry, '/pluginregistration.Registration/GetInfo', registration.InfoRequest(),
                    registration.PluginInfo)
        self.endpoint = info.endpoint
        call(self.registry, '/pluginregistration.Registration/NotifyRegistrationStatus',
             registration.RegistrationStatus(plugin_registered=True), registration.RegistrationStatusResponse)
        return info

    def node(self, what, claims):
        """NodePrepareResources or NodeUnprepareResources of (uid, name) pairs: {uid: answer}."""
        self.endpoint or self.register()
        request = getattr(dra, f'Node{what}ResourcesRequest')(
            claims=[dra.Claim(namespace='team', uid=uid, name=name) for uid, name in claims])
        return call(self.endpoint, f'/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/Node{what}Resources', request,
                    getattr(dra, f'Node{what}ResourcesResponse')).claims

    def health(self, word, times=1):
        self.endpoint or self.register()
        with grpc.insecure_channel('unix:' + self.endpoint) as channel:
            watch = channel.unary_stream(
                '/v1alpha1.DRAResourceHealth/NodeWatchResources',
                response_deserializer=health.NodeWatchResourcesResponse.FromString,
                request_serializer=health.NodeWatchResourcesRequest.SerializeToString)
            for answer in watch(health.NodeWatchResourcesRequest(), timeout=TIMEOUT_S):
                told = [(d.device.pool_name, d.device.device_name, health.HealthStatus.Name(d.health),
                         *filter(None, [d.message])) for d in answer.devices]
                times -= [t[2] for t in told] == word.split()
                if times == 0:
                    return told

    # --- The cluster -------------------------------------------------------------------------------

    def cluster(self, method, path, body=None):
        with open(os.path.join(self.folder, 'kubeconfig'), encoding='utf-8') as f:
            where = json.load(f)['clusters'][0]['cluster']['server']
        request = urllib.request.Request(where + path, method=method, data=body and json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as e:
            raise SystemExit(f'{e.code}: {json.load(e)["message"]}') from e

    def claim(self, uid, capacity, config, device=SOFTGPU):
        """Makes a claim that the scheduler has allocated: a part of a device."""
        share = {'request': 'gpu', 'driver': DRIVER, 'pool': 'n1', 'device': device,
                 'shareID': '11112222-3333-4444-8555-666677778888', 'consumedCapacity': capacity}
        entries = [{'source': source, 'opaque': {'driver': DRIVER, 'parameters': {
            'apiVersion': DRIVER + '/v1', 'kind': 'Tenant', **said}}} for source, said in config]
        self.cluster('POST', CLAIMS, {
            'apiVersion': 'resource.k8s.io/v1', 'kind': 'ResourceClaim',
            'metadata': {'name': uid, 'namespace': 'team', 'uid': uid},
            'spec': {'devices': {'requests': [{'name': 'gpu', 'exactly': {
                'deviceClassName': DRIVER, 'capacity': {'requests': capacity}}}]}},
            'status': {'allocation': {'devices': {'results': [share], 'config': entries}}}})


def value(text):
    return int(text) if text.isdigit() else text


def main():
    kubelet = Kubelet(sys.argv[1])
    word, *rest = sys.argv[2:]
    if word == 'register':
        print(json.dumps(as_json.MessageToDict(kubelet.register(), preserving_proto_field_name=True)))
    elif word in ('prepare', 'unprepare'):
        claims = [(uid, name or uid) for uid, _, name in (r.partition('=') for r in rest)]
        for uid, answer in sorted(kubelet.node(word.capitalize(), claims).items()):
            print(uid, json.dumps(as_json.MessageToDict(answer, preserving_proto_field_name=True)))
    elif word == 'health':
        print(kubelet.health(' '.join(rest)))
    elif word == 'looks':
        print(kubelet.health('HEALTHY', int(rest[0])))
    elif word == 'claim':
        said = {'': {}, 'class': {}, 'claim': {}}
        for r in rest[1:]:
            name, _, text = r.partition('=')
            source, _, name = name.rpartition(':')
            said[source][name] = value(text) if source else text
        kubelet.claim(rest[0], said[''], [('From' + s.capitalize(), said[s]) for s in ('class', 'claim') if said[s]],
                      said[''].pop('device', SOFTGPU))
    else:
        print(json.dumps(kubelet.cluster(word, rest[0], json.load(sys.stdin) if word in ('POST', 'PUT') else None)))


if __name__ == '__main__':
    main()
