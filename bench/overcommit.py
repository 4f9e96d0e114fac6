#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure what two tenants lose whose memory does not fit on one GPU together (`serve --overcommit`).

usage: overcommit.py [--turn S] [--turns N] [--stay S] [--part P] [--gb G] [--backend LIBRARY] [--out DIR] WORMHOLE

Each of two programs fills its tenant's quota and works for N turns of S seconds. First one runs after the
other; then both at the same time, and the server lets a tenant stay for a time before it parks it for the
other one. Work of exactly a stay wants a second one for its last moment, so that a stay is better a little
longer. Prints both times and their quotient beside the goal, whether the values are the same, and
how long tenants waited, and what their workers moved to the host and back. DIR gets overcommit.csv: each
tenant's memory on the device and in the host, and what the device has in use besides what was there before,
over time (overcommit.gp draws it).

A quota is P of the device's memory, or G of 10^9 bytes. The host has to have room for both programs'
memory while one takes the other's place; where it has not, or G says so, the device is made smaller: a
program that is no tenant's holds the rest of it. Uses PyTorch where this python has it, and otherwise, or
by --plain, the driver's calls. `--backend softgpu` runs it small and without a GPU.
"""
import argparse
import csv
import ctypes
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

from asked import Asked, libraries
from nvml import Nvml

GOAL = 1.2
MIB = 1 << 20
START_S = 120


# --- The programs ------------------------------------------------------------------------------------

class Torch:
    """Memory in parts of 64 MiB; a step multiplies one of them by a small matrix, in its place."""
    PART = 64 * MIB

    def __init__(self):
        import torch
        self.torch = torch
        torch.manual_seed(1)
        turn = torch.linalg.qr(torch.randn(1024, 1024))[0]
        self.turn = turn.cuda()
        (torch.ones(1024, 1024, device="cuda") @ self.turn).sum().item()
        self.parts = []

    def fill(self, size):
        for k in range(size // self.PART):
            self.parts.append(self.torch.full((self.PART // 4096, 1024), k + 1.0, device="cuda"))
        self.torch.cuda.synchronize()

    def step(self, k):
        part = self.parts[k % len(self.parts)]
        for _ in range(4):
            part.copy_(part @ self.turn)
        if k % 8 == 7:
            self.torch.cuda.synchronize()

    def sums(self):
        return [p.view(self.torch.int32).sum(dtype=self.torch.int64).item() for p in self.parts]


PTX = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry mix(.param .u64 p, .param .u32 n)
{
.reg .u64 %a, %o; .reg .u32 %v, %n, %t, %b, %d;
ld.param.u64 %a, [p]; ld.param.u32 %n, [n];
mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %d, %ntid.x;
mad.lo.u32 %t, %b, %d, %t; mul.wide.u32 %o, %t, 4; add.u64 %a, %a, %o;
ld.global.u32 %v, [%a]; mad.lo.u32 %v, %v, 1664525, %n; add.u32 %v, %v, %t;
st.global.u32 [%a], %v; ret;
}
"""


class Plain:
    """The same by the driver's calls, with a kernel of integers. What is smaller, workers do not move."""
    PART = 2 * MIB if "WORMHOLE_SOFTGPU_MEM" in os.environ else 64 * MIB

    def __init__(self):
        self.cu = ctypes.CDLL("libcuda.so.1")
        context, module, self.mix = (ctypes.c_void_p() for _ in range(3))
        self.must("cuInit", 0)
        self.must("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.must("cuCtxSetCurrent", context)
        self.must("cuModuleLoadData", ctypes.byref(module), PTX)
        self.must("cuModuleGetFunction", ctypes.byref(self.mix), module, b"mix")
        self.parts = []

    def must(self, name, *args):
        code = getattr(self.cu, name)(*args)
        if code:
            sys.exit(f"error: {name} answers {code}")

    def fill(self, size):
        for k in range(size // self.PART):
            p = ctypes.c_uint64()
            self.must("cuMemAlloc_v2", ctypes.byref(p), ctypes.c_size_t(self.PART))
            self.must("cuMemsetD32_v2", p, k + 1, ctypes.c_size_t(self.PART // 4))
            self.parts.append(p)

    def step(self, k):
        number = ctypes.c_uint32(k)
        args = (ctypes.byref(self.parts[k % len(self.parts)]), ctypes.byref(number))
        params = (ctypes.c_void_p * 2)(*(ctypes.cast(a, ctypes.c_void_p) for a in args))
        self.must("cuLaunchKernel", self.mix, 32, 1, 1, 128, 1, 1, 0, None, params, None)
        self.must("cuCtxSynchronize")

    def sums(self):
        out, words = [], (ctypes.c_uint32 * (self.PART // 4))()
        for p in self.parts:
            self.must("cuMemcpyDtoH_v2", words, p, ctypes.c_size_t(self.PART))
            out.append(int.from_bytes(hashlib.sha256(bytes(words)).digest()[:6], "big"))
        return out


def child(kind):
    """Answers lines: `fill BYTES`, `seconds S` (works, and says how many steps that were), `steps N`."""
    p = {"torch": Torch, "plain": Plain}[kind]()
    print("ready", flush=True)
    for line in sys.stdin:
        word, value = line.split()
        start, k = time.monotonic(), 0
        if word == "fill":
            p.fill(int(value))
        else:
            while k < float(value) if word == "steps" else time.monotonic() < start + float(value):
                p.step(k)
                k += 1
            sums = hashlib.sha256(json.dumps(p.sums()).encode()).hexdigest()[:16]
        print(json.dumps([time.monotonic() - start, k, "" if word == "fill" else sums]), flush=True)


def hold(size):
    """Holds so much of the device until standard input ends; says when it has it, or the error."""
    cu, context, p = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
    code = (cu.cuInit(0) or cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) or cu.cuCtxSetCurrent(context) or
            cu.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(int(size))))
    print("ready" if not code else f"the driver answers {code}", flush=True)
    sys.stdin.read()


class Program(Asked):
    def __init__(self, command, who, limit):
        self.who, self.limit = who, limit
        super().__init__(command)

    def said(self, limit):
        """The next line; that there is none is an error."""
        said = self.line(limit).strip()
        if not said:
            # One of the threads may be asking, and their last words are lost otherwise.
            print(f"error: {self.who} ends with {self.p.poll()}, or says nothing within {limit:.0f} s", file=sys.stderr)
            sys.exit(1)
        return said

    def ready(self):
        said = self.said(START_S)
        if said != "ready":
            sys.exit(f"error: {self.who}: {said}")

    def ask(self, *words):
        self.say(" ".join(map(str, words)))

    def answer(self):
        return json.loads(self.said(self.limit))


# --- The server, and what is seen of it --------------------------------------------------------------

class Server:
    def __init__(self, opt):
        self.opt, self.dir = opt, tempfile.mkdtemp()
        words = libraries()
        if opt.backend:
            words += ["--backend", opt.backend]
        if opt.backend == "softgpu":
            # Workers write the device's books, and nothing else.
            words += ["--nvml", "none", "--worker-uid", "none", "--part-size", "16M"]
        self.call("serve", "--daemon", "--state", "none", f"--overcommit={opt.stay * 1000:.0f}ms", *words)

    def call(self, *words):
        subprocess.run([self.opt.wormhole, *words, "--dir", self.dir], check=True, timeout=120,
                       stdout=subprocess.DEVNULL)

    def stat(self):
        text = subprocess.run([self.opt.wormhole, "stat", "--json", "--dir", self.dir], text=True, timeout=60,
                              stdout=subprocess.PIPE).stdout
        return {t["tenant"]: t for t in json.loads(text or "[]")}

    def program(self, tenant, limit):
        command = [self.opt.wormhole, "run", "--dir", self.dir, "--tenant", tenant, "--", sys.executable, "-B", __file__,
                   "--child", self.opt.kind]
        return Program(command, f"tenant {tenant}'s program", limit)

    def metrics(self):
        """A function that sums up a metric of a tenant, of one direction if it has two."""
        lines = subprocess.run([self.opt.wormhole, "metrics", "--dir", self.dir], text=True, timeout=60,
                               stdout=subprocess.PIPE).stdout.splitlines()

        def total(name, tenant, direction=""):
            mine = [x for x in lines if x.startswith(f'wormhole_{name}{{tenant="{tenant}"') and
                    (not direction or f'direction="{direction}"' in x)]
            return sum(float(x.split()[-1]) for x in mine)

        return total


class Watch:
    """Writes a line of memory over time, each 0.5 s, from its start on."""

    def __init__(self, server, used, out, every):
        self.server, self.used, self.every, self.run = server, used, every, "start"
        self.before = used()
        self.file = open(os.path.join(out, "overcommit.csv"), "w", buffering=1)
        self.csv = csv.writer(self.file)
        self.csv.writerow(["run", "seconds", "a_device", "a_host", "a_state", "b_device", "b_host", "b_state",
                           "device_used"])
        self.ended, self.began = threading.Event(), time.monotonic()
        self.errors = 0
        self.thread = threading.Thread(target=self.go, daemon=True)

    def next(self, run):
        self.run, self.began = run, time.monotonic()
        if not self.thread.ident:
            self.thread.start()

    def go(self):
        while not self.ended.wait(self.every):
            run, at = self.run, time.monotonic() - self.began
            try:
                t = self.server.stat()
            except (subprocess.SubprocessError, ValueError):
                self.errors += 1
                continue
            row = [run, f"{at:.2f}"]
            for name in "ab":
                seen = t.get(name)
                row += ([sum(d["memory"] for d in seen["devices"]), seen["suspended_memory"], seen["state"]] if seen
                        else [0, 0, "none"])
            self.csv.writerow([*row, max(0, self.used() - self.before)])

    def end(self):
        self.ended.set()
        if self.thread.ident:
            self.thread.join(10)
        self.file.close()


# --- The measurement ---------------------------------------------------------------------------------

def host_room():
    """Bytes that this machine, or the cgroup of this process, can still give. Files that are only cached count."""
    room = next(int(x.split()[1]) * 1024 for x in open("/proc/meminfo") if x.startswith("MemAvailable"))
    for most, used, stat in (("memory.max", "memory.current", "memory.stat"),
                             ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat")):
        try:
            most, used = (int(open("/sys/fs/cgroup/" + f).read()) for f in (most, used))
            cached = max(int(x.split()[1]) for x in open("/sys/fs/cgroup/" + stat) if "inactive_file" in x)
            room = min(room, max(0, most - used + cached))
        except (OSError, ValueError):
            pass
    return room


def sizes(opt, nvml):
    """The quota of a tenant and what is to be held of the device besides, in bytes."""
    if opt.backend == "softgpu":
        total, used = 64 * MIB, 0
    else:
        total, used = nvml.memory() or sys.exit("error: NVML says nothing of a device")
    quota = int(opt.gb * 1e9) if opt.gb else int(total * opt.part)
    most = int(0.42 * host_room())
    if opt.backend != "softgpu" and quota > most:
        print(f"the host has room for {most / 1e9:.1f} GB of each tenant, not for {quota / 1e9:.1f}")
        quota = most
    free = int(quota / opt.part)
    held = total - used - free
    # A smaller difference is the driver's own.
    held = held if held > total // 50 else 0
    print(f"device of {total / 1e9:.1f} GB, {held / 1e9:.1f} of them held by a program that is no tenant's; two "
          f"quotas of {quota / 1e9:.2f} GB, {quota / (total - used - held):.2f} of the rest", flush=True)
    return quota, held


def books_used():
    with open(os.environ["WORMHOLE_SOFTGPU_BOOKS"], "rb") as books:
        return int.from_bytes(books.read(72)[64:], sys.byteorder)


def device_used(opt, nvml):
    if opt.backend != "softgpu":
        return nvml.memory()[1]
    # softgpu's books drop a process that has ended when somebody comes who may see that.
    subprocess.run([sys.executable, "-B", __file__, "--hold", "4096"], stdin=subprocess.DEVNULL, check=True,
                   stdout=subprocess.DEVNULL, timeout=60, env={**os.environ, "LD_LIBRARY_PATH": os.path.join(
                       os.path.dirname(os.path.abspath(opt.wormhole)), "../softgpu")})
    return books_used()


def settle(opt, nvml, before):
    """Waits until the device has back what a program had that has ended."""
    end = time.monotonic() + 60
    while device_used(opt, nvml) > before + (64 * MIB if opt.backend != "softgpu" else MIB):
        if time.monotonic() > end:
            sys.exit("error: the memory of a program that has ended stays on the device")
        time.sleep(0.1)


def fill_of(opt, quota):
    """What a program takes: its context, libraries and sums in between count to the quota, too."""
    return quota - (quota // 16 if opt.backend == "softgpu" else 3 * 10 ** 9)


def one_after_the_other(opt, server, watch, nvml, size):
    work, total, before = {}, 0.0, device_used(opt, nvml)
    for t in "ab":
        p = server.program(t, opt.limit)
        try:
            p.ready()
            watch.next(f"alone-{t}")
            p.ask("fill", size)
            filled = p.answer()[0]
            p.ask("seconds", opt.turn * opt.turns)
            took, steps, sums = p.answer()
        finally:
            p.end()
        settle(opt, nvml, before)
        total += filled + took
        work[t] = (steps, sums)
        print(f"{t} alone: {filled:.1f} s to fill, {took:.1f} s for {steps} steps", flush=True)
    return total, work


def say_parkings(t, metrics):
    print(f"{t} was parked {metrics('parkings_total', t):.0f} times, {metrics('driver_parkings_total', t):.0f} of them by "
          f"the driver's checkpoint, and waited {metrics('room_waited_seconds_total', t):.1f} s for room", flush=True)
    for way in "out", "in":
        moved, seconds = (metrics(f"paged_{m}_total", t, way) for m in ("bytes", "seconds"))
        print(f"{t} moved {moved / 1e9:.2f} GB {way} in {seconds:.2f} s: {moved / 1e9 / (seconds or 1):.1f} GB/s", flush=True)


def together(opt, server, watch, size, work):
    programs = {t: server.program(t, opt.limit) for t in "ab"}
    try:
        for p in programs.values():
            p.ready()
        start = time.monotonic()
        watch.next("together")
        for t, p in programs.items():
            p.ask("fill", size)
            p.ask("steps", work[t][0])
        sums, ends = {}, {}

        def finish(t):
            programs[t].answer()
            sums[t] = programs[t].answer()[2]
            ends[t] = time.monotonic() - start

        threads = [threading.Thread(target=finish, args=t) for t in "ab"]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        if len(ends) < 2:
            sys.exit("error: a program has not ended well")
        for t in "ab":
            print(f"{t} beside the other: {ends[t]:.1f} s; values {'equal' if sums[t] == work[t][1] else 'DIFFER'}",
                  flush=True)
        metrics = server.metrics()
    finally:
        for p in programs.values():
            p.end()
    for t in "ab":
        say_parkings(t, metrics)
    return max(ends.values()), all(sums[t] == work[t][1] for t in "ab")


def measure(opt):
    os.makedirs(opt.out, exist_ok=True)
    nvml = Nvml("", "/usr/local/nvidia/lib64")
    quota, held = sizes(opt, nvml)
    holder = Program([sys.executable, "-B", __file__, "--hold", str(held)], "the holder", opt.limit) if held else None
    server = watch = None
    try:
        if holder:
            holder.ready()
        server = Server(opt)
        for t in "ab":
            server.call("tenant", "create", t, "--mem", f"{quota}B")
        used = books_used if opt.backend == "softgpu" else lambda: nvml.memory()[1]
        watch = Watch(server, used, opt.out, 0.5 if opt.turn >= 5 else 0.05)
        alone, work = one_after_the_other(opt, server, watch, nvml, fill_of(opt, quota))
        both, equal = together(opt, server, watch, fill_of(opt, quota), work)
    finally:
        if watch:
            watch.end()
        if server:
            server.call("stop", "--force")
        if holder:
            holder.end()
    ratio = both / alone
    print(f"one after the other {alone:.1f} s, both at the same time {both:.1f} s: {ratio:.3f}; goal {GOAL}: "
          f"{'met' if ratio <= GOAL else 'missed'}")
    return 0 if equal else 1


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(sys.argv[2])
    if sys.argv[1:2] == ["--hold"]:
        return hold(sys.argv[2])
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--turn", type=float, default=30, help="seconds of a turn")
    p.add_argument("--turns", type=int, default=2, help="of each tenant")
    p.add_argument("--stay", type=float, help="seconds that the server lets a tenant stay (default: a turn)")
    p.add_argument("--part", type=float, default=0.65, help="a quota's part of the device's memory")
    p.add_argument("--gb", type=float, help="a quota in 10^9 bytes")
    p.add_argument("--plain", action="store_true", help="by the driver's calls also where PyTorch is")
    p.add_argument("--backend", help="another driver library, or softgpu")
    p.add_argument("--limit", type=float, default=400, help="seconds for one answer of a program")
    p.add_argument("--out", default=".")
    p.add_argument("wormhole")
    opt = p.parse_args()
    has_torch = subprocess.run([sys.executable, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0
    opt.stay = opt.stay or opt.turn
    opt.kind = "torch" if has_torch and not opt.plain and opt.backend != "softgpu" else "plain"
    if opt.backend == "softgpu":
        books = tempfile.NamedTemporaryFile(dir="/dev/shm")
        os.environ.update(WORMHOLE_SOFTGPU_MEM="64M", WORMHOLE_SOFTGPU_BIND="1", WORMHOLE_SOFTGPU_BOOKS=books.name)
    return measure(opt)


if __name__ == "__main__":
    sys.exit(main())
