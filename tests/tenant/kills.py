#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kills servers and workers by kill -9 at random points, under load.

Usage: kills.py POINTS SEED     WH_BUILD: what was built, build/ by default; WH_KILLS: only this
point of the seed

There are two servers with programs of several tenants each. At each point one process of the
first server dies, after a random number of microseconds, of lines that programs have said, or of
workers that have been seen. Then programs that had nothing to do with it end with right results.
If it was the server alone, these are all programs, also those that were just starting. If it was
its monitor, which takes the server with it, a new server on the same folder serves. All other
programs end with an error in bounded time, never with a wrong result. Nothing is left behind by
what was killed. The program prints a line for each find, and a last line "POINTS points: WORKERS
workers, SERVERS servers, MONITORS monitors killed; PROGRAMS programs, FINDS finds".
"""

import contextlib
import fcntl
import os
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get('WH_BUILD', os.path.join(TOP, 'build'))
WORMHOLE = os.path.join(BUILD, 'host/wormhole')
LOAD = os.path.join(BUILD, 'tests/tenant/bin/load')
TENANTS = 'a', 'b'      # permanent tenants; others live as long as their program
ENDS = 60       # seconds: what takes longer does not end
LEAVES = 20     # seconds within which what was killed is gone


class Find(Exception):
    """Something that should not be."""


def read(path):
    try:
        with open(path, encoding='utf-8', errors='replace') as f:
            return f.read()
    except OSError:
        return ''


def processes():
    """Returns {pid: words of its command line} of all processes that have not ended."""
    found = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        words = read(f'/proc/{pid}/cmdline').split('\0')
        if words[0]:
            found[int(pid)] = words
    return found


def parent(pid):
    m = re.search(r'^PPid:\s*(\d+)', read(f'/proc/{pid}/status'), re.M)
    return int(m.group(1)) if m else 0


def user(pid):
    m = re.search(r'^Uid:\s*(\d+)', read(f'/proc/{pid}/status'), re.M)
    return int(m.group(1)) if m else -1


def namespaces(pid):
    """Returns the network and the IPC namespace of a process."""
    found = set()
    for kind in 'net', 'ipc':
        try:
            found.add(os.readlink(f'/proc/{pid}/ns/{kind}'))
        except OSError:
            pass
    return found


def groups(servers):
    """Returns the cgroups of these servers and their tenants."""
    names = {f'wormhole-{pid}' for pid in servers}
    return {os.path.join(at, d) for at, dirs, _ in os.walk('/sys/fs/cgroup') for d in dirs if d in names}


def of_another_server(pid, ours):
    """Is it a child of a server that is not ours? Servers share users, one after the other."""
    while pid > 1:
        words = processes().get(pid, [''])
        if words[0].endswith('wormhole-server') and pid not in ours:
            return True
        pid = parent(pid)
    return False


def sockets(folder):
    """Returns the sockets that somebody has open, by their names below the folder."""
    return {line.split()[-1] for line in read('/proc/net/unix').splitlines() if folder in line}


def given_out(uid):
    """Has a tenant of a living server this user (server/daemon/uids.c)?"""
    ask = struct.pack('hhqqi4x', fcntl.F_WRLCK, os.SEEK_SET, uid, 1, 0)
    try:
        with open('/run/wormhole-uids', 'rb+') as f:
            return struct.unpack('hhqqi4x', fcntl.fcntl(f, fcntl.F_OFD_GETLK, ask))[0] != fcntl.F_UNLCK
    except OSError:
        return False


def shared(users):
    """Returns what belongs to these users in /dev/shm, without users that another server has given
    out again.
    """
    users = {u for u in users if not given_out(u)}
    found = set()
    for entry in os.scandir('/dev/shm'):
        try:
            if entry.stat(follow_symlinks=False).st_uid in users:
                found.add(entry.path)
        except OSError:
            pass
    return found


def until(true, seconds):
    """Waits until true() is true; returns what it last gave."""
    end = time.monotonic() + seconds
    while True:
        got = true()
        if got or time.monotonic() > end:
            return got
        time.sleep(0.01)


def stop(folder, seconds=None):
    """Ends the server of a folder with its programs, if there is one."""
    subprocess.run([WORMHOLE, 'stop', '--force', '--dir', folder], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=seconds, check=False)


def clean_up(top, names):
    """Ends the servers of these folders below top, and removes top."""
    def ended():
        for name in names:
            stop(os.path.join(top, name))
        return not [pid for pid, words in processes().items() if words[0].endswith('wormhole-server') and
                    any(word.startswith(top + '/') for word in words)]

    # A server that is still starting does not hear the first order.
    if not until(ended, LEAVES):
        print(f'a server stays in {top}')
    shutil.rmtree(top, ignore_errors=True)


def stopped(*_):
    """Ends the program by an exception. It comes once at most, and so never into clean_up()."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(1)


@contextlib.contextmanager
def folder_of_servers(*names):
    """Gives a folder for servers of these names. At the end the servers and the folder go, also if
    the test is stopped by SIGTERM.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    signal.signal(signal.SIGTERM, stopped)
    top = tempfile.mkdtemp()
    try:
        try:
            os.chmod(top, 0o755)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            yield top
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
    finally:
        clean_up(top, names)


class Server:
    def __init__(self, folder):
        self.folder = folder
        self.start()
        for tenant in TENANTS:
            subprocess.run([WORMHOLE, 'tenant', 'create', tenant, '--dir', self.folder, '--mem', '64M', '--sm', '40'],
                           check=True, timeout=ENDS)

    def start(self):
        done = subprocess.run([WORMHOLE, 'serve', '--backend', 'softgpu', '--daemon', '--part-size', '16M', '--dir',
                               self.folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=ENDS,
                              check=False)
        if done.returncode:
            raise Find(f'serve on {self.folder}: {done.stdout}')
        self.look()
        self.monitor = parent(self.pid)

    def look(self):
        """Another server may have gone on."""
        self.pid = int(read(os.path.join(self.folder, 'server.lock')))

    def another(self, before):
        """Has another server than that one gone on?"""
        self.look()
        return self.pid != before and parent(self.pid) == self.monitor

    def restart(self):
        """The permanent tenants are there again by themselves."""
        self.start()
        there = subprocess.run([WORMHOLE, 'tenant', 'list', '--dir', self.folder], stdout=subprocess.PIPE, text=True,
                               check=True, timeout=ENDS).stdout
        lost = [t for t in TENANTS if f'\n{t} ' not in there]
        if lost:
            raise Find(f'tenants {lost} are lost: {there}')

    def stop(self):
        stop(self.folder, ENDS)

    def children(self):
        return {pid: words for pid, words in processes().items() if parent(pid) == self.monitor}

    def workers(self):
        return sorted(pid for pid, words in self.children().items() if '--serve' in words)

    def log(self):
        return read(os.path.join(self.folder, 'server.log'))


class Program:
    def __init__(self, server, tenant, rounds, seed):
        self.tenant, self.server, self.text = tenant, server, ''
        limits = [] if tenant in TENANTS else ['--mem', '64M', '--sm', '40']
        self.process = subprocess.Popen([WORMHOLE, 'run', '--dir', server.folder, '--tenant', tenant] + limits +
                                        ['--', LOAD, str(rounds), str(seed)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.set_blocking(self.process.stdout.fileno(), False)

    def listen(self):
        data = self.process.stdout.read()
        self.text += (data or b'').decode(errors='replace')

    def lines(self):
        return self.text.count('\n')

    def right(self):
        return self.process.returncode == 0 and self.text.endswith('done\n')

    def __str__(self):
        return f'tenant {self.tenant}: status {self.process.returncode}, "{self.text[-200:]}"'


def wait_for_lines(programs, enough, seconds):
    """Waits until so many lines were said, or all programs have ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        select.select([p.process.stdout for p in programs], [], [], 0.05)
        for p in programs:
            p.listen()
        if sum(p.lines() for p in programs) >= enough or all(p.process.poll() is not None for p in programs):
            return


def finish(programs):
    for p in programs:
        try:
            rest, _ = p.process.communicate(timeout=ENDS)
            p.text += (rest or b'').decode(errors='replace')
        except subprocess.TimeoutExpired as e:
            p.process.kill()
            raise Find(f'{p} has not ended after {ENDS} s') from e
        if 'wrong' in p.text:
            raise Find(f'{p}: a wrong result')


class Kills:
    def __init__(self, top):
        self.users, self.spaces, self.servers, self.family = set(), set(), set(), {}
        self.first = Server(os.path.join(top, 'first'))
        self.second = Server(os.path.join(top, 'second'))
        self.killed = {'worker': 0, 'server': 0, 'monitor': 0}
        self.programs = 0

    def remember(self):
        """Notes what is ours now, so that the end can check that nothing of it is left."""
        for s in self.first, self.second:
            self.servers |= {s.pid, s.monitor}
            for pid, words in s.children().items():
                self.family[pid] = words
                if user(pid) > 0:
                    self.users.add(user(pid))
                self.spaces |= namespaces(pid)
        self.spaces -= namespaces(os.getpid())

    def load(self, r):
        """Starts two programs of a tenant, one each of two others, and one of the other server."""
        here = [Program(self.first, t, r.randint(8, 24), r.getrandbits(30)) for t in ('a', 'a', 'b', 'c')]
        there = [Program(self.second, 'd', 12, r.getrandbits(30))]
        self.programs += len(here + there)
        return here, there

    def await_point(self, r, programs):
        kind = r.choice(('time', 'lines', 'workers'))
        if kind == 'time':
            # This sleep waits for nothing: it is the random point itself.
            time.sleep(r.randrange(600000) / 1e6)
        elif kind == 'lines':
            wait_for_lines(programs, r.randrange(1, 40), 10)
        else:
            n = r.randrange(1, 5)
            until(lambda: len(self.first.workers()) >= n or all(p.process.poll() is not None for p in programs), 10)
        return kind

    def kill_worker(self, pid, here):
        """Kills a worker. Returns False if it has just ended by itself."""
        before = len(self.first.log())
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        finish(here)
        failed = [p for p in here if not p.right()]
        # The log names the worker once the server has looked after it.
        said = until(lambda: re.search(rf'tenant (\w+): worker {pid} killed', self.first.log()[before:]), LEAVES)
        tenant = said.group(1) if said else None
        if len(failed) > 1 or any(p.tenant != tenant for p in failed):
            raise Find(f'worker {pid} of tenant {tenant} was killed, but failed: ' + '; '.join(map(str, failed)))
        if self.first.pid not in processes():
            raise Find('the server ended with its worker')
        return True

    def kill_server(self, here):
        """Kills the server alone: another goes on, and no program notices."""
        was = self.first.pid
        os.kill(self.first.pid, signal.SIGKILL)
        finish(here)
        failed = [p for p in here if not p.right()]
        if failed:
            raise Find('a program failed: ' + '; '.join(map(str, failed)))
        if not until(lambda: self.first.another(was), ENDS):
            raise Find(f'no server has gone on: {self.first.log()[-300:]}')

    def kill_monitor(self, here):
        family = self.first.children()
        os.kill(self.first.monitor, signal.SIGKILL)
        finish(here)
        left = until(lambda: not [p for p, words in family.items() if processes().get(p) == words], LEAVES)
        if not left:
            raise Find(f'children outlive their server: {family}')
        self.first.restart()
        self.check_files()
        # The next server begins as the first one did, so it has nothing when it is stopped.
        again = Program(self.first, 'again', 2, 1)
        self.programs += 1
        finish([again])
        if not again.right():
            raise Find(f'a new server on the same folder does not serve: {again}')

    def check_files(self):
        """Checks that only files of the permanent tenants are there, once the programs' own tenants
        are over."""
        good = {f'{t}.{kind}' for t in TENANTS for kind in ('limits', 'usage', 'sock')}
        good |= {'default.limits', 'default.usage', 'turns'}
        folder = os.path.join(self.first.folder, 'tenants')
        if not until(lambda: set(os.listdir(folder)) == good, LEAVES):
            raise Find(f'files are left: {sorted(set(os.listdir(folder)) - good)}')
        names = {os.path.join(self.first.folder, n) for n in ('control.sock', 'server.sock')}
        names |= {os.path.join(folder, f'{t}.sock') for t in TENANTS}
        if not until(lambda: sockets(self.first.folder) <= names, LEAVES):
            raise Find(f'sockets are left: {sockets(self.first.folder) - names}')
        if not until(lambda: not self.first.workers(), LEAVES):
            raise Find(f'workers are left: {self.first.workers()}')

    def point(self, r):
        here, there = self.load(r)
        kind = self.await_point(r, here)
        self.remember()
        workers = self.first.workers()
        victim = r.choice(workers) if workers and r.random() < 0.5 else None
        what = 'worker' if victim else r.choice(('server', 'monitor'))
        try:
            if victim and not self.kill_worker(victim, here):
                what = 'server'
            if what == 'server':
                self.kill_server(here)
            if what == 'monitor':
                self.kill_monitor(here)
            self.killed[what] += 1
            finish(there)
            if not there[0].right():
                raise Find(f'a program of another server failed: {there[0]}')
            self.check_files()
        except Find as e:
            raise Find(f'{what} after {kind}: {e}') from e
        finally:
            for p in here + there:
                p.process.kill()
                p.process.wait()

    def left(self):
        """Returns what is still there of all that was ours."""
        alive = processes()
        found = [f'process {pid}: {words}' for pid, words in self.family.items() if alive.get(pid) == words]
        for pid in alive:
            if (user(pid) in self.users or namespaces(pid) & self.spaces) and not of_another_server(pid, self.servers):
                found.append(f'process {pid} of user {user(pid)} in {namespaces(pid)}: {alive[pid]}')
        return found + sorted(groups(self.servers)) + sorted(shared(self.users))

    def end(self):
        self.remember()
        # A process that must be told of their end may be slow to ask.
        dead = self.servers - {p for s in (self.first, self.second) for p in (s.pid, s.monitor)}
        until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in dead), ENDS)
        for s in self.first, self.second:
            s.stop()
        if not until(lambda: not self.left(), LEAVES):
            raise Find(f'left behind: {self.left()}')
        print(f'of {len(self.servers)} servers, {len(self.family)} children, {len(self.users)} users and '
              f'{len(self.spaces)} namespaces nothing is left')
        for s in self.first, self.second:
            left = set(os.listdir(s.folder)) - {'server.lock', 'server.log', 'state'}
            if left or sockets(s.folder):
                raise Find(f'left of {s.folder}: {left} {sockets(s.folder)}')


def kill_at(top, points, seed):
    """Kills at these points in servers below top, and returns the number of finds."""
    finds = done = 0
    kills = None
    try:
        kills = Kills(top)
        for n in points:
            kills.point(random.Random(f'{seed} {n}'))
            done = n + 1
            if n % 10 == 9:
                print(f'{n + 1} points', flush=True)
        kills.end()
    except Find as e:
        finds = 1
        print(f'find: seed {seed}, point {done}: {e}', flush=True)
        if kills:
            print(''.join(f'log: {line}\n' for line in kills.first.log().splitlines()[-15:]), end='')
    if kills:
        print(f'{done} points: {kills.killed["worker"]} workers, {kills.killed["server"]} servers, '
              f'{kills.killed["monitor"]} monitors killed; {kills.programs} programs, {finds} finds')
    return finds


def main():
    points, seed = int(sys.argv[1]), int(sys.argv[2])
    only = os.environ.get('WH_KILLS')
    print(f'seed {seed}', flush=True)
    with folder_of_servers('first', 'second') as top:
        finds = kill_at(top, [int(only)] if only else range(points), seed)
    sys.exit(finds)


if __name__ == '__main__':
    main()
