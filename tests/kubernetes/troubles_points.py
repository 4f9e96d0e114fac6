#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Points of troubles_test.sh: what the DRA driver does when its disk, a claim or the API server is odd."""
import json
import os
import resource
import tempfile

import dra_pb2 as dra
import plugin
import points
from checkpoint import Checkpoint
from cluster import Cluster
from tenants import Refused

POINTS = []
RECORD = {'tenant': {}, 'devices': [], 'done': False}


def refused(do, *args):
    """What it is refused with, or the name of what else came of it."""
    try:
        return repr(do(*args))
    except Refused as e:
        return str(e)
    except Exception as e:      # pylint: disable=broad-except
        return f'raised {e!r}'


# --- A disk without room, for which a limit of a file's size stands ----------------------------------

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, 'claims.json')
    kept = Checkpoint(path, 'claims', 'lost')
    kept.put('one', RECORD)
    kept.put('other', RECORD)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, limit[1]))
    POINTS.append(('what_cannot_be_written_is_refused', refused(kept.put, 'two', RECORD),
                   f'{path} cannot be written: [Errno 27] File too large'))
    POINTS.append(('nor_can_anything_be_taken_out', refused(kept.remove, 'one'),
                   f'{path} cannot be written: [Errno 27] File too large'))
    resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    with open(path, encoding='utf-8') as f:
        POINTS.append(('file_and_memory_are_as_they_were', (list(json.load(f)['claims']), list(kept.records)),
                       (['one', 'other'], ['one', 'other'])))
    POINTS.append(('with_room_it_is_written', (refused(kept.put, 'two', RECORD), sorted(kept.records)),
                   ('None', ['one', 'other', 'two'])))
    with open(path, 'w', encoding='utf-8') as f:
        json.dump({'version': 1, 'claims': 7}, f)
    try:
        POINTS.append(('file_that_is_spoilt_is_named', Checkpoint(path, 'claims', 'lost').records, None))
    except SystemExit as e:
        POINTS.append(('file_that_is_spoilt_is_named', str(e).partition(' (')[0],
                       f'wormhole: error: {path} cannot be read'))

# --- Claims -------------------------------------------------------------------------------------------


def prepare(claim):
    if claim.uid == 'odd':
        raise KeyError('request')
    return dra.NodePrepareResourceResponse(devices=[dra.Device(pool_name='n1', device_name=claim.uid)])


request = dra.NodePrepareResourcesRequest(claims=[dra.Claim(uid=u, name=u, namespace='a') for u in ('odd', 'good')])
answer = dra.NodePrepareResourcesResponse()
refused(plugin.for_each, request, answer, prepare)
POINTS.append(('claim_that_is_odd_is_named', answer.claims['odd'].error,
               "it is none that this driver understands: KeyError('request')"))
POINTS.append(('and_keeps_no_other_back', [d.device_name for d in answer.claims['good'].devices], ['good']))

# --- The API server -------------------------------------------------------------------------------------


class Odd:
    """Answers as a proxy before an API server may: with a page, or with half an object."""

    def __init__(self, said):
        self.said = said

    def get_cluster_custom_object(self, *_, **__):
        return self.said

    replace_cluster_custom_object = get_cluster_custom_object


for said in '<html>', {}, {'metadata': {}}, {'metadata': {}, 'spec': None}:
    cluster = Cluster.__new__(Cluster)
    cluster.node, cluster.resync, cluster.published, cluster.slice, cluster.now = 'n1', 1, None, 'n1-slice', int
    cluster.objects = cluster.nodes = Odd(said)
    words = refused(cluster.publish, [{'uuid': 'GPU-1', 'memory': 1 << 30, 'name': 'one', 'sms': 1}])
    POINTS.append((f'slice_that_is_{"nothing" if not said else type(said).__name__ + str(len(said))}_is_refused',
                   words.partition(': ')[0], f'the slice {cluster.slice} is not as an API server answers with slices'))

points.finish(POINTS)
