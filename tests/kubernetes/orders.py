#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""orders.py FOLDER SEED plays orders of a kubelet's calls of the DRA driver (machine.py). The model says
which claims have a tenant.
"""
import json
import os
import random
import shutil
import signal
import sys

from kubelet import CLAIMS, Kubelet
from machine import CDI, FOLDER, STATE, Machine, Steps, await_true, play, specifications, wormhole

KEPT = os.path.join(FOLDER, 'kubelet/plugins/gpu.wormhole.invalid/claims.json')
CLAIM_COUNT = 4


def uid(n):
    return f'bbbbbbbb-0000-4000-8000-00000000000{n}'


class Node(Machine):
    def __init__(self):
        super().__init__(Kubelet(FOLDER), 'wormhole-kubernetes', '--node', 'n1', '--kubeconfig',
                         FOLDER + '/kubeconfig', '--resync', '0')

    def await_driver(self):
        self.kubelet.register()

    def tenants(self):
        listed = {t['tenant'] for t in json.loads(wormhole('tenant', 'list', '--json'))}
        return {t for t in listed if t.startswith('claim-')}

    def limits(self, tenant):
        entry = next(t for t in json.loads(wormhole('stat', '--json', tenant)) if t['tenant'] == tenant)
        d = entry['devices'][0]
        return d['memory_limit'], d['sm_percent']


class Order(Steps):
    """The steps, and the model: claims that are prepared, and those that a kill left between."""

    def __init__(self, machine):
        super().__init__(machine)
        self.prepared = set()
        self.between = set()
        self.memory = {}
        for n in range(CLAIM_COUNT):
            self.allocate(n, (n + 1) << 24)

    def allocate(self, n, memory):
        self.memory[n] = memory
        self.m.kubelet.claim(uid(n), {'memory': str(memory), 'share': str(10 + n)}, [])

    # --- Steps -----------------------------------------------------------------------------------------

    def call(self, what, numbers):
        return self.m.kubelet.node(what, [(uid(n), uid(n)) for n in numbers])

    def prepare(self, n):
        self.prepare_all(n)

    def prepare_two(self, n):
        self.prepare_all(n, (n + 1) % CLAIM_COUNT)

    def prepare_all(self, *numbers):
        answers = self.call('Prepare', numbers)
        assert set(answers) == {uid(n) for n in numbers}, f'answered {set(answers)}'
        for n in numbers:
            devices = answers[uid(n)].devices
            ids = [i for d in devices for i in d.cdi_device_ids]
            assert ids == ['wormhole/tenant=claim-' + uid(n)], f'claim {n}: {answers[uid(n)]}'
        self.prepared |= set(numbers)
        self.between -= set(numbers)

    def unprepare(self, n):
        answers = self.call('Unprepare', [n])
        assert list(answers) == [uid(n)] and not answers[uid(n)].error, f'claim {n}: {answers}'
        self.prepared.discard(n)
        self.between.discard(n)

    def prepare_without_api(self, n):
        """What is prepared needs no API server; another claim waits for it, and has no tenant meanwhile."""
        open(FOLDER + '/away', 'w').close()
        try:
            answer = self.call('Prepare', [n])[uid(n)]
        finally:
            os.unlink(FOLDER + '/away')
        assert bool(answer.devices) != bool(answer.error), f'claim {n}: {answer}'
        if n not in self.between:
            assert bool(answer.devices) == (n in self.prepared), f'claim {n}: {answer}'

    def prepare_by_anothers_name(self, n):
        """The claim was deleted, and another has its name."""
        other = 'cccccccc-0000-4000-8000-000000000000'
        answer = self.m.kubelet.node('Prepare', [(other, uid(n))])[other]
        assert 'is another by now' in answer.error, f'{answer}'

    def kill_in(self, what, n, command, when):
        return self.m.kill_within(lambda: self.call(what, [n]), command, when)

    def kill_in_prepare(self, n):
        if not self.kill_in('Prepare', n, 'cdi', random.choice(['before', 'after'])):
            raise AssertionError('the driver lives')
        if n not in self.prepared:
            self.between.add(n)

    def allocated_anew_after_a_kill(self, n):
        """No program can have begun: what the claim is allocated by then counts."""
        if n in self.prepared:
            self.unprepare(n)
        self.kill_in_prepare(n)
        self.m.kubelet.cluster('DELETE', f'{CLAIMS}/{uid(n)}')
        self.allocate(n, self.memory[n] + 4096)
        self.prepare(n)

    def kill_in_unprepare(self, n):
        killed = self.kill_in('Unprepare', n, 'tenant', random.choice(['before', 'after']))
        if killed:
            self.between.add(n)
        else:
            self.between.discard(n)
        self.prepared.discard(n)

    def reboot_without_state(self, n):
        """A reboot; and what the server had kept is lost, too."""
        self.m.end_driver(signal.SIGKILL)
        self.m.kill_server()
        shutil.rmtree(STATE, ignore_errors=True)
        self.m.start_server()
        self.m.start_driver()

    # --- The model --------------------------------------------------------------------------------------

    def check(self):
        must = {'claim-' + uid(n) for n in self.prepared}
        may = must | {'claim-' + uid(n) for n in self.between}

        def files():
            return specifications('wormhole-')
        await_true(lambda: must <= files() and must <= self.m.tenants(), f'{must} have tenants and specifications')
        assert self.m.tenants() <= may, f'too many tenants: {self.m.tenants() - may}'
        assert files() <= may, f'too many specifications: {files() - may}'
        for n in self.prepared:
            got = self.m.limits('claim-' + uid(n))
            assert got == (self.memory[n], 10 + n), f'claim {n} has {got}'
        with open(KEPT, encoding='utf-8') as f:
            done = {c for c, r in json.load(f)['claims'].items() if r['done']}
        assert {uid(n) for n in self.prepared} <= done <= {u[len('claim-'):] for u in may}, f'kept: {done}'


RECORDED = [('prepare', 0), ('prepare', 0), ('unprepare', 1), ('restart_driver', 0), ('prepare', 0),
            ('kill_in_prepare', 1), ('prepare', 1), ('kill_in_prepare', 2), ('unprepare', 2),
            ('prepare_without_api', 0), ('prepare_without_api', 3), ('prepare_by_anothers_name', 3),
            ('prepare_two', 2), ('unprepare', 2), ('allocated_anew_after_a_kill', 2),
            ('restart_server', 0), ('kill_in_unprepare', 1), ('unprepare', 1), ('kill_driver', 0), ('reboot', 0),
            ('prepare', 0), ('reboot_without_state', 0), ('unprepare', 0), ('kill_in_unprepare', 3),
            ('allocated_anew_after_a_kill', 3)]
OFTEN = ('prepare', 'prepare_two', 'unprepare')


def left():
    with open(KEPT, encoding='utf-8') as f:
        return NODE.tenants() or os.listdir(CDI) or json.load(f)['claims']


NODE = Node()
sys.exit(play(NODE, Order(NODE), RECORDED, OFTEN, CLAIM_COUNT, [('unprepare', n) for n in range(CLAIM_COUNT)], left))
