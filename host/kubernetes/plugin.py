# SPDX-License-Identifier: Apache-2.0
"""The two gRPC interfaces that a kubelet calls: registration, and the DRA driver's own."""
import os
import sys

import dra_pb2 as dra
import health_pb2
import registration_pb2 as registration
from claims import DRIVER
from rpc import handler, listen
from tenants import Refused


def for_each(request, answer, do):
    """Answers each claim for itself: one that fails, or is odd, does not keep others back."""
    for c in request.claims:
        try:
            answer.claims[c.uid].MergeFrom(do(c))
        except Exception as e:      # pylint: disable=broad-except
            text = str(e) if isinstance(e, Refused) else f'it is none that this driver understands: {e!r}'
            answer.claims[c.uid].error = text
            print(f'wormhole: warn: claim {c.namespace}/{c.name}: {text}', file=sys.stderr, flush=True)
    return answer


def dra_service(driver):
    def prepare(request, _):
        return for_each(request, dra.NodePrepareResourcesResponse(), lambda c: dra.NodePrepareResourceResponse(
            devices=[dra.Device(**d) for d in driver.prepare(c.namespace, c.name, c.uid)]))

    def one_back(c):
        driver.unprepare(c.uid)
        return dra.NodeUnprepareResourceResponse()

    def unprepare(request, _):
        return for_each(request, dra.NodeUnprepareResourcesResponse(), one_back)

    return handler(dra.DESCRIPTOR.services_by_name['DRAPlugin'],
                   {'NodePrepareResources': prepare, 'NodeUnprepareResources': unprepare})


def health_service(health):
    return handler(health_pb2.DESCRIPTOR.services_by_name['DRAResourceHealth'], {'NodeWatchResources': health.watch})


def registration_service(endpoint, registered):
    def info(_, __):
        return registration.PluginInfo(type='DRAPlugin', name=DRIVER, endpoint=endpoint,
                                       supported_versions=['v1.DRAPlugin', 'v1alpha1.DRAResourceHealth'])

    def status(request, _):
        if not request.plugin_registered:
            print(f'wormhole: error: the kubelet does not take the driver: {request.error}', file=sys.stderr,
                  flush=True)
        registered()
        return registration.RegistrationStatusResponse()

    return handler(registration.DESCRIPTOR.services_by_name['Registration'],
                   {'GetInfo': info, 'NotifyRegistrationStatus': status})


def serve(driver, health, kubelet):
    """The driver's socket first, since the kubelet calls it as soon as it sees the other."""
    folder = os.path.join(kubelet, 'plugins', DRIVER)
    endpoint = os.path.join(folder, 'dra.sock')
    registry = os.path.join(kubelet, 'plugins_registry', DRIVER + '-reg.sock')
    return [listen(endpoint, dra_service(driver), health_service(health)),
            listen(registry, registration_service(endpoint, driver.cluster.registered))]
