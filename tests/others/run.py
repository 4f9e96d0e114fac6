#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs other people's test suites natively and under `wormhole run`, and prints what differs.

    tests/others/run.py SUITE=FOLDER... [OPTION...]
    tests/others/run.py lupine=/src/lupine ggml=/src/ggml --backend softgpu --only "vector ADD"

A SUITE is a recipe, recipe_SUITE.py beside this file: it says how the suite is built from the
user's folder, which stays as it is, and what of its output is free to change. `--help` lists them.

Natively means: the program with the driver itself. On a GPU that is NVIDIA's. Over softgpu it is
softgpu's libcuda.so.1 with Wormhole's own CUDA runtime, since NVIDIA's refuses a foreign driver.
Forwarded means `wormhole run`, with a server that the script starts in a folder of its own and
stops. How outputs are compared is in tests/gpu/samples.py; in addition, a program that fails
natively has to fail in the same way forwarded.

Each test is named when it has ended. A script that is ended by SIGTERM or Ctrl-C reports on those
that had ended.

Exit status: 0 if all is equal, 1 if something differs, does not build, has no tests or was not run,
2 for a usage error.
"""
import argparse
import concurrent.futures
import difflib
import glob
import importlib
import json
import os
import signal
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, 'tests', 'gpu')]
sys.dont_write_bytecode = True
import samples  # noqa: E402
from suite import NotBuilt, Suite  # noqa: E402
from worlds import Worlds, capability  # noqa: E402

ENDED = 'ended by a signal'
SHOWN = 6  # lines of a difference
FAILED = 'failed natively'
CASES = 'cases', 'passed_natively', 'passed_forwarded'


def recipes():
    names = (os.path.basename(p) for p in glob.glob(os.path.join(HERE, 'recipe_*.py')))
    return sorted(n[len('recipe_'):-len('.py')] for n in names)


def arguments():
    about = '\n'.join(f'  {n:15} {importlib.import_module("recipe_" + n).__doc__.splitlines()[0]}' for n in recipes())
    p = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter,
                                description=__doc__, epilog='suites:\n' + about)
    p.add_argument('suites', nargs='+', metavar='SUITE=FOLDER')
    p.add_argument('--backend', choices=('softgpu', 'driver'), default='driver',
                   help="what is behind both ways (default: driver, NVIDIA's of this machine)")
    p.add_argument('--build', default=os.environ.get('WH_BUILD', os.path.join(TOP, 'build')),
                   help="Wormhole's build folder (default: $WH_BUILD, or build/)")
    p.add_argument('--work', help='keep what is built in this folder, for the next time')
    p.add_argument('--libraries', default='', metavar='FOLDER[:FOLDER...]',
                   help="where NVIDIA's libraries are, for native programs and for the server")
    p.add_argument('--python', default=sys.executable, help='the python3 that has the wheels of Python suites')
    p.add_argument('--arch', help="compute capability to build for, such as 90 (default: the GPU's; softgpu: 75)")
    p.add_argument('--only', default='', metavar='WORDS', help='run tests with one of these words in their names')
    p.add_argument('--jobs', type=int, default=min(8, os.cpu_count()), help='how many run at a time')
    p.add_argument('--timeout', type=int, default=120, metavar='SECONDS', help='what one run may take')
    p.add_argument('--list', action='store_true', help='build, print the names of the tests, and run none')
    p.add_argument('--json', metavar='FILE', help='write a report there, too')
    args = p.parse_args()
    for option in 'jobs', 'timeout':
        if getattr(args, option) < 1:
            p.error(f'--{option} {getattr(args, option)}: give a number of at least 1')
    args.folders = {}
    for s in args.suites:
        name, is_pair, folder = s.partition('=')
        if not is_pair or name not in recipes():
            p.error(f'"{s}" is no SUITE=FOLDER; the suites are {", ".join(recipes())}')
        if not os.path.isdir(folder):
            p.error(f'{s}: {folder or "nothing"} is no folder; name the one that has the suite')
        if name in args.folders:
            p.error(f'{s}: {name} has a folder already; call the script once for each')
        args.folders[name] = os.path.abspath(folder)
    args.wormhole = os.path.join(args.build, 'host', 'wormhole')
    if not os.access(args.wormhole, os.X_OK):
        p.error(f'{args.wormhole} is not there; build it by `make shm`, or name another folder by --build')
    if args.backend == 'softgpu':
        args.arch = args.arch or '75'
    elif not args.arch:
        args.arch = capability(p)
    return args


# --- One program ---------------------------------------------------------------------


class Ended(Exception):
    """A signal has ended the script."""


over = threading.Event()  # after it nothing is run any more


def run(suite, program, forwarded=False):
    """Returns the run of a program with the recipe's masks."""
    if over.is_set():
        raise Ended
    name, data, file, rest = program
    command, way = [os.path.join('.', file)] + rest, 'native'
    env = suite.worlds.native
    if forwarded:
        command, way = [suite.worlds.args.wormhole, 'run', '--'] + command, 'ours'
        env = suite.worlds.plain
    got = samples.run(command, f'{suite.runs}/{name}.{way}', data, dict(env, **suite.env))
    pairs = [(suite.recipe.mask(line), said) for line, said in zip(got.lines, got.said)]
    pairs = [(line, said) for line, said in pairs if line is not None]
    return got._replace(lines=[line for line, _ in pairs], said=[said for _, said in pairs])


def why_differs(natives, ours):
    """Returns what our run has that no native one has; or None."""
    if ours.status not in {n.status for n in natives}:
        last = ' / '.join(ours.said[-2:])
        return f'status {ours.status}, natively {natives[0].status}: {last}'
    return samples.lines_differ(natives, ours) or samples.files_differ(natives, ours)


def cases(suite, got):
    """Returns how many of the suite's own cases a run names, and how many of these passed."""
    passed = [p for p in map(getattr(suite.recipe, 'passed', lambda line: None), got.lines) if p is not None]
    return len(passed), sum(passed)


def failure(suite, got):
    """Says how a run failed, by its cases, its status, or what the recipe knows; or None."""
    if got.status != 0:
        of, good = cases(suite, got)
        last = f'{of - good} of {of} cases' if of > good else got.said[-1] if got.said else 'it said nothing'
        return f'status {got.status}: {last}'
    return getattr(suite.recipe, 'failure', lambda lines: None)(got.lines)


def compare(suite, program):
    """Returns the test's part of the report."""
    natives = [run(suite, program)]
    said = {'name': program[0], 'native_status': natives[0].status, 'lines': len(natives[0].lines)}
    if not isinstance(natives[0].status, int):
        return dict(said, verdict=FAILED, why=f'status {natives[0].status}; not run forwarded')
    ours = run(suite, program, forwarded=True)
    why = why_differs(natives, ours)
    while why and len(natives) < suite.recipe.NATIVE_RUNS:
        natives.append(run(suite, program))
        why = why_differs(natives, ours)
    said['native_runs'] = len(natives)
    said['cases'], said['passed_natively'] = cases(suite, natives[0])
    said['passed_forwarded'] = cases(suite, ours)[1]
    if why:
        lines = [d for d in difflib.unified_diff(natives[0].lines, ours.lines, lineterm='', n=0)
                 if not d.startswith(('---', '+++', '@@'))]
        return dict(said, verdict='differs', why=why, difference=lines[:SHOWN])
    why = failure(suite, natives[0])
    return dict(said, verdict=FAILED, why=why + ', both ways') if why else dict(said, verdict='equal')


def ended(*_):
    raise Ended


def end_programs():
    """Ends the programs that run: their threads then see their ends, and end what they started."""
    for thread in os.listdir('/proc/self/task'):
        with open(f'/proc/self/task/{thread}/children') as f:
            children = f.read().split()
        for pid in children:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has just ended


def compare_all(suite, jobs, tests):
    """Puts each test's part of the report into `tests`, when the test has ended."""
    programs = list(samples.programs(suite.out))

    def one(p):
        t = compare(suite, p)
        tests.append(t)
        print(f'{suite.name}: {len(tests)} of {len(programs)}: {t["name"]}: {t["verdict"]}', file=sys.stderr)

    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    running = [pool.submit(one, p) for p in programs]
    try:
        for f in concurrent.futures.as_completed(running):
            f.result()
    except BaseException:
        # What runs is no test any more, whatever it is found to be.
        done = list(tests)
        over.set()
        pool.shutdown(wait=False, cancel_futures=True)
        while concurrent.futures.wait(running, 0.1).not_done:
            end_programs()
        tests[:] = done
        raise
    pool.shutdown()
    order = {p[0]: i for i, p in enumerate(programs)}
    tests.sort(key=lambda t: order[t['name']])
    if jobs > 1:
        # Other processes on the device change what even a native program prints, so alone it counts.
        tests[:] = [compare(suite, programs[order[t['name']]]) if t['verdict'] == 'differs' else t for t in tests]


# --- Suites --------------------------------------------------------------------------


def build(suite):
    """Builds a suite, and returns the beginning of its part of the report."""
    report = {'error': None, 'not_built': suite.left_out, 'tests': []}
    print(f'{suite.name}: builds', file=sys.stderr)
    try:
        suite.recipe.build(suite)
        if not any(samples.programs(suite.out)):
            raise NotBuilt('it has no tests with these names')
    except NotBuilt as e:
        report['error'] = str(e)
    return report


def show(report):
    count = {}
    for name, r in report.items():
        count[name] = [sum(t['verdict'] == v for t in r['tests']) for v in ('equal', 'differs', FAILED)]
    print(f'{"suite":16}{"tests":>7}{"equal":>7}{"differ":>8}  {"failed natively too":>19}  cases: passed natively, forwarded')
    for name, r in report.items():
        if r['error']:
            print(f'{name:16}  not run: {r["error"]}')
        else:
            equal, differ, failed = count[name]
            of, native, ours = (sum(t.get(c, 0) for t in r['tests']) for c in CASES)
            theirs = f'  {of}: {native}, {ours}' if of else ''
            print(f'{name:16}{len(r["tests"]):7}{equal:7}{differ:8}  {failed:19}{theirs}')
    for name, r in report.items():
        for left_out in r['not_built']:
            print(f'\n{name}: {left_out}')
        for t in r['tests']:
            if t['verdict'] != 'equal':
                print(f'\n{name} {t["name"]}: {t["verdict"]}: {t["why"]}')
                for line in t.get('difference', []):
                    print(f'    {line[:300]}')


def run_suites(suites, report, worlds, jobs):
    """What was run when a signal came stays in the report."""
    left = list(suites)
    try:
        with worlds:
            while left:
                print(f'{left[0].name}: runs', file=sys.stderr)
                compare_all(left[0], jobs, report[left[0].name]['tests'])
                del left[0]
    except Ended:
        print(f'error: {ENDED}', file=sys.stderr)
        for s in left:
            report[s.name]['not_built'] = [*report[s.name]['not_built'],
                                           f'{ENDED}; tests that had not ended are not in the report']


def list_tests(suites, report):
    for s in suites:
        for p in samples.programs(s.out):
            print(f'{s.name}\t{p[0]}')
        if report[s.name]['error']:
            print(f'error: {s.name}: {report[s.name]["error"]}', file=sys.stderr)


def main():
    args = arguments()
    os.environ['WH_WORDS'] = args.only
    os.environ['WH_ARCH'] = args.arch
    samples.LIMIT = args.timeout
    # The server is stopped whatever ends the script.
    signal.signal(signal.SIGTERM, ended)
    signal.signal(signal.SIGINT, ended)
    with tempfile.TemporaryDirectory() as folder:
        work = os.path.abspath(args.work) if args.work else os.path.join(folder, 'work')
        worlds = Worlds(args, folder)
        suites = [Suite(args, n, work, importlib.import_module('recipe_' + n), worlds) for n in args.folders]
        report = {s.name: build(s) for s in suites}
        ready = [s for s in suites if not report[s.name]['error']]
        if args.list:
            list_tests(suites, report)
        elif ready:
            run_suites(ready, report, worlds, args.jobs)
    if args.json:
        with open(args.json, 'w') as f:
            json.dump({'backend': args.backend, 'arch': args.arch, 'suites': report}, f, indent=1)
            f.write('\n')
    if not args.list:
        show(report)
    bad = any(r['error'] or r['not_built'] or any(t['verdict'] == 'differs' for t in r['tests'])
              for r in report.values())
    sys.exit(1 if bad else 0)


try:
    main()
except Ended:
    sys.exit(f'error: {ENDED}')
