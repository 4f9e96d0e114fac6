#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Points of mig_test.sh: MIG instances in slices, in claims, and in what containers get of HAMi's resources."""
import types

import claims
import cluster
import points
import vgpus
from tenants import Refused

GIB = 1 << 30
GPU, MIG = 'GPU-AAAA0000', [f'MIG-BBBB000{i}' for i in range(2)]
DEVICES = [{'uuid': GPU, 'memory': 80 * GIB, 'name': 'NVIDIA H100 80GB HBM3', 'sms': 132},
           *({'uuid': u, 'memory': 10 * GIB, 'name': 'NVIDIA H100 80GB HBM3 MIG 1g.10gb', 'sms': 16} for u in MIG)]
POINTS = []


def point(name, got, expected):
    POINTS.append((name, got, expected))


def attributes(device, *names):
    published = cluster.device(device)['attributes']
    return [published[n]['string'] for n in names if n in published]


def read(*uuids):
    results = [{'request': f'r{i}', 'driver': claims.DRIVER, 'pool': 'n1', 'device': u.lower(),
                'consumedCapacity': {'memory': '1Gi', 'share': '30'}} for i, u in enumerate(uuids)]
    try:
        return claims.read({'status': {'allocation': {'devices': {'results': results}}}}, DEVICES)[0]['limits']
    except Refused as e:
        return str(e)


def place(n):
    """What a container with so many units of nvidia.com/gpu gets."""
    v = vgpus.Vgpus(None, None, types.SimpleNamespace(records={}), split=2, unit=1)
    v.memory = {d['uuid']: d['memory'] // vgpus.MIB for d in DEVICES}
    try:
        return list(v.place({vgpus.GPU: n, vgpus.MEMORY: 1024}))
    except Refused as e:
        return str(e)


point('slice_says_what_is_an_instance', attributes(DEVICES[1], 'type', 'profile'), ['mig', '1g.10gb'])
point('and_what_is_a_gpu', attributes(DEVICES[0], 'type', 'profile'), ['gpu'])
point('instance_has_its_uuid_as_its_name', cluster.device(DEVICES[1])['name'], 'mig-bbbb0000')
point('claim_has_an_instance', read(MIG[1]), {MIG[1]: {'memory': GIB, 'sm': 30}})
point('two_parts_of_an_instance_add_up', read(MIG[1], MIG[1]), {MIG[1]: {'memory': 2 * GIB, 'sm': 60}})
ALONE = ('a claim with a MIG instance has no other device, since a process that has one sees no other: '
         'make a claim for each of ')
point('two_instances_are_refused', read(*MIG), ALONE + ', '.join(MIG))
point('so_is_a_gpu_beside_one', read(GPU, MIG[0]), ALONE + ', '.join((GPU, MIG[0])))
point('container_with_one_unit_gets_the_fullest_device', place(1), [MIG[0]])
point('container_with_two_units_gets_no_instance', place(2),
      '1 devices have room for the container, which asks for 2; it waits until others have ended '
      f'(left: {GPU} 81920 MiB, 100%, {MIG[0]} 10240 MiB, 100%, {MIG[1]} 10240 MiB, 100%)')

points.finish(POINTS)
