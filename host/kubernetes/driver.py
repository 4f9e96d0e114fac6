# SPDX-License-Identifier: Apache-2.0
"""Prepares claims and takes them back. Each call may come again, after a restart of anything, at any point.

The checkpoint says what is begun before it is begun, and that it is done before the kubelet hears of
it. So a tenant of a claim that is only begun has no programs yet, and is made anew. A claim that is
being taken back is only begun, too: its programs have ended.
"""
import re
import threading

import claims
from tenants import Refused

UID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


def tenant_of(uid):
    if not UID.fullmatch(uid):
        raise Refused(f'{uid!r} is no UID of a claim')
    return 'claim-' + uid       # a tenant's name begins with a letter


class Driver:
    def __init__(self, server, cluster, checkpoint):
        self.server = server
        self.cluster = cluster
        self.checkpoint = checkpoint
        self.lock = threading.Lock()    # a claim's steps are not mixed with another call's
        self.restored = None            # the server (its pid) that has all prepared claims

    def begin(self, namespace, name, uid):
        claim = self.cluster.claim(namespace, name)
        if claim['metadata']['uid'] != uid:
            raise Refused(f'the claim {namespace}/{name} is another by now: {claim["metadata"]["uid"]}')
        has, devices = claims.read(claim, self.server.info()['devices'])
        return {'namespace': namespace, 'name': name, 'tenant': has, 'devices': devices, 'done': False}

    def make(self, tenant, record):
        if tenant not in self.server.tenants():
            self.server.create(tenant, record['tenant'])
        return self.server.specify(tenant)

    def prepare(self, namespace, name, uid):
        """Returns the claim's devices, as the kubelet's interface names their members."""
        tenant = tenant_of(uid)
        with self.lock:
            record = self.checkpoint.records.get(uid)
            if not record or not record['done']:
                begun = record is not None
                record = self.begin(namespace, name, uid)
                # Without a record the tenant may have programs: its checkpoint was lost.
                if begun and tenant in self.server.tenants():
                    self.server.delete(tenant)
                self.checkpoint.put(uid, record)
            cdi = self.make(tenant, record)
            if not record['done']:
                self.checkpoint.put(uid, {**record, 'done': True})
            return [{**d, 'cdi_device_ids': [cdi]} for d in record['devices']]

    def unprepare(self, uid):
        tenant = tenant_of(uid)
        with self.lock:
            record = self.checkpoint.records.get(uid)
            if record and record['done']:
                # If this ends in between, nothing gives the tenant back, and a later Prepare makes it anew.
                self.checkpoint.put(uid, {**record, 'done': False})
            if tenant in self.server.tenants():
                self.server.delete(tenant)
            self.checkpoint.remove(uid)

    def restore(self):
        """Gives a server that has started what prepared claims have: specifications end with a server."""
        with self.lock:
            pid = self.server.info()['pid']
            if pid == self.restored:
                return
            troubles = []
            for uid, record in self.checkpoint.records.items():
                try:
                    if record['done']:
                        self.make(tenant_of(uid), record)
                except Refused as e:
                    troubles.append(f'{tenant_of(uid)}: {e}')
            if troubles:
                raise Refused('; '.join(troubles))
            self.restored = pid
