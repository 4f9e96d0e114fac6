# SPDX-License-Identifier: Apache-2.0
"""A node's server and driver, for tests of orders of a kubelet's calls, restarts and kills; and how such
an order is played: a recorded one with each kind of step, and a random one.

After each step a model says what there has to be. A point is a kind of step: it passes if the machine
was as the model says after each step of the kind.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import grpc

FOLDER, SEED = sys.argv[1], int(sys.argv[2])
DIR, CDI, STATE = os.environ['WORMHOLE_DIR'], os.path.join(FOLDER, 'cdi'), os.path.join(FOLDER, 'state')
BUILD = os.environ['WH_BUILD']
WORMHOLE = os.path.join(BUILD, 'host/wormhole')
WAIT_S = 60
STEPS = 30
REFUSED = grpc.StatusCode.FAILED_PRECONDITION      # by a driver that lives


def wormhole(*words):
    done = subprocess.run([WORMHOLE, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f'wormhole {words}: {done.stderr}')
    return done.stdout


def specifications(prefix):
    """What follows the prefix in the names of specifications. A runtime reads no file with another ending,
    such as one that the driver is writing just now."""
    return {f[len(prefix):-len('.json')] for f in os.listdir(CDI) if f.endswith('.json')}


class Machine:
    """The node: a server, and a driver of the program and arguments that a kubelet calls."""

    def __init__(self, kubelet, program, *arguments):
        self.kubelet = kubelet
        self.program = os.path.join(BUILD, 'kubernetes', program)
        self.arguments = arguments
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
            ['/usr/bin/python3', '-B', self.program, '--dir', DIR, '--kubelet', FOLDER + '/kubelet', '--cdi-dir', CDI,
             '--period', '0.1', *self.arguments], stderr=open(FOLDER + '/driver', 'a', encoding='utf-8'),
            env={**os.environ, 'PATH': f'{self.bin}:/usr/bin:/bin'})
        self.await_driver()

    def await_driver(self):
        """Returns when the driver answers the kubelet."""
        raise NotImplementedError

    def end_driver(self, how):
        self.driver.send_signal(how)
        self.driver.wait(WAIT_S)

    def kill_within(self, call, command, when):
        """Makes the call, in which the driver is killed before or after a command. False: it ran no such command."""
        with open(f'{FOLDER}/kill.{command}', 'w', encoding='ascii') as f:
            f.write(when)
        try:
            call()
        except grpc.RpcError as e:
            if e.code() is not REFUSED:
                self.driver.wait(WAIT_S)
                self.start_driver()
                return True
        os.unlink(f'{FOLDER}/kill.{command}')   # the call had nothing to do by the command
        return False

    def reboot(self):
        """The node starts again with empty /run."""
        self.end_driver(signal.SIGKILL)
        self.kill_server()
        shutil.rmtree(DIR)
        shutil.rmtree(CDI)
        os.mkdir(CDI)
        self.start_server()
        self.start_driver()


class Steps:
    """The steps of an order that are the machine's own."""

    def __init__(self, machine):
        self.m = machine

    def restart_driver(self, _):
        self.m.end_driver(signal.SIGTERM)
        self.m.start_driver()

    def kill_driver(self, _):
        self.m.end_driver(signal.SIGKILL)
        self.m.start_driver()

    def restart_server(self, _):
        self.m.kill_server()
        self.m.start_server()

    def reboot(self, _):
        self.m.reboot()


def await_true(what, words):
    end = time.monotonic() + WAIT_S
    while not what():
        if time.monotonic() > end:
            raise AssertionError(f'not within {WAIT_S} s: {words}')
        time.sleep(0.02)


def stays(left):
    """Returns what left() still says after a while: a driver writes down last that something has gone."""
    try:
        await_true(lambda: not left(), 'something is left')
    except AssertionError:
        return left()
    return None


def play(machine, order, recorded, often, count, last, left):
    """Plays the orders, with `last` behind them, and prints the points. left() says what is not taken back.

    A step is a method of `order` and a number below `count`. Returns the program's exit status.
    """
    kinds = sorted({kind for kind, _ in recorded})
    print(f'TAP version 13\n1..{len(kinds) + 1}\n# ORDERS_SEED={SEED}', flush=True)
    random.seed(SEED)
    weights = [4 if k in often else 1 for k in kinds]
    steps = recorded + [(random.choices(kinds, weights)[0], random.randrange(count)) for _ in range(STEPS)] + last
    failed = {}
    for i, (kind, n) in enumerate(steps):
        try:
            getattr(order, kind)(n)
            order.check()
        except (AssertionError, OSError, grpc.RpcError, subprocess.TimeoutExpired) as e:
            failed[kind] = f'step {i}, {kind} {n}, after {steps[max(0, i - 4):i]}: {e}'
            break   # the rest would be about a state that no model knows
    left = not failed and stays(left)
    for number, kind in enumerate(kinds, 1):
        print(f'{"not ok" if kind in failed else "ok"} {number} - after_{kind}_the_machine_is_as_the_model_says')
        if kind in failed:
            print('# ' + failed[kind].replace('\n', '\n# '))
    print(f'{"not ok" if left else "ok"} {len(kinds) + 1} - taken_back_nothing_is_left')
    machine.end_driver(signal.SIGTERM)
    wormhole('stop')
    return bool(failed or left)
