#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Start a program that computes, take it off its device and back at random moments, and say what its end
was. suspend_test.sh uses it.

usage: suspend_rounds.py [OPTION...] -- COMMAND...

The program prints "began" when it computes. Then come the rounds, by `wormhole suspend` and `resume` or
`move` of a tenant, or by the driver's own calls on a plain process. Prints what happened, a word and its
value on each line; the last line of the program is `said`. Everything has a time limit; what runs beyond
it is killed, and `why` says what it was doing.
"""
import argparse
import ctypes
import glob
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench"))
from nvml import Nvml  # noqa: E402

GB = 1e9


def say(word, value):
    print(word, " ".join(str(value).split()), flush=True)


class Refused(Exception):
    """A suspension or a resumption that was refused; the text is the driver's or the server's."""


# --- The driver's own calls on a plain process, as NVIDIA's cuda-checkpoint makes them ---------

class LockArgs(ctypes.Structure):
    _fields_ = [("timeout_ms", ctypes.c_uint), ("reserved0", ctypes.c_uint), ("reserved1", ctypes.c_uint64 * 7)]


def calls_of_driver(library, pid, names):
    """Makes the driver's calls in this process, which is a new one, as a tool's is. Prints the seconds of
    all of it (the start of the driver, too), then of the calls alone; or the error."""
    began = time.perf_counter()
    cu = ctypes.CDLL(library)
    text = ctypes.c_char_p()
    for name in ("cuInit", *names):
        call = getattr(cu, name)
        arg = ctypes.byref(LockArgs(timeout_ms=20000)) if name.endswith("Lock") else None
        if name == "cuInit":
            code = call(0)
            ready = time.perf_counter()
        else:
            code = call(int(pid), arg)
        if code:
            cu.cuGetErrorName(code, ctypes.byref(text))
            return print(f"{name}: {(text.value or b'?').decode()} ({code})")
    end = time.perf_counter()
    return print("good", end - began, end - ready)


class Native:
    def __init__(self, library, limit):
        self.library, self.limit, self.pid = library, limit, None
        self.alone = {"off": [], "on": []}

    def call(self, kind, *names):
        p = subprocess.run([sys.executable, "-B", __file__, "--driver-calls", self.library, str(self.pid), *names],
                           text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=self.limit)
        words = p.stdout.split()
        if words[:1] != ["good"]:
            raise Refused(p.stdout.strip()[-300:])
        self.alone[kind].append(float(words[2]))
        return float(words[1])

    def off(self):
        return self.call("off", "cuCheckpointProcessLock", "cuCheckpointProcessCheckpoint")

    def on(self):
        return self.call("on", "cuCheckpointProcessRestore", "cuCheckpointProcessUnlock")

    def free(self):
        """After a refusal: the process may be locked still."""
        try:
            self.call("on", "cuCheckpointProcessUnlock")
        except (Refused, subprocess.TimeoutExpired):
            pass


class Tenant:
    def __init__(self, wormhole, tenant, limit):
        self.wormhole, self.tenant, self.limit = wormhole, tenant, limit

    def command(self, *words):
        began = time.perf_counter()
        p = subprocess.run([self.wormhole, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           timeout=self.limit)
        if p.returncode:
            raise Refused(p.stdout.strip()[-300:] or f"status {p.returncode}")
        return time.perf_counter() - began

    def off(self):
        return self.command("suspend", self.tenant)

    def on(self):
        return self.command("resume", self.tenant)

    def free(self):
        pass

    def stat(self):
        """What the tenant has on its devices, and in the host instead."""
        text = subprocess.run([self.wormhole, "stat", "--json", self.tenant], text=True, stdout=subprocess.PIPE,
                              timeout=self.limit).stdout
        t = json.loads(text)[0]
        return self.held(t), t["suspended_memory"]

    def held(self, t):
        return sum(d["memory"] for d in t["devices"])


class Moves(Tenant):
    """A round goes to the other device, and back."""

    def held(self, t):
        """Only what is on the device that it has left."""
        return sum(d["memory"] for d in t["devices"] if d["device"] == 0)

    def off(self):
        return self.command("move", self.tenant, "--to", "1")

    def on(self):
        return self.command("move", self.tenant, "--to", "0")


# --- The program ---------------------------------------------------------------------------------

class Program:
    """A program in a group of its own. Its lines are kept as they come."""

    def __init__(self, command, err):
        self.err, self.lines, self.began = err, [], threading.Event()
        self.p = subprocess.Popen(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err,
                                  start_new_session=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.p.stdout:
            self.lines.append(line.strip())
            if line.strip() == "began":
                self.began.set()
        self.began.set()

    def started(self, limit):
        return self.began.wait(limit) and "began" in self.lines

    def wait(self, limit):
        try:
            self.p.wait(limit)
        except subprocess.TimeoutExpired:
            return False
        self.reader.join(5)
        return True

    def kill(self):
        if self.p.poll() is None:
            os.killpg(self.p.pid, signal.SIGKILL)
            self.p.wait()

    def why(self, tenant):
        """Prints what can be known of a program that does not do what it should."""
        self.err.seek(0)
        said = self.err.read().splitlines()
        say("why", f"program: status {self.p.poll()}, its lines {self.lines[-3:]}, its errors {said[-6:]}")
        pids = [self.p.pid]
        if tenant:
            text = subprocess.run([tenant.wormhole, "stat", "--json", tenant.tenant], text=True, timeout=20,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
            say("why", "stat: " + text[:3000])
            try:
                pids += [w["pid"] for w in json.loads(text)[0]["workers"]]
            except (ValueError, LookupError):
                pass
            for log in glob.glob(os.path.join(os.environ.get("WORMHOLE_DIR", "/nowhere"), "server.log")):
                say("why", "log: " + " | ".join(open(log, errors="replace").read().splitlines()[-8:]))
        log = subprocess.run(["dmesg"], text=True, timeout=20, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        say("why", "kernel: " + " | ".join([x for x in log.splitlines() if "NVRM" in x or "audit" in x][-6:]))
        for pid in pids:
            for task in sorted(glob.glob(f"/proc/{pid}/task/*"))[:24]:
                say("why", f"{pid}: " + " ".join(first_words(task, f) for f in ("comm", "wchan", "syscall", "stat")))


def first_words(task, name):
    try:
        text = open(os.path.join(task, name)).read()
    except OSError:
        return "?"
    return " ".join(text.split(") ")[-1].split()[:1 if name != "syscall" else 3])


# --- Rounds --------------------------------------------------------------------------------------

def median(values):
    return statistics.median(values) if values else 0


class Rounds:
    def __init__(self, opt, program, way, nvml):
        self.opt, self.program, self.way, self.nvml = opt, program, way, nvml
        self.off, self.on, self.with_it, self.without, self.server = [], [], [], [], []
        self.refused = None

    def used(self):
        return (self.nvml.memory() or (0, 0))[1]

    def one(self):
        self.with_it.append(self.used())
        self.off.append(self.way.off())
        self.without.append(self.used())
        if isinstance(self.way, Tenant):
            self.server.append(self.way.stat())
        self.on.append(self.way.on())

    def go(self, end):
        dice = random.Random(self.opt.seed)
        for _ in range(self.opt.rounds):
            time.sleep(dice.uniform(self.opt.least, self.opt.most))
            if self.program.p.poll() is not None or time.monotonic() > end:
                break
            try:
                self.one()
            except Refused as e:
                # One that ended by itself was not refused.
                if not self.program.wait(1):
                    self.refused = str(e)
                    self.way.free()
                break

    def tell(self):
        say("rounds", len(self.on))
        if self.refused:
            say("refused", self.refused)
        for word, values in (("off", self.off), ("on", self.on)):
            if values:
                say(word, f"{median(values):.4f} {min(values):.4f} {max(values):.4f}")
        if isinstance(self.way, Native):
            for word, values in self.way.alone.items():
                say(f"calls_{word}", f"{median(values):.4f}")
        held = median([a - b for a, b in zip(self.with_it, self.without)])
        if held > 0:
            say("moved", int(held))
        elif self.server:
            say("moved", int(median([s for _, s in self.server])))
        if self.without and self.nvml.device:
            say("left_on_device", max(self.without))
        if self.server:
            say("server_says", max(m for m, _ in self.server))


def check(opt, program, way, nvml):
    """Returns whether all went as it should."""
    tenant = way if isinstance(way, Tenant) else None
    end = time.monotonic() + opt.limit
    if not program.started(opt.start_limit):
        say("error", "the program does not start")
        program.why(tenant)
        return False
    if isinstance(way, Native):
        way.pid = program.p.pid
    rounds = Rounds(opt, program, way, nvml)
    began = time.monotonic()
    try:
        if way:
            rounds.go(end)
            rounds.tell()
            if rounds.refused:
                program.why(tenant)
        if opt.kill:
            return True
        if not program.wait(max(1, end - time.monotonic())):
            say("error", f"the program does not end within {opt.limit:.0f} s")
            program.why(tenant)
            return False
    except subprocess.TimeoutExpired as e:
        say("error", f"no answer within {opt.command_limit:.0f} s: {e.cmd}")
        rounds.tell()
        program.why(tenant)
        return False
    say("seconds", f"{time.monotonic() - began:.1f}")
    for line in program.lines:
        if line.startswith("steps "):
            say("steps", line[6:])
    if program.p.returncode:
        say("error", f"the program ends with {program.p.returncode}")
        program.why(None)
        return False
    say("said", program.lines[-1])
    return True


def options():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--driver", required=True, help="the driver's library")
    p.add_argument("--native", action="store_true", help="rounds by the driver's calls on the program")
    p.add_argument("--tenant", help="rounds by `wormhole suspend` and `resume`")
    p.add_argument("--move", action="store_true", help="of a tenant: by `wormhole move` to device 1 and back")
    p.add_argument("--wormhole", default="wormhole")
    p.add_argument("--rounds", type=int, default=20)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--least", type=float, default=0.02, help="seconds between two rounds")
    p.add_argument("--most", type=float, default=0.6)
    p.add_argument("--start-limit", type=float, default=100)
    p.add_argument("--command-limit", type=float, default=60)
    p.add_argument("--limit", type=float, default=180, help="of all of it")
    p.add_argument("--kill", action="store_true", help="the program after the rounds")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    opt = p.parse_args(sys.argv[1:split])
    opt.command = sys.argv[split + 1:]
    if not opt.command:
        p.error("say the program after --")
    return opt


def main():
    if sys.argv[1:2] == ["--driver-calls"]:
        return calls_of_driver(sys.argv[2], sys.argv[3], sys.argv[4:])
    opt = options()
    nvml = Nvml(os.path.dirname(opt.driver))
    if nvml.device:
        say("before", nvml.memory()[1])
    way = None
    if opt.native:
        way = Native(opt.driver, opt.command_limit)
    elif opt.tenant:
        way = (Moves if opt.move else Tenant)(opt.wormhole, opt.tenant, opt.command_limit)
    with tempfile.TemporaryFile("w+") as err:
        program = Program(opt.command, err)
        try:
            good = check(opt, program, way, nvml)
        finally:
            program.kill()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
