# SPDX-License-Identifier: Apache-2.0
"""Trains by Caffe in a client VM over vmfunc, in the emulated VMX host, for caffe.py.

The job is tests/bochs/caffe/run. The client VM's image gets Caffe with the libraries that it needs,
of this machine, the project's CUDA libraries, and a folder with networks, solvers and digits. The
emulated host counts calls, exits and handoffs; its times mean nothing.
"""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BOCHS = os.path.join(os.path.dirname(os.path.dirname(HERE)), 'tests', 'bochs')
IMAGES = ('bochs-3.0/bochs', 'bochs/host.cpio', 'kernel/host/bzImage', 'kernel/server/bzImage',
          'server/vm/image/server.cpio', 'tests/vm/client.cpio', 'softgpu/libcublas.so.13', 'softgpu/libcurand.so.10')
PLACE = '/root/caffe'  # in the client VM
# The project's libraries, in the place of NVIDIA's that Caffe is linked with.
OURS = 'libcuda.so.1', 'libcudart.so.13', 'libcublas.so.13', 'libcurand.so.10'
# What is counted: as a number, and by reasons. A request that finds another thread's call alone in the
# worker enters again, which is a call more.
NUMBERS = 'requests', 'calls'
REASONS = 'exits', 'handoffs'


class NotRun(Exception):
    """Says why there is nothing from the client VM."""


def missing(build):
    return [n for n in IMAGES if not os.path.exists(os.path.join(build, n))]


def client_list(made, build, files):
    """Returns the list of the client VM's image (tests/vm/mkinitramfs.sh): Caffe of the folder `made`,
    and files by their names below PLACE. Libraries that Caffe needs are those of this machine."""
    lines = ['# SPDX-License-Identifier: Apache-2.0', 'file /job tests/bochs/behaviours/client-job 755']
    lines += [f'exec /usr/lib/wormhole/{n} {build}/client-stubs/{n}' for n in OURS]
    lines += [f'file {PLACE}/{n} {made}/{n}' for n in ('caffe', 'libcaffe.so')]
    # Caffe and its library are linked with the same ones. Those in this folder are there already.
    lines += [f'needs /usr/lib/wormhole/caffe {made}/libcaffe.so']
    lines += [f'file {PLACE}/{name} {path} 644' for name, path in files.items()]
    return ''.join(line + '\n' for line in lines)


def reasons(text):
    """Returns numbers by their reasons of `reason:number reason:number`."""
    return {k: int(v) for k, _, v in (word.rpartition(':') for word in text.split())}


def evaluate(data):
    """Returns, for each training that the job's data are of, what Caffe said and what was counted."""
    got = {}
    for line in data.splitlines():
        kind, name, rest = (line + '  ').split(' ', 2)
        of = got.setdefault(name, {'said': ''})
        if kind == 'said':
            of['said'] += rest.strip() + '\n'
        elif kind in NUMBERS:
            of[kind] = int(rest)
        elif kind in REASONS:
            of[kind] = reasons(rest)
        elif kind == 'weights':
            of['weights'] = rest.strip()
    return got


def difference(few, many, iterations):
    """Returns what one more iteration takes, of two trainings that differ by so many."""
    def each(a, b):
        return round((b - a) / iterations, 1)
    return {**{k: each(few[k], many[k]) for k in NUMBERS},
            **{k: {r: each(few[k].get(r, 0), many[k].get(r, 0)) for r in many[k]} for k in REASONS}}


def train(made, build, files, trainings, work, timeout):
    """Boots the emulated host with a job that trains by these solvers. Returns evaluate()'s answer."""
    lacks = missing(build)
    if lacks:
        raise NotRun(f'{", ".join(lacks)} missing in {build}; build them by `make test-images`')
    wanted = os.path.join(work, 'client.list')
    with open(wanted, 'w') as f:
        f.write(client_list(made, build, files))
    # What is not in the image is looked for here: not NVIDIA's libraries, whose cuBLAS is 600 MB.
    path = os.path.join(build, 'client-stubs')
    env = dict(os.environ, WH_TOP=os.path.dirname(os.path.dirname(BOCHS)), WH_BUILD=build)
    laid = subprocess.run([os.path.join(BOCHS, 'mkjob.sh'), 'caffe', '--server',
                           os.path.join(BOCHS, 'workloads', 'server.list'), wanted],
                          env=dict(env, LD_LIBRARY_PATH=path), stdout=sys.stderr)
    if laid.returncode:
        raise NotRun("the guests' images lack something: see above")
    out = os.path.join(build, 'bochs', 'caffe')
    shutil.copy(os.path.join(BOCHS, 'caffe', 'run'), os.path.join(out, 'job', 'run'))
    with open(os.path.join(out, 'job', 'trainings'), 'w') as f:
        f.write(''.join(name + '\n' for name in trainings))
    ran = subprocess.run([os.path.join(BOCHS, 'run_job.py'), '--plain', '--timeout', str(timeout), '--out', out,
                          '--kernel', os.path.join(build, 'kernel', 'host', 'bzImage'),
                          '--initrd', os.path.join(build, 'bochs', 'host.cpio'), os.path.join(out, 'job')],
                         env=env, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    if ran.returncode:
        raise NotRun(f'the job in {out} failed with status {ran.returncode}: see above')
    with open(os.path.join(out, 'data')) as f:
        got = evaluate(f.read())
    for name in trainings:
        lacks = [k for k in (*NUMBERS, *REASONS, 'weights') if k not in got.get(name, {})]
        if lacks:
            raise NotRun(f'the job in {out} says nothing of {", ".join(lacks)} of the training {name}')
    return got
