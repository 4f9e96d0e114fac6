# SPDX-License-Identifier: Apache-2.0
"""Builds BVLC's Caffe 1.0 with CUDA 13, runs its tests, trains LeNet and times AlexNet's layers,
natively and under `wormhole run`, and prints both beside each other.

    bench/caffe.sh CAFFE=FOLDER [OPTION...]
    bench/caffe.sh CAFFE=/src/caffe --json caffe.json                     # on a GPU
    bench/caffe.sh CAFFE=/src/caffe --backend softgpu --work /tmp/caffe   # without a GPU, less of it
    bench/caffe.sh CAFFE=/src/caffe --backend softgpu --work /tmp/caffe --parts vmfunc   # in a client VM

FOLDER is a checkout of github.com/BVLC/caffe, which stays as it is. build.mk beside this file
builds it, without cuDNN. Three parts, and one that runs only where --parts names it:

  tests     Caffe's tests of the GPU, by tests/others/run.py (docs/others.md)
  lenet     Caffe's own solver and network, on digits that digits.cpp makes. Each loss that is
            printed, and the weights at the end, have to be the same both ways.
  alexnet   `caffe time` on Caffe's own network, on data of a constant: the time of each layer
  vmfunc    lenet with few iterations of small batches, natively and in a client VM over vmfunc, in the
            emulated VMX host (vm.py). It needs --backend softgpu, and what `make test-images` builds.

What natively means is in tests/others/run.py. Over softgpu each part is reduced: times are those of an
interpreter, and say nothing of a GPU.

Exit status: 0 if what has to be equal is, 1 if something differs or fails, 2 for a usage error.
"""
import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
OTHERS = os.path.join(TOP, 'tests', 'others')
sys.path[:0] = [HERE, OTHERS]
import nets  # noqa: E402
import recipe_caffe  # noqa: E402
import vm  # noqa: E402
from suite import NotBuilt, Suite  # noqa: E402
from worlds import Worlds, capability  # noqa: E402

PARTS = 'tests', 'lenet', 'alexnet'
MORE = 'vmfunc',  # runs only where it is named
WAYS = 'native', 'shm'
# What is run by default: the interpreter has a small part of it.
AMOUNTS = {
    'driver': {'iterations': 10000, 'batch': 128, 'repeats': 50, 'rounds': 3, 'only': ''},
    'softgpu': {'iterations': 10, 'batch': 1, 'repeats': 1, 'rounds': 1, 'only': 'Im2colKernel Softmax SplitLayer'},
}
DIGITS = 12000, 2000  # to learn from, and to test with
VM_DIGITS = 100, 20   # the same for the client VM


class Failed(Exception):
    """Says what did not run."""


def say(text):
    print(f'# caffe: {text}', file=sys.stderr, flush=True)


def arguments(given):
    p = argparse.ArgumentParser(prog='bench/caffe.sh', formatter_class=argparse.RawDescriptionHelpFormatter,
                                description=__doc__)
    p.add_argument('checkout', metavar='CAFFE=FOLDER')
    p.add_argument('--backend', choices=('softgpu', 'driver'), default='driver',
                   help="what is behind both ways (default: driver, NVIDIA's of this machine)")
    p.add_argument('--build', default=os.environ.get('WH_BUILD', os.path.join(TOP, 'build')),
                   help="Wormhole's build folder (default: $WH_BUILD, or build/)")
    p.add_argument('--work', help='keep what is built in this folder, for the next time')
    p.add_argument('--prebuilt', metavar='FOLDER', help='take the programs of this folder, and build none')
    p.add_argument('--libraries', default='', metavar='FOLDER[:FOLDER...]',
                   help="where NVIDIA's libraries are, for native programs and for the server")
    p.add_argument('--arch', help="compute capability to build for, such as 90 (default: the GPU's; softgpu: 75)")
    p.add_argument('--parts', default=' '.join(PARTS), metavar='WORDS', help='which parts run (default: first three)')
    p.add_argument('--only', metavar='WORDS', help='run the tests of Caffe with one of these words in their names')
    p.add_argument('--iterations', type=int, help='of LeNet (default: 10000; softgpu: 10)')
    p.add_argument('--batch', type=int, help='images of AlexNet at a time (default: 128; softgpu: 1)')
    p.add_argument('--repeats', type=int, help='how often a round times each layer (default: 50; softgpu: 1)')
    p.add_argument('--rounds', type=int, help='of AlexNet, each way in turns (default: 3; softgpu: 1)')
    p.add_argument('--vm-iterations', type=int, default=3, help='of LeNet in the client VM (default: 3)')
    p.add_argument('--vm-batch', type=int, default=8, help="images at a time there (default: 8; Caffe's own is 64)")
    p.add_argument('--jobs', type=int, default=min(8, os.cpu_count()), help='how many compile or test at a time')
    p.add_argument('--timeout', type=int, default=900, metavar='SECONDS', help='what one run may take')
    p.add_argument('--json', metavar='FILE', help='write the figures there, too')
    p.add_argument('--markdown', metavar='FILE', help='write the tables there, too')
    args = p.parse_args(given)
    for name, amount in AMOUNTS[args.backend].items():
        if getattr(args, name) is None:
            setattr(args, name, amount)
    for option in 'iterations', 'batch', 'repeats', 'rounds', 'jobs', 'timeout', 'vm_iterations', 'vm_batch':
        # An iteration in the client VM is a difference of two trainings.
        least = 2 if option == 'vm_iterations' else 1
        if getattr(args, option) < least:
            p.error(f'--{option.replace("_", "-")} {getattr(args, option)}: give a number of at least {least}')
    args.parts = args.parts.split()
    for part in args.parts:
        if part not in PARTS + MORE:
            p.error(f'--parts {part}: the parts are {", ".join(PARTS + MORE)}')
        if part == 'vmfunc' and args.backend != 'softgpu':
            p.error('--parts vmfunc: the emulated host has no GPU; say --backend softgpu')
    name, is_pair, folder = args.checkout.partition('=')
    if name != 'CAFFE' or not is_pair:
        p.error(f'"{args.checkout}" is no CAFFE=FOLDER; name a checkout of github.com/BVLC/caffe')
    if not os.path.isdir(folder):
        p.error(f'{args.checkout}: {folder or "nothing"} is no folder; name the one that has Caffe')
    args.folders = {'caffe': os.path.abspath(folder)}
    args.python = sys.executable
    args.wormhole = os.path.join(args.build, 'host', 'wormhole')
    if not os.access(args.wormhole, os.X_OK):
        p.error(f'{args.wormhole} is not there; build it by `make shm`, or name another folder by --build')
    args.arch = args.arch or ('75' if args.backend == 'softgpu' else capability(p))
    return args


# --- One run -------------------------------------------------------------------------


class Bench:
    def __init__(self, args, worlds, suite, made):
        self.args, self.worlds, self.suite, self.made = args, worlds, suite, made
        self.work = os.path.join(suite.work, 'bench')
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)

    def text(self, path):
        with open(self.suite.has(path, 'the checkout is not whole')) as f:
            return f.read()

    def folder(self, name):
        p = os.path.join(self.work, name)
        os.makedirs(p, exist_ok=True)
        return p

    def run(self, way, folder, program, *options):
        """Runs one of Caffe's programs. Returns its output and the seconds that it took."""
        env = dict(self.worlds.plain if way == 'shm' else self.worlds.native, GLOG_logtostderr='1')
        command = [self.args.wormhole, 'run', '--'] if way == 'shm' else []
        command += [os.path.join(self.made, program), *options]
        begun = time.monotonic()
        try:
            p = subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors='replace', timeout=self.args.timeout)
        except subprocess.TimeoutExpired:
            raise Failed(f'{way}: {program} took longer than {self.args.timeout} s') from None
        with open(os.path.join(folder, f'{program}.{way}.log'), 'w') as f:
            f.write(p.stdout)
        if p.returncode:
            last = '\n'.join(p.stdout.splitlines()[-4:])
            raise Failed(f'{way}: {program} ended with status {p.returncode}:\n{last}')
        return p.stdout, time.monotonic() - begun


# --- The parts -----------------------------------------------------------------------


def tests(bench):
    """Runs Caffe's tests by the script for other people's tests, with what is built already."""
    args = bench.args
    report = os.path.join(bench.work, 'tests.json')
    command = [sys.executable, '-B', os.path.join(OTHERS, 'run.py'), 'caffe=' + args.folders['caffe'],
               '--json', report]
    for option in 'backend', 'build', 'libraries', 'arch', 'only', 'jobs', 'timeout':
        command += ['--' + option, str(getattr(args, option))]
    subprocess.run(command, env=dict(os.environ, WH_CAFFE_BUILT=bench.made), stdin=subprocess.DEVNULL,
                   stdout=sys.stderr)
    try:
        with open(report) as f:
            suite = json.load(f)['suites']['caffe']
    except OSError:
        raise Failed('tests/others/run.py wrote no report') from None
    if suite['error']:
        raise Failed(suite['error'])
    of = suite['tests']
    count = {v: sum(t['verdict'] == v for t in of) for v in ('equal', 'differs', 'failed natively')}
    sums = {c: sum(t.get(c, 0) for t in of) for c in ('cases', 'passed_natively', 'passed_forwarded')}
    return dict(sums, groups=len(of), counts=count, ok=count['differs'] == 0,
                not_equal=[f'{t["name"]}: {t["verdict"]}: {t["why"]}' for t in of if t['verdict'] != 'equal'])


def make_digits(bench, folder, counts):
    os.makedirs(os.path.join(folder, 'examples/mnist'))
    for name, count, seed in ('train', counts[0], '1'), ('test', counts[1], '2'):
        to = os.path.join(folder, f'examples/mnist/mnist_{name}_lmdb')
        bench.run('native', folder, 'digits', to, str(count), seed)


def digest(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).hexdigest()


def train(bench, folder, way, name, iterations):
    """Trains by the solver that is the file NAME.prototxt. Returns what it said, and a digest of the weights."""
    say(f'{os.path.basename(folder)}: {iterations} iterations, {way}')
    said, seconds = bench.run(way, folder, 'caffe', 'train', f'--solver={name}.prototxt', '--gpu=0')
    return dict(nets.training(said), seconds=round(seconds, 2),
                weights=digest(f'{folder}/{name}_iter_{iterations}.caffemodel'))


def write(folder, name, text):
    with open(os.path.join(folder, name), 'w') as f:
        f.write(text)


def lenet(bench):
    n = bench.args.iterations
    folder = bench.folder('lenet')
    make_digits(bench, folder, DIGITS)
    write(folder, nets.LENET, bench.text(nets.LENET))
    got = {}
    for way in WAYS:
        write(folder, way + '.prototxt',
              nets.solver(bench.text(nets.LENET_SOLVER), way, n, DIGITS[1], bench.args.backend == 'softgpu'))
        got[way] = train(bench, folder, way, way, n)
    why = nets.training_differs(got['native'], got['shm'])
    return {'iterations': n, 'ok': why is None, 'why': why, **got}


def vmfunc(bench):
    """Trains LeNet twice in a client VM: what more iterations take is the difference."""
    args = bench.args
    folder = bench.folder('vmfunc')
    make_digits(bench, folder, VM_DIGITS)
    write(folder, nets.LENET, nets.with_batch(bench.text(nets.LENET), args.vm_batch))
    amounts = {'one': 1, 'all': args.vm_iterations}
    native = {}
    for name, n in amounts.items():
        write(folder, name + '.prototxt', nets.solver(bench.text(nets.LENET_SOLVER), name, n, VM_DIGITS[1], True))
        native[name] = train(bench, folder, 'native', name, n)
    names = [nets.LENET, *(f'{n}.prototxt' for n in amounts),
             *(f'examples/mnist/mnist_{n}_lmdb/data.mdb' for n in ('train', 'test'))]
    say('vmfunc: boots the emulated VMX host')
    try:
        got = vm.train(bench.made, args.build, {n: os.path.join(folder, n) for n in names}, list(amounts), folder,
                       args.timeout)
    except vm.NotRun as e:
        raise Failed(str(e)) from None
    for name in amounts:
        got[name].update(nets.training(got[name]['said']))
    why = next((w for w in (nets.training_differs(native[n], got[n]) for n in amounts) if w), None)
    return {'iterations': args.vm_iterations, 'batch': args.vm_batch, 'ok': why is None, 'why': why,
            'native': native['all'], 'vmfunc': got['all'],
            'iteration': vm.difference(got['one'], got['all'], args.vm_iterations - 1)}


def alexnet(bench):
    args = bench.args
    folder = bench.folder('alexnet')
    with open(os.path.join(folder, 'alexnet.prototxt'), 'w') as f:
        f.write(nets.with_constant_data(bench.text(nets.ALEXNET), args.batch))
    times = {way: [] for way in WAYS}
    for i in range(args.rounds):
        for way in WAYS if i % 2 == 0 else reversed(WAYS):
            say(f'alexnet: round {i + 1} of {args.rounds}, {way}')
            said, _ = bench.run(way, folder, 'caffe', 'time', '--model=alexnet.prototxt', '--gpu=0',
                                f'--iterations={args.repeats}')
            times[way].append(nets.layer_times(said))
    names = list(times['native'][0])
    if not names or any(list(t) != names for way in WAYS for t in times[way]):
        raise Failed('caffe time named other layers in another run, or none')
    layers = [dict({way: statistics.median(t[n] for t in times[way]) for way in WAYS}, layer=n[0], pass_=n[1])
              for n in names]
    return {'batch': args.batch, 'repeats': args.repeats, 'rounds': args.rounds, 'ok': True, 'layers': layers}


# --- The report ----------------------------------------------------------------------


def machine(args):
    """Says where and of what the figures are."""
    about = {'date': datetime.date.today().isoformat(), 'backend': args.backend, 'arch': args.arch}
    asks = {'commit': ['git', '-C', TOP, 'rev-parse', '--short=12', 'HEAD'],
            'caffe': ['git', '-C', args.folders['caffe'], 'rev-parse', '--short=12', 'HEAD']}
    if args.backend == 'driver':
        asks['gpu'] = ['nvidia-smi', '--query-gpu=name,driver_version', '--format=csv,noheader', '--id=0']
    for name, command in asks.items():
        try:
            about[name] = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                         check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            say(f'not known here: {name}')
    return about


def main():
    args = arguments(sys.argv[1:])
    if args.prebuilt:
        os.environ['WH_CAFFE_BUILT'] = os.path.abspath(args.prebuilt)
    # The server is stopped whatever ends the script.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit('error: ended by a signal'))
    data = {'about': machine(args)}
    with tempfile.TemporaryDirectory() as folder:
        work = os.path.abspath(args.work) if args.work else os.path.join(folder, 'work')
        worlds = Worlds(args, folder)
        suite = Suite(args, 'caffe', work, recipe_caffe, worlds)
        say('builds' if not args.prebuilt else f'takes {args.prebuilt}')
        try:
            made = recipe_caffe.build_caffe(suite)
            bench = Bench(args, worlds, suite, made)
            with worlds:
                for part, run in (('lenet', lenet), ('alexnet', alexnet)):
                    if part in args.parts:
                        data[part] = attempt(run, bench)
            if 'vmfunc' in args.parts:
                data['vmfunc'] = attempt(vmfunc, bench)
            # The tests have a server of their own.
            if 'tests' in args.parts:
                data['tests'] = attempt(tests, bench)
        except NotBuilt as e:
            sys.exit(f'error: {e}')
    text = nets.report(data)
    print(text, end='')
    if args.json:
        with open(args.json, 'w') as f:
            json.dump(data, f, indent=1)
            f.write('\n')
    if args.markdown:
        with open(args.markdown, 'w') as f:
            f.write(text)
    sys.exit(0 if all(data[p]['ok'] for p in args.parts) else 1)


def attempt(run, bench):
    """A part that fails hinders no other."""
    try:
        return run(bench)
    except (Failed, NotBuilt) as e:
        return {'ok': False, 'error': str(e)}


main()
