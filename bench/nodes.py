#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""nodes.py simulates a cluster of 1,000 nodes and 10,000 claims for the driver of claims, and measures
what the API server is asked and what a driver needs.

The code of the driver is the real one (host/kubernetes). Simulated are the nodes' servers, which answer
without GPUs, and the API server, which counts. Time is simulated, too: a look of every node in each period.
Memory is that of real drivers' processes, with a real server over softgpu, as root.

usage: bench/nodes.py [--nodes N] [--claims N] [--hours N] [--load] [--build DIR]
"""
import argparse
import collections
import http.client
import http.server
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GROUP = '/apis/resource.k8s.io/v1/'
PERIOD_S = 10
MIB = 1 << 20
GPUS = 8
WORKERS = 4     # processes that play nodes, each its part


def uid(n):
    return f'aaaaaaaa-0000-4000-8000-{n:012x}'


# --- The API server ---------------------------------------------------------------------------------------

class Api(http.server.BaseHTTPRequestHandler):
    """Nodes and claims are there; slices are kept. It counts requests and bytes since the last /count."""
    protocol_version = 'HTTP/1.1'
    objects = {}
    counts = collections.Counter()
    lock = threading.Lock()
    per_node = 10
    away = False

    def answer(self, status, o):
        text = json.dumps(o).encode()
        if self.path != '/count':
            with self.lock:
                self.counts['bytes answered'] += len(text)
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def claim(self, name):
        """A claim as the scheduler has allocated it: part of one of its node's devices."""
        n = int(name[1:])
        return {'apiVersion': 'resource.k8s.io/v1', 'kind': 'ResourceClaim',
                'metadata': {'name': name, 'namespace': 'team', 'uid': uid(n)},
                'spec': {'devices': {'requests': [{'name': 'gpu', 'exactly': {'deviceClassName': 'wormhole'}}]}},
                'status': {'allocation': {'devices': {'results': [{
                    'request': 'gpu', 'driver': 'gpu.wormhole.invalid', 'pool': 'n', 'device': f'gpu-{n % GPUS}',
                    'consumedCapacity': {'memory': '4Gi', 'share': '10'}}]}}}}

    def body(self):
        text = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        with self.lock:
            self.counts['bytes sent'] += len(text)
        return json.loads(text) if text else None

    def do_GET(self):
        if self.path == '/count':
            with self.lock:
                counts, Api.counts = dict(self.counts), collections.Counter()
            self.answer(200, counts)
            return
        if self.path.startswith('/away/'):
            Api.away = self.path == '/away/1'
            self.answer(200, {})
            return
        self.count('GET')
        if Api.away:
            self.answer(503, {'message': 'away'})
        elif self.path.startswith('/api/v1/nodes/'):
            self.answer(200, {'apiVersion': 'v1', 'kind': 'Node', 'metadata': {
                'name': self.path.split('/')[-1], 'uid': uid(0)}})
        elif '/resourceclaims/' in self.path:
            self.answer(200, self.claim(self.path.split('/')[-1]))
        elif self.path in self.objects:
            self.answer(200, self.objects[self.path])
        else:
            self.answer(404, {'message': 'not found'})

    def count(self, verb):
        kind = next(k for k in ('resourceslices', 'resourceclaims', 'nodes') if k in self.path)
        with self.lock:
            self.counts[f'{verb} {kind}'] += 1

    def write(self, verb):
        o = self.body()
        self.count(verb)
        if Api.away:
            self.answer(503, {'message': 'away'})
            return
        path = self.path + '/' + o['metadata']['name'] if verb == 'POST' else self.path
        o['metadata']['resourceVersion'] = str(time.monotonic_ns())
        self.objects[path] = o
        self.answer(201 if verb == 'POST' else 200, o)

    def do_POST(self):
        self.write('POST')

    def do_PUT(self):
        self.write('PUT')

    def log_message(self, *_):
        pass


class ApiServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024


def serve_api(port):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server = ApiServer(('127.0.0.1', 0), Api)
    port.put(server.server_port)
    server.serve_forever()


# --- Nodes ------------------------------------------------------------------------------------------------

class Hardware:
    """The Wormhole server of a node, as host/kubernetes/tenants.py has it: devices, and tenants by name."""

    def __init__(self):
        self.names = set()
        self.broken = False

    def info(self):
        return {'pid': 1, 'devices': [{'uuid': f'GPU-{i}', 'name': 'NVIDIA H100 80GB HBM3', 'sms': 132,
                                       'memory': 81559 * MIB} for i in range(GPUS)]}

    def devices(self):
        return [{**d, 'healthy': not (self.broken and i == 0)} for i, d in enumerate(self.info()['devices'])]

    def tenants(self):
        return self.names

    def create(self, name, _):
        self.names.add(name)

    def specify(self, name):
        return 'wormhole/tenant=' + name

    def delete(self, name):
        self.names.discard(name)


class Records:
    """A checkpoint in memory: a driver's file is its node's, and costs the API server nothing."""

    def __init__(self):
        self.records = {}

    def put(self, name, record):
        self.records[name] = record

    def remove(self, name):
        self.records.pop(name, None)


def play(where, nodes, claims_per_node, resync, pipe):
    """A process with a part of the nodes. Each word from the pipe is done on every node of it."""
    import kubernetes
    from cluster import Cluster
    from driver import Driver
    from tenants import Refused
    kubernetes.client.Configuration.set_default(kubernetes.client.Configuration(host=where))
    now = [0.0]
    fleet = []
    # A process has a connection, in place of one for each of its nodes.
    objects, core = kubernetes.client.CustomObjectsApi(), kubernetes.client.CoreV1Api()
    for n in nodes:
        cluster = Cluster(f'node-{n}', resync, lambda: now[0])
        cluster.objects, cluster.nodes = objects, core
        fleet.append((n, Driver(Hardware(), cluster, Records())))
    while True:
        word, *rest = pipe.recv()
        if word == 'end':
            return
        refused, slowest = 0, 0.0
        if word == 'pass':
            now[0] += rest[0]
        for n, driver in fleet:
            before = time.monotonic()
            try:
                if word in ('look', 'pass'):
                    driver.cluster.publish([d for d in driver.server.devices() if d['healthy']])
                elif word == 'break':
                    driver.server.broken = True
                elif word == 'restart':
                    driver.cluster.published = None
                elif word == 'prepare':
                    for c in range(claims_per_node):
                        i = n * claims_per_node + c
                        driver.prepare('team', f'c{i}', uid(i))
                elif word == 'unprepare':
                    for c in range(claims_per_node):
                        driver.unprepare(uid(n * claims_per_node + c))
            except Refused:
                refused += 1
            slowest = max(slowest, time.monotonic() - before)
        pipe.send((refused, slowest))


class Fleet:
    def __init__(self, where, port, nodes, per_node, resync):
        self.port = port
        self.pipes, self.processes = [], []
        for w in range(WORKERS):
            ours, theirs = multiprocessing.Pipe()
            p = multiprocessing.Process(target=play, args=(where, range(w, nodes, WORKERS), per_node, resync, theirs))
            p.start()
            self.pipes.append(ours)
            self.processes.append(p)

    def ask(self, path):
        c = http.client.HTTPConnection('127.0.0.1', self.port)
        c.request('GET', path)
        return json.loads(c.getresponse().read())

    def do(self, *words):
        """Returns the requests that it took, how often the API server refused, and the seconds that it took."""
        self.ask('/count')
        begin = time.monotonic()
        for p in self.pipes:
            p.send(words)
        answers = [p.recv() for p in self.pipes]
        took = time.monotonic() - begin
        counts = self.ask('/count')
        return counts, sum(a[0] for a in answers), took

    def end(self):
        for p in self.pipes:
            p.send(('end',))
        for p in self.processes:
            p.join()


def add(total, counts):
    for k, v in counts.items():
        total[k] = total.get(k, 0) + v


def requests(counts):
    return sum(v for k, v in counts.items() if not k.startswith('bytes'))


def line(name, counts, note=''):
    kinds = ', '.join(f'{v} {k}' for k, v in sorted(counts.items()) if not k.startswith('bytes')) or 'none'
    sent, answered = (counts.get(f'bytes {w}', 0) / MIB for w in ('sent', 'answered'))
    print(f'{name}: {requests(counts)} requests ({kinds}); {sent:.1f} MiB sent, {answered:.1f} MiB answered{note}',
          flush=True)


def load(a, resync):
    port = multiprocessing.Queue()
    api = multiprocessing.Process(target=serve_api, args=(port,), daemon=True)
    api.start()
    port = port.get(timeout=30)
    fleet = Fleet(f'http://127.0.0.1:{port}', port, a.nodes, a.claims // a.nodes, resync)
    print(f'# slices are read again every {resync} s' if resync else '# slices are read again at each look', flush=True)
    line('all nodes start', fleet.do('look')[0])
    counts, _, took = fleet.do('prepare')
    line('all claims are prepared', counts, note=f'; {took:.1f} s on this machine')
    line('all are prepared again', fleet.do('prepare')[0])
    total = {}
    looks = int(a.hours * 3600 / PERIOD_S) if resync else 6
    most = 0
    for _ in range(looks):
        counts = fleet.do('pass', PERIOD_S)[0]
        most = max(most, requests(counts))
        add(total, counts)
    rate = requests(total) / (looks * PERIOD_S)
    line(f'{looks * PERIOD_S} s without a change', total,
         note=f'; {rate:.2f} requests/s, and at most {most / PERIOD_S:.1f} in {PERIOD_S} s')
    fleet.do('break')
    line('a device of each node fails', fleet.do('look')[0])
    fleet.do('restart')
    line('all drivers start again', fleet.do('look')[0])
    line('all claims are taken back', fleet.do('unprepare')[0])
    fleet.do('restart')
    fleet.ask('/away/1')
    counts, refused, _ = fleet.do('look')
    line('a look while the API server is away', counts, note=f'; {refused} nodes say so')
    fleet.ask('/away/0')
    line('the look after it', fleet.do('look')[0])
    fleet.end()
    api.terminate()


# --- Memory of real drivers ---------------------------------------------------------------------------------

def memory(pid):
    """Resident MiB of a process, and those that it shares with none."""
    with open(f'/proc/{pid}/smaps_rollup', encoding='ascii') as f:
        figures = {k: int(v.split()[0]) for k, v in (x.split(':') for x in f.readlines()[1:])}
    return figures['Rss'] / 1024, (figures['Private_Clean'] + figures['Private_Dirty']) / 1024


def say(name, pid):
    rss, own = memory(pid)
    print(f'{name}: {rss:.0f} MiB resident, {own:.0f} MiB of its own', flush=True)


def await_true(what):
    end = time.monotonic() + 60
    while not what():
        if time.monotonic() > end:
            raise SystemExit('error: not within 60 s; run it as root, on a built tree')
        time.sleep(0.02)


def drivers(a):
    """Real drivers of one node, with a real server over softgpu; the kubelet's side is that of the tests."""
    tmp = tempfile.mkdtemp()
    os.chmod(tmp, 0o755)
    os.environ.update(WORMHOLE_DIR=tmp + '/d', WH_BUILD=a.build, PATH=f'{a.build}/host:{os.environ["PATH"]}')
    sys.path.insert(0, os.path.join(TOP, 'tests/kubernetes'))
    sys.argv[1:] = [tmp, '0']
    folders = ['--dir', tmp + '/d', '--kubelet', tmp + '/kubelet', '--cdi-dir', tmp + '/cdi', '--period', '1']
    os.makedirs(tmp + '/kubelet/plugins_registry')
    env = {**os.environ, 'WORMHOLE_SOFTGPU_MEM': '80G'}
    subprocess.run(['wormhole', 'serve', '--backend', 'softgpu', '--daemon', '--state', 'none', '--part-size', '16M'],
                   env=env, check=True, stdout=subprocess.DEVNULL)
    started = []
    try:
        started.append(subprocess.Popen([f'{TOP}/tests/kubernetes/api.py', tmp]))
        await_true(lambda: os.path.exists(tmp + '/kubeconfig'))
        driver = subprocess.Popen([f'{a.build}/kubernetes/wormhole-kubernetes', '--node', 'n1', '--kubeconfig',
                                   tmp + '/kubeconfig', *folders], stderr=subprocess.DEVNULL)
        started.append(driver)
        from kubelet import Kubelet
        k = Kubelet(tmp)
        await_true(lambda: os.path.exists(k.registry))
        k.register()
        say('driver without claims', driver.pid)
        done = 0
        for many in (10, 100):
            begin = time.monotonic()
            for n in range(done, many):
                k.claim(uid(n), {'memory': '256Mi', 'share': '1'}, [])
                answer = k.node('Prepare', [(uid(n), uid(n))])[uid(n)]
                assert answer.devices, answer
            print(f'a claim is prepared in {(time.monotonic() - begin) * 1000 / (many - done):.0f} ms', flush=True)
            done = many
            say(f'driver with {many} claims', driver.pid)
        plugin(a, tmp, folders, started)
    finally:
        for p in started:
            p.terminate()
            p.wait()
        subprocess.run(['wormhole', 'stop', '--force'], env=env, check=False, stdout=subprocess.DEVNULL)


def plugin(a, tmp, folders, started):
    """The device plugin of a device of 80 GiB, in units of 1 MiB."""
    from node_kubelet import Kubelet, wire
    k = Kubelet(tmp)
    p = subprocess.Popen([f'{a.build}/kubernetes/wormhole-device-plugin', *folders], stderr=subprocess.DEVNULL)
    started.append(p)
    k.await_plugins()
    units = k.endpoints['nvidia.com/gpumem'].units
    size = wire.ListAndWatchResponse(devices=[wire.Device(ID=i, health='Healthy') for i in units]).ByteSize()
    say(f'device plugin with {len(units)} units of memory', p.pid)
    begin = time.monotonic()
    k.admit('team/a', 'gpu=1', 'gpumem=40000', 'gpucores=30')
    k.start('team/a')
    print(f'a container with 40000 units starts in {(time.monotonic() - begin) * 1000:.0f} ms; '
          f'a list has {size / MIB:.2f} MiB of the kubelet\'s 4', flush=True)
    say('device plugin then', p.pid)
    k.stop()


def main():
    p = argparse.ArgumentParser(description=__doc__.partition('\n\n')[0])
    p.add_argument('--nodes', type=int, default=1000)
    p.add_argument('--claims', type=int, default=10000)
    p.add_argument('--hours', type=float, default=1)
    p.add_argument('--load', action='store_true', help="the API server's load alone")
    p.add_argument('--build', default=os.path.join(TOP, 'build'))
    a = p.parse_args()
    a.build = os.path.abspath(a.build)
    sys.path.insert(0, os.path.join(a.build, 'kubernetes'))
    print(f'# {a.nodes} nodes of {GPUS} GPUs, {a.claims} claims, a look every {PERIOD_S} s')
    for resync in (0, 300):
        load(a, resync)
    if a.load:
        return
    if os.geteuid():
        raise SystemExit('error: memory of drivers is measured as root')
    drivers(a)


if __name__ == '__main__':
    main()
