#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Runs many tenants on the servers of many imagined hosts. All of them are real processes over
softgpu on this machine. Tenants are placed by what each server's device has left. Then they
change for so many minutes of virtual time: an event follows the one before it at once.
Programs, workers and servers are killed. At the end all leftovers are counted; each count must be 0.

Prints in JSON what was done, what is left, and the cost of tenants over their number. --data
writes the latter as columns for gnuplot (many.gp).
"""
import argparse
import heapq
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("WH_BUILD", TOP + "/build")
WORMHOLE = BUILD + "/host/wormhole"
CLIENT = BUILD + "/tests/tenant/bin/client"
UIDS_OF_A_HOST = 257        # uids of the tenants, and one of the server
# Runs at the same time use different numbers. A full host uses all of its numbers.
UIDS = 1900000000 + os.getpid() % 900 * 1024 * UIDS_OF_A_HOST
MIB = 1 << 20
LIVE = 12                   # programs at a time
LIFE, CHANGE = 20, 10       # minutes: a tenant's life, the time between changes of its limits


def await_true(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def field(path, *names):
    """Return the sum of lines `NAME: N` of a file in /proc."""
    with open(path, encoding="utf-8") as f:
        return sum(int(line.split()[1]) for line in f if line.split(":")[0] in names)


def is_holder(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
            return f.read() == "wormhole-users\n"
    except OSError:
        return True


def kill(pid):
    """Return false if the process had ended."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


class Host:
    """One server, and the placement's view of it."""

    def __init__(self, folder, number):
        self.dir = f"{folder}/{number}"
        self.uids = UIDS + number * UIDS_OF_A_HOST
        self.tenants = {}
        self.start()
        self.memory = self.ask(op="info")["devices"][0]["memory"]

    def start(self):
        environment = dict(os.environ)
        if not os.geteuid() and environment.get("WORMHOLE_WORKER_UID") != "none":
            environment["WORMHOLE_WORKER_UID"] = str(self.uids)
        # A pipe would not end, since processes of the server may keep their standard error.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
            status = subprocess.run([WORMHOLE, "serve", "--backend", "softgpu", "--daemon", "--dir", self.dir,
                                     "--part-size", "16M"], check=False, env=environment,
                                    stdout=subprocess.DEVNULL, stderr=said).returncode
            said.seek(0)
            assert not status, f"wormhole serve ended with {status}: {said.read().strip()}"
        with open(self.dir + "/server.lock", encoding="utf-8") as f:
            self.pid = int(f.read())
        self.monitor = field(f"/proc/{self.pid}/status", "PPid")
        self.control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.connect(self.dir + "/control.sock")

    def ask(self, **request):
        self.control.send(json.dumps(request).encode())
        return json.loads(self.control.recv(65536))

    def do(self, **request):
        answer = self.ask(**request)
        assert answer["ok"], answer

    def left(self):
        """Return the memory and the share that were given to nobody."""
        return (self.memory - sum(t["memory"] for t in self.tenants.values()),
                100 - sum(t["sm"] for t in self.tenants.values()))

    def create(self, name, limit):
        self.do(op="create", tenant=name, limits=[limit])
        self.tenants[name] = limit

    def names(self):
        return {t["tenant"] for t in self.ask(op="list")["tenants"]} - {"default"}

    def children(self):
        """Return all children of server and monitor, but for the server itself and the one that holds
        the namespace of its users."""
        found = []
        for pid in self.pid, self.monitor:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
                found += [int(p) for p in f.read().split() if int(p) != self.pid and not is_holder(p)]
        return found

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def bytes(self):
        """Return the proportional memory of server and monitor of their own, without the program and
        its libraries: their share depends on how many processes run them."""
        sum_kib, own = 0, False
        for pid in self.pid, self.monitor:
            with open(f"/proc/{pid}/smaps", encoding="utf-8") as f:
                for line in f:
                    words = line.split(maxsplit=5)
                    if not words[0].endswith(":"):
                        own = len(words) < 6 or words[5].startswith(("[", self.dir + "/", "/dev/zero"))
                    elif own and words[0] == "Pss:":
                        sum_kib += int(words[1])
        return 1024 * sum_kib

    def wakeups(self):
        return field(f"/proc/{self.pid}/status", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")

    def kill(self):
        self.control.close()
        os.kill(self.monitor, signal.SIGKILL)   # and with it the server
        assert await_true(self.is_gone)

    def is_gone(self):
        """Return true if the process is gone, or has ended and nobody has read its status yet."""
        try:
            with open(f"/proc/{self.pid}/stat", encoding="utf-8") as f:
                return f.read().rsplit(")", 1)[1].split()[0] in "ZX"
        except OSError:
            return True

    def stop(self):
        self.control.close()
        subprocess.run([WORMHOLE, "stop", "--force", "--dir", self.dir], check=True)


class Program:
    """A client that has memory of its tenant's quota and waits."""

    def __init__(self, host, tenant):
        self.host, self.tenant = host, tenant
        self.process = subprocess.Popen(
            [WORMHOLE, "run", "--dir", host.dir, "--tenant", tenant, "--", CLIENT, f"alloc={MIB}",
             "ready", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        self.said = [self.process.stdout.readline().strip(), self.process.stdout.readline().strip()]

    def end(self, kill=False):
        if kill:
            self.process.kill()
        self.process.communicate()


def settle(hosts):
    """Wait until the effects of the last request have ended: no server has woken up for a quarter of a second."""
    for _ in range(40):
        before = [h.wakeups() for h in hosts]
        time.sleep(0.25)
        if before == [h.wakeups() for h in hosts]:
            return


class Cloud:
    def __init__(self, a, folder):
        self.random = random.Random(a.seed)
        self.hosts = [Host(folder, i) for i in range(a.hosts)]
        self.end = a.minutes
        self.events, self.order = [], 0
        self.where = {}
        self.programs = []
        self.count = dict.fromkeys(("placed", "full", "deleted", "changed", "programs",
                                    "killed_programs", "killed_workers", "killed_servers"), 0)

    def at(self, when, fn, *args):
        self.order += 1
        heapq.heappush(self.events, (when, self.order, fn, args))

    def after(self, now, mean, fn, *args):
        self.at(now + self.random.expovariate(1 / mean), fn, *args)

    # --- What happens ---------------------------------------------------------------------
    def place(self, name):
        """Place a tenant on the fullest host that has room, which leaves the fewest small rests."""
        limit = {"memory": self.random.choice((4, 8, 12)) * MIB, "sm": self.random.randint(1, 6)}
        fit = [h for h in self.hosts if h.left()[0] >= limit["memory"] and h.left()[1] >= limit["sm"]]
        if not fit:
            self.count["full"] += 1
            return False
        host = min(fit, key=lambda h: h.left()[1])
        host.create(name, limit)
        self.where[name] = host
        self.count["placed"] += 1
        return True

    def arrive(self, now, name):
        if not self.place(name):
            self.after(now, 1, self.arrive, name)
            return
        self.after(now, LIFE, self.leave, name)
        self.after(now, CHANGE, self.change, name)

    def leave(self, now, name):
        # The tenant is being placed again.
        if name not in self.where:
            self.after(now, 1, self.leave, name)
            return
        for p in [p for p in self.programs if p.tenant == name]:
            self.finish(now, p)
        host = self.where.pop(name)
        host.do(op="delete", tenant=name, force=True)
        del host.tenants[name]
        self.count["deleted"] += 1
        self.arrive(now, f"t{self.order}")

    def change(self, now, name):
        host = self.where.get(name)
        if not host:
            return
        old = host.tenants[name]
        new = {"memory": old["memory"], "sm": max(1, min(old["sm"] + host.left()[1], self.random.randint(1, 6)))}
        host.do(op="set", tenant=name, limits=[new])
        host.tenants[name] = new
        self.count["changed"] += 1
        self.after(now, CHANGE, self.change, name)

    def run(self, now, mean):
        self.after(now, mean, self.run, mean)
        if len(self.programs) >= LIVE:
            return
        name = self.random.choice(sorted(self.where))
        p = Program(self.where[name], name)
        assert p.said == ["ok", "ready"], (name, p.said)
        self.programs.append(p)
        self.count["programs"] += 1
        self.after(now, 1, self.finish, p)

    def finish(self, now, p):
        if p not in self.programs:
            return
        self.programs.remove(p)
        way = self.random.choice(("ends", "ends", "program", "worker"))
        workers = p.host.children()
        if way == "worker" and workers:
            self.count["killed_workers"] += kill(self.random.choice(workers))
        self.count["killed_programs"] += way == "program"
        p.end(way == "program")

    def crash(self, now, mean):
        """Kill a host's server. Its tenants are placed again where there is room."""
        self.after(now, mean, self.crash, mean)
        host = self.random.choice(self.hosts)
        host.kill()
        for p in [p for p in self.programs if p.host is host]:
            self.programs.remove(p)
            p.end()
        lost, host.tenants = host.tenants, {}
        host.start()
        self.count["killed_servers"] += 1
        for name in lost:
            del self.where[name]
            self.at(now, self.again, name)

    def again(self, now, name):
        if not self.place(name):
            self.after(now, 1, self.again, name)

    # --- What is so -------------------------------------------------------------------------
    def wrong(self):
        """Return the number of hosts whose server differs from the placement, or which gave more than they have."""
        return sum(h.names() != set(h.tenants) or min(h.left()) < 0 for h in self.hosts)

    def cost(self, seconds):
        settle(self.hosts)
        before = sum(h.wakeups() for h in self.hosts)
        time.sleep(seconds)
        return {"tenants": sum(len(h.tenants) for h in self.hosts),
                "bytes": sum(h.bytes() for h in self.hosts),
                "descriptors": sum(h.descriptors() for h in self.hosts),
                "wakeups": (sum(h.wakeups() for h in self.hosts) - before) / seconds}

    def churn(self):
        wrong, checked = 0, 0
        while self.events and self.events[0][0] < self.end:
            now, _, fn, args = heapq.heappop(self.events)
            fn(now, *args)
            if int(now * 2) > checked:
                checked = int(now * 2)
                wrong += self.wrong()
        return wrong

    def clear(self):
        while self.programs:
            self.finish(self.end, self.programs[0])
        for name, host in list(self.where.items()):
            host.do(op="delete", tenant=name, force=True)
            del host.tenants[name], self.where[name]


def left_of(host, base):
    """Return what a server has now that it did not have at its start."""
    await_true(lambda: not host.children() and host.names() == set())
    keep = {"default.limits", "default.usage", "turns"}
    await_true(lambda: set(os.listdir(host.dir + "/tenants")) <= keep)
    return {"tenants": len(host.names()), "workers": len(host.children()),
            "files": len(set(os.listdir(host.dir + "/tenants")) - keep),
            "seats": len(os.listdir(host.dir + "/tenants/turns/seats")) - base["seats"],
            "descriptors": host.descriptors() - base["descriptors"]}


def one_server(folder, seconds, most):
    """Measure the cost of one server's tenants over their number, and the time of requests."""
    host, rows = Host(folder, 1000), []
    rows.append(cost_of(host, 0, seconds, 0, 0))
    n = 1
    while n <= most:
        t0, made = time.monotonic(), len(host.tenants)
        while len(host.tenants) < n:
            host.create(f"n{len(host.tenants)}", {"memory": MIB, "sm": 1})
        create = (time.monotonic() - t0) / (n - made)
        t0 = time.monotonic()
        for i in range(50):
            host.do(op="set", tenant=f"n{n - 1}", limits=[{"sm": 1 + i % 2}])
        rows.append(cost_of(host, n, seconds, create, (time.monotonic() - t0) / 50))
        n = n * 2 if n * 2 <= most or n == most else most
    host.stop()
    return rows


def cost_of(host, n, seconds, create, change):
    settle([host])
    before = host.wakeups()
    time.sleep(seconds)
    return {"tenants": n, "bytes": host.bytes(), "descriptors": host.descriptors(),
            "wakeups": (host.wakeups() - before) / seconds, "create_us": create * 1e6, "set_us": change * 1e6}


def simulate(a, folder):
    cloud = Cloud(a, folder)
    base = {"descriptors": cloud.hosts[0].descriptors(),
            "seats": len(os.listdir(cloud.hosts[0].dir + "/tenants/turns/seats"))}
    rows, marks = [cloud.cost(a.seconds)], [a.tenants // d for d in (16, 8, 4, 2, 1)]
    for i in range(a.tenants):
        cloud.arrive(0, f"t0-{i}")
        if i + 1 in marks:
            rows.append(cloud.cost(a.seconds))
    cloud.after(0, a.minutes / a.programs, cloud.run, a.minutes / a.programs)
    cloud.after(0, a.minutes / a.crashes, cloud.crash, a.minutes / a.crashes)
    t0 = time.monotonic()
    wrong = cloud.churn()
    took = time.monotonic() - t0
    most = max(len(h.tenants) for h in cloud.hosts)
    cloud.clear()
    left = [left_of(h, base) for h in cloud.hosts]
    for h in cloud.hosts:
        h.stop()
    sums = {k: sum(h[k] for h in left) for k in left[0]}
    sums["processes"] = sum(not await_true(h.is_gone) for h in cloud.hosts)
    sums["sockets"] = sum(f.endswith(".sock") for h in cloud.hosts for f in os.listdir(h.dir))
    return {"hosts": a.hosts, "minutes": a.minutes, "seconds": round(took, 1), "most_on_a_host": most,
            "done": cloud.count, "wrong": wrong, "left": sums, "cloud": rows}


def write_data(path, result):
    with open(path, "w", encoding="utf-8") as f:
        for rows in (result["cloud"], result["server"]):
            names = list(rows[0])
            print("#", *names, file=f)
            for r in rows:
                print(*(r[n] for n in names), file=f)
            print("\n", file=f)


def those_of(folder):
    """Return the processes that have a name in it among their words."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as f:
                if folder.encode() in f.read():
                    yield int(name)
        except OSError:
            pass


def clean_up(folder):
    for name in os.listdir(folder):
        if os.path.exists(f"{folder}/{name}/control.sock"):
            subprocess.run([WORMHOLE, "stop", "--force", "--dir", f"{folder}/{name}"], check=False)
    # A program that was still to start does not listen yet.
    for pid in those_of(folder):
        kill(pid)
    shutil.rmtree(folder)


def main():
    # If the bench is stopped from outside, the servers must not stay.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    p = argparse.ArgumentParser(description="Many tenants on many servers, churned; then what is left.")
    p.add_argument("--hosts", type=int, default=64)
    p.add_argument("--tenants", type=int, default=1000)
    p.add_argument("--minutes", type=float, default=60, help="of virtual time")
    p.add_argument("--programs", type=int, default=600, help="that run meanwhile")
    p.add_argument("--crashes", type=int, default=30, help="of servers meanwhile")
    p.add_argument("--most", type=int, default=255, help="tenants of one server")
    p.add_argument("--seconds", type=float, default=3, help="at rest, for each count of wake-ups")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--data", help="a file for gnuplot")
    a = p.parse_args()
    folder = os.path.realpath(tempfile.mkdtemp(prefix="many."))
    os.chmod(folder, 0o755)
    try:
        result = simulate(a, folder)
        result["server"] = one_server(folder, a.seconds, a.most)
    finally:
        clean_up(folder)
    if a.data:
        write_data(a.data, result)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
