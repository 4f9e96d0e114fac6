# SPDX-License-Identifier: Apache-2.0
"""Runs a job of bench/job/ in a VMX host: the emulated one, which records instructions,
or this machine, if it has VMX and a KVM with the series.

The result is what the job prints after @data. The second way has not been run: no machine
with VMX was available.
"""
import json
import os
import shutil
import subprocess
import sys

import report
from report import BUILD, TOP, Missing

BOCHS = os.path.join(BUILD, "bochs-instrument/bochs")
IMAGES = ["bochs/host.cpio", "kernel/host/bzImage", "kernel/server/bzImage",
          "server/vm/image/server.cpio", "tests/vm/client.cpio"]


class Data:
    """Lines of @data by their first word, each as a list of the other words."""

    def __init__(self, path):
        self.path = os.path.dirname(path)
        self.lines = {}
        with open(path) as f:
            for line in f:
                word, _, rest = line.rstrip("\n").partition(" ")
                self.lines.setdefault(word, []).append(rest.split())

    def get(self, word):
        return self.lines.get(word, [])

    def versions(self):
        found = {w[0]: " ".join(w[1:]) for w in self.get("versions")}
        return f"host kernel {found.get('kernel', '?')}, QEMU in it {found.get('qemu', '?')}"

    def counters(self, name, group):
        """Return what a program added to a group of KVM's counters of the client VM, by reason."""
        old, new = (json.loads(" ".join(next(w[2:] for w in self.get(when) if w[0] == name)))[0]
                    for when in ("before", "after"))
        return {k: int(v - old[group].get(k, 0)) for k, v in new[group].items()
                if v != old[group].get(k, 0)}


def missing_images():
    return [n for n in IMAGES if not os.path.exists(os.path.join(BUILD, n))]


def lay_out(name, run, clients, variables):
    out = os.path.join(BUILD, "bochs", name)
    done = subprocess.run([os.path.join(TOP, "tests/bochs/mkjob.sh"), name, "--server",
                           os.path.join(TOP, "bench/job/server.list"),
                           *(os.path.join(TOP, "bench/job", c) for c in clients)], check=False,
                          env=dict(os.environ, WH_TOP=TOP, WH_BUILD=BUILD))
    if done.returncode:
        raise Missing("the guests' images lack something: see above")
    with open(os.path.join(TOP, "bench/job", run)) as f:
        text = f.read()
    with open(os.path.join(out, "job/run"), "w") as f:
        f.write("".join(f"{k}='{v}'\n" for k, v in variables.items()) + text)
    return out


SYSCALLS = "/usr/lib/wormhole/libsyscalls.so"   # tests/bochs/behaviours/syscalls.c: softgpu, and a few calls


def host_image(out, lists):
    """Return the host's images: the usual one, and what lists of job/ add to it."""
    base = os.path.join(BUILD, "bochs/host.cpio")
    if not lists:
        return [base]
    more = os.path.join(out, "host.cpio")
    done = subprocess.run([os.path.join(TOP, "tests/vm/mkinitramfs.sh"), more,
                           *(os.path.join(TOP, "bench/job", n) for n in lists)], check=False,
                          env=dict(os.environ, WH_TOP=TOP, WH_BUILD=BUILD))
    if done.returncode:
        raise Missing("the host's image lacks something: see above")
    return [base, more]


def run(name, job, more=(), host=(), cpus=1, timeout=900, emulated=False, partly=False, marks=True, args="",
        **variables):
    """Boot the host, emulated even if there is VMX, and return the job's Data. `more`: lists of job/ for the
    client VM; `host`: for the emulated host; `args`: for its kernel. `marks`: the slower emulator records what
    runs between marks, in the folder's `record`. `partly`: results of kinds that ran are kept if others failed."""
    if missing_images():
        raise Missing(f"{', '.join(missing_images())} missing: run `make images`")
    variables.setdefault("BACKEND", SYSCALLS)
    out = lay_out(name, job, ["client.list", *more], variables)
    if report.has_vmx() and not emulated:
        return run_here(out, partly)
    bochs = BOCHS if marks else os.path.join(BUILD, "bochs-3.0/bochs")
    if not os.access(bochs, os.X_OK):
        raise Missing(f"no emulator at {bochs}: run `make bench`, which builds it")
    report.say(f"booting the emulated VMX host: {name}")
    done = subprocess.run(
        [os.path.join(TOP, "tests/bochs/run_job.py"), "--plain", "--bochs", bochs,
         "--cpus", str(cpus), "--timeout", str(timeout), "--out", out,
         "--kernel", os.path.join(BUILD, "kernel/host/bzImage"),
         "--args", args, *(w for image in host_image(out, host) for w in ("--initrd", image)),
         os.path.join(out, "job")],
        stdout=sys.stderr, check=False, env=dict(os.environ, WH_BUILD=BUILD))
    return what_is_there(out, done.returncode, partly)


def what_is_there(out, status, partly):
    """Return the job's data if it came to its end, or if it did so in part and that is enough."""
    path = os.path.join(out, "data")
    data = Data(path) if os.path.exists(path) else None
    if not status:
        return data
    failed = [w[0] for w in data.get("failed")] if data else []
    if not partly or not failed or not data.get("versions"):
        raise Missing(f"the job in {out} failed with status {status}: {out}/console is the host's console")
    report.say(f"of the job in {out} failed: {', '.join(failed)}")
    return data


# --- This machine in the emulator's place ------------------------------------------

def adapt(text, out):
    """Adapt a job's script to a host that was not made for it: its files are in `out`."""
    for name in ("job.sh", "vm.sh"):
        text = text.replace(f". /{name}", f". {out}/{name}")
    return text.replace("/job/", f"{out}/job/").replace("/tmp/", f"{out}/tmp/")


def run_here(out, partly):
    """Run the job on this host as root. This has not been tried: it needs VMX and the series in this host's KVM."""
    os.makedirs(os.path.join(out, "tmp"), exist_ok=True)
    for source, name in ((os.path.join(TOP, "tests/bochs/job.sh"), "job.sh"),
                         (os.path.join(TOP, "tests/bochs/vm.sh"), "vm.sh"),
                         (os.path.join(out, "job/run"), "run")):
        with open(source) as f:
            text = adapt(f.read(), out)
        with open(os.path.join(out, name), "w") as f:
            f.write("usleep() { sleep \"$(echo \"$1\" | sed 's/......$/.&/')\"; }\n"
                    if name == "run" and not shutil.which("usleep") else "")
            f.write(text)
    report.say(f"running {out}/run in this host")
    env = dict(os.environ, PATH=f"{BUILD}/host:{BUILD}/bochs:{os.environ['PATH']}")
    done = subprocess.run(["sh", os.path.join(out, "run")], stdout=subprocess.PIPE, text=True,
                          check=False, env=env)
    with open(os.path.join(out, "data"), "w") as f:
        for line in done.stdout.splitlines():
            if line.startswith("@data "):
                print(line[6:], file=f)
            else:
                print(line, file=sys.stderr)
    return what_is_there(out, done.returncode, partly)
