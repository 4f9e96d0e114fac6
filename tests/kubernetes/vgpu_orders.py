#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""vgpu_orders.py FOLDER SEED plays orders of a kubelet's calls of the device plugin (machine.py). The
model says which pods have a share, of which size, and what the kubelet may still give out.
"""
import json
import os
import random
import sys

import grpc
from machine import CDI, DIR, FOLDER, Machine, Steps, await_true, play, specifications
from node_kubelet import Kubelet

KEPT = os.path.join(FOLDER, 'kubelet/plugins/device-plugin.wormhole.invalid/containers.json')
TOTAL = (64, 128)       # MiB of the devices: WORMHOLE_SOFTGPU_MEM
SPLIT = 10
# What pods ask for: some fit no device when others run, and one has two devices.
ASKED = ({'gpu': 1, 'gpumem': 40, 'gpucores': 30}, {'gpu': 1, 'gpumem': 40, 'gpucores': 60}, {'gpu': 2, 'gpumem': 20},
         {'gpu': 1, 'gpumem-percentage': 30}, {'gpu': 1, 'gpucores': 50}, {'gpu': 1, 'gpumem': 100, 'gpucores': 100})


class Node(Machine):
    def __init__(self):
        super().__init__(Kubelet(FOLDER), 'wormhole-device-plugin', '--settle', '0')

    def await_driver(self):
        self.kubelet.await_plugins()

    def start_driver(self):
        self.kubelet.endpoints = {}     # those of the plugin before: the kubelet has seen it end
        super().start_driver()


class Order(Steps):
    def __init__(self, machine):
        super().__init__(machine)
        self.kubelet = machine.kubelet
        self.has = {}           # of pods that have started: {device: (MiB, percent)}
        self.again = 0          # for pods' names

    # --- The model ------------------------------------------------------------------------------------------

    def shares(self):
        """What the shares on the machine are: {name: {device: (MiB, percent)}}."""
        return {name: self.limits(name) for name in specifications('wormhole-share-')}

    @staticmethod
    def limits(name):
        with open(f'{DIR}/shares/{name}.json', encoding='utf-8') as request:
            o = json.load(request)
        limits = {e['device']: (e['memory'] >> 20, e.get('sm', 0)) for e in o['limits']}
        assert sorted(limits) == sorted(o['devices']), f'{name}: {o}'
        return limits

    def left(self, device):
        parts = [h[device] for h in self.has.values() if device in h]
        return TOTAL[device] - sum(m for m, _ in parts), 100 - sum(p for _, p in parts), SPLIT - len(parts)

    @staticmethod
    def wants(n, device):
        asked = ASKED[n]
        memory = (asked['gpumem'] if 'gpumem' in asked else TOTAL[device] * asked['gpumem-percentage'] // 100
                  if 'gpumem-percentage' in asked else TOTAL[device] // SPLIT)
        return memory, asked.get('gpucores', 0)

    def room(self, n):
        def fits(device):
            memory, percent, containers = self.left(device)
            return self.wants(n, device)[0] <= memory and self.wants(n, device)[1] <= percent and containers > 0
        return sum(fits(d) for d in range(len(TOTAL))) >= ASKED[n]['gpu']

    @staticmethod
    def share(devices):
        return devices[0].partition('=')[2]

    def beside(self, resource):
        """MiB or percent that pods have and that the resource has not counted."""
        out = 0
        for pod, has in self.has.items():
            kind = 0 if resource == 'gpumem' else 1
            out += max(0, sum(h[kind] for h in has.values()) - ASKED[self.number(pod)].get(resource, 0))
        return out

    @staticmethod
    def number(pod):
        return int(pod.partition('/')[2].partition('-')[0])

    def check(self):
        def right():
            must = {self.share(self.kubelet.cdi[p]): h for p, h in self.has.items()}
            try:
                return self.shares() == must
            except FileNotFoundError:       # one was removed meanwhile
                return False
        await_true(right, f'shares are those of {self.has}; there are {os.listdir(CDI)}')
        want = {'gpu': SPLIT * len(TOTAL), 'gpumem': sum(TOTAL) - self.beside('gpumem'),
                'gpucores': 100 * len(TOTAL) - self.beside('gpucores')}
        await_true(lambda: {r: self.kubelet.units()[r][0] for r in want} == want,
                   f'what may be given out is {want}; it is {self.kubelet.units()}')

    # --- Steps ----------------------------------------------------------------------------------------------

    def pod(self, n):
        return next((p for p in self.kubelet.pods if self.number(p) == n), None)

    def begin(self, n):
        """A pod with so much is there, and starts, if the node has the units, and a device the room."""
        pod = self.pod(n)
        if not pod:
            self.again += 1
            pod = f'team/{n}-{self.again}'
            answer = self.kubelet.do('admit', (pod, *(f'{r}={k}' for r, k in ASKED[n].items())))
            if isinstance(answer, dict):
                assert 'are free' in answer['refused'], answer
                return
        self.start(n, pod)

    def start(self, n, pod):
        try:
            self.kubelet.start(pod)
        except grpc.RpcError as e:
            assert 'others have ended' in e.details(), e.details()
            assert pod not in self.has and not self.room(n), f'{pod} waits: {e.details()}'
            return
        share = self.share(self.kubelet.cdi[pod])
        assert share in specifications('wormhole-share-'), f'{pod} has no specification of {share}'
        got = self.limits(share)    # the plugin may be removing another one
        assert len(got) == ASKED[n]['gpu'] and got == {d: self.wants(n, d) for d in got}, f'{pod} has {got}'
        if pod in self.has:
            assert got == self.has[pod], f'{pod} had {self.has[pod]} and has {got}'
            return
        assert self.room(n), f'{pod} has {got} where no room is: {self.has}'
        self.has[pod] = got
        assert all(min(self.left(d)) >= 0 for d in got), f'{pod} has too much: {self.has}'

    def end(self, n):
        pod = self.pod(n)
        if pod:
            self.kubelet.end(pod)
            self.has.pop(pod, None)

    def kill_in_start(self, n):
        pod = self.pod(n)
        if pod:
            self.m.kill_within(lambda: self.kubelet.start(pod), 'cdi', random.choice(['before', 'after']))
        self.begin(n)       # the kubelet tries again

    def kill_in_end(self, n):
        """The plugin takes a share back, and is killed then."""
        pod = self.pod(n)
        if pod in self.has:
            with open(FOLDER + '/kill.cdi', 'w', encoding='ascii') as f:
                f.write(random.choice(['before', 'after']))
            self.end(n)
            self.m.driver.wait(20)
            self.m.start_driver()

    def restart_kubelet(self, _):
        self.kubelet.restart()

    def start_without_a_server(self, n):
        """A container that would start meanwhile waits; it has nothing."""
        pod = self.pod(n)
        self.m.kill_server()
        try:
            if pod:
                self.kubelet.start(pod)
                raise AssertionError(f'{pod} has started')
        except grpc.RpcError as e:
            assert 'no Wormhole server answers' in e.details(), e.details()
        finally:
            self.m.start_server()

    def reboot(self, _):
        """The kubelet has its pods start again, in any order; what they had is theirs."""
        super().reboot(_)
        for pod in random.sample(list(self.has), len(self.has)):
            self.start(self.number(pod), pod)


RECORDED = [('begin', 0), ('begin', 0), ('end', 1), ('restart_driver', 0), ('begin', 1), ('begin', 2), ('begin', 3),
            ('kill_in_start', 3), ('begin', 4), ('begin', 5), ('restart_kubelet', 0), ('kill_driver', 0), ('end', 1),
            ('begin', 5), ('kill_in_end', 0), ('begin', 5), ('restart_server', 0), ('start_without_a_server', 2),
            ('reboot', 0), ('begin', 2), ('end', 5), ('kill_in_start', 0), ('kill_in_end', 2)]


def left():
    with open(KEPT, encoding='utf-8') as f:
        return os.listdir(CDI) or json.load(f)['containers']


NODE = Node()
sys.exit(play(NODE, Order(NODE), RECORDED, ('begin', 'end'), len(ASKED), [('end', n) for n in range(len(ASKED))], left))
