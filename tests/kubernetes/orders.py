#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""orders.py FOLDER SEED makes orders of a kubelet's calls, restarts and kills: a recorded one with
each kind of step, and a random one. After each step a model says which claims have a tenant.

A point is a kind of step: it passes if the machine was as the model says after each step of the kind.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from kubelet import CLAIMS, Kubelet, grpc

FOLDER, SEED = sys.argv[1], int(sys.argv[2])
DIR, CDI, STATE = os.environ['WORMHOLE_DIR'], os.path.join(FOLDER, 'cdi'), os.path.join(FOLDER, 'state')
BUILD = os.environ['WH_BUILD']
WORMHOLE = os.path.join(BUILD, 'host/wormhole')
DRIVER = os.path.join(BUILD, 'kubernetes/wormhole-kubernetes')
KEPT = os.path.join(FOLDER, 'kubelet/plugins/gpu.wormhole.invalid/claims.json')
WAIT_S = 20
CLAIM_COUNT = 4
STEPS = 30


def uid(n):
    return f'bbbbbbbb-0000-4000-8000-00000000000{n}'


def wormhole(*words):
    done = subprocess.run([WORMHOLE, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f'wormhole {words}: {done.stderr}')
    return done.stdout


class Machine:
    """The node: a server, a driver, and a kubelet that calls it."""

    def __init__(self):
        self.kubelet = Kubelet(FOLDER)
        self.driver = None
        self.bin = os.path.join(FOLDER, 'bin')
        os.makedirs(self.bin)
        # Kills the driver that called it, before or after this call of the command.
        with open(os.open(os.path.join(self.bin, 'wormhole'), os.O_WRONLY | os.O_CREAT, 0o755), 'w') as f:
            f.write(f'''#!/bin/sh
when=$(cat {FOLDER}/kill.$1 2>/dev/null) && rm {FOLDER}/kill.$1
[ "$when" != before ] || {{ kill -KILL $PPID; exit 1; }}
{WORMHOLE} "$@" || exit
[ "$when" != after ] || kill -KILL $PPID
''')
        self.start_server()
        self.start_driver()

    def start_server(self):
        wormhole('serve', '--backend', 'softgpu', '--daemon', '--part-size', '16M', '--state', STATE)

    def kill_server(self):
        with open(os.path.join(DIR, 'server.lock'), encoding='ascii') as f:
            server = f.read().strip()
        with open(f'/proc/{server}/status', encoding='ascii') as f:
            monitor = next(line for line in f if line.startswith('PPid:')).split()[1]
        os.kill(int(monitor), signal.SIGKILL)
        await_true(lambda: not os.path.exists(f'/proc/{server}'), 'the server ends with its monitor')

    def start_driver(self):
        self.driver = subprocess.Popen(
            ['/usr/bin/python3', '-B', DRIVER, '--node', 'n1', '--dir', DIR, '--kubelet', FOLDER + '/kubelet',
             '--cdi-dir', CDI, '--kubeconfig', FOLDER + '/kubeconfig', '--period', '0.1'],
            stderr=open(FOLDER + '/driver', 'a', encoding='utf-8'),
            env={**os.environ, 'PATH': f'{self.bin}:/usr/bin:/bin'})
        self.kubelet.register()

    def end_driver(self, how):
        self.driver.send_signal(how)
        self.driver.wait(WAIT_S)

    def tenants(self):
        listed = {t['tenant'] for t in json.loads(wormhole('tenant', 'list', '--json'))}
        return {t for t in listed if t.startswith('claim-')}

    def limits(self, tenant):
        entry = next(t for t in json.loads(wormhole('stat', '--json', tenant)) if t['tenant'] == tenant)
        d = entry['devices'][0]
        return d['memory_limit'], d['sm_percent']


def await_true(what, words):
    end = time.monotonic() + WAIT_S
    while not what():
        if time.monotonic() > end:
            raise AssertionError(f'not within {WAIT_S} s: {words}')
        time.sleep(0.02)


class Order:
    """The steps, and the model: claims that are prepared, and those that a kill left between."""

    def __init__(self, machine):
        self.m = machine
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

    def restart_driver(self, _):
        self.m.end_driver(signal.SIGTERM)
        self.m.start_driver()

    def kill_driver(self, _):
        self.m.end_driver(signal.SIGKILL)
        self.m.start_driver()

    def kill_in(self, what, n, command, when):
        with open(f'{FOLDER}/kill.{command}', 'w', encoding='ascii') as f:
            f.write(when)
        try:
            self.call(what, [n])
        except grpc.RpcError:
            self.m.driver.wait(WAIT_S)
            self.m.start_driver()
            return True
        os.unlink(f'{FOLDER}/kill.{command}')   # the call had nothing to do by the command
        return False

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

    def restart_server(self, _):
        self.m.kill_server()
        self.m.start_server()

    def reboot(self, _):
        """The node starts again with empty /run."""
        self.m.end_driver(signal.SIGKILL)
        self.m.kill_server()
        shutil.rmtree(DIR)
        shutil.rmtree(CDI)
        os.mkdir(CDI)
        self.m.start_server()
        self.m.start_driver()

    def reboot_without_state(self, n):
        """The same, and what the server had kept is lost, too."""
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
            return {f[len('wormhole-'):-len('.json')] for f in os.listdir(CDI)}
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
            ('prepare', 0), ('reboot_without_state', 0), ('unprepare', 0), ('kill_in_unprepare', 3)]
KINDS = sorted({kind for kind, _ in RECORDED})
OFTEN = ('prepare', 'prepare_two', 'unprepare')


def random_order():
    random.seed(SEED)
    weights = [4 if k in OFTEN else 1 for k in KINDS]
    return [(random.choices(KINDS, weights)[0], random.randrange(CLAIM_COUNT)) for _ in range(STEPS)]


def main():
    print(f'TAP version 13\n1..{len(KINDS) + 1}\n# ORDERS_SEED={SEED}', flush=True)
    failed = {}
    machine = Machine()
    order = Order(machine)
    steps = RECORDED + random_order() + [('unprepare', n) for n in range(CLAIM_COUNT)]
    for i, (kind, n) in enumerate(steps):
        try:
            getattr(order, kind)(n)
            order.check()
        except (AssertionError, OSError, grpc.RpcError) as e:
            failed[kind] = f'step {i}, {kind} {n}, after {steps[max(0, i - 4):i]}: {e}'
            break   # the rest would be about a state that no model knows
    with open(KEPT, encoding='utf-8') as f:
        left = not failed and (machine.tenants() or os.listdir(CDI) or json.load(f)['claims'])
    for number, kind in enumerate(KINDS, 1):
        print(f'{"not ok" if kind in failed else "ok"} {number} - after_{kind}_the_machine_is_as_the_model_says')
        if kind in failed:
            print('# ' + failed[kind].replace('\n', '\n# '))
    print(f'{"not ok" if left else "ok"} {len(KINDS) + 1} - taken_back_nothing_is_left')
    machine.end_driver(signal.SIGTERM)
    wormhole('stop')
    return bool(failed or left)


if __name__ == '__main__':
    sys.exit(main())
