# SPDX-License-Identifier: Apache-2.0
"""Runs built programs natively and forwarded, several at a time, and compares them.

samples.py names FOLDER               prints what would be run, a name in a line
samples.py run FOLDER WORK COMMAND... runs each in a folder of its own under WORK, natively and by
                                      COMMAND, and prints a line for each: NAME VERDICT WHY, with tabs

FOLDER/NAME/ has the program NAME, or NAME-static, or both, with their data; a line of
FOLDER/NAME/args has the arguments of one run. FOLDER/lib has libraries that the machine may
lack. Of the environment, LIBRARIES is the library path of a program that runs natively, and
PRELOAD what a program with the static runtime needs there. WH_WORDS are the wanted names,
WH_JOBS is how many programs run at a time.

A verdict is same, differs, or native, which means that the program fails natively. What two runs
of a program are free to say differently is masked (TIMES, addresses). Other differences are
compared with more native runs: only what stays the same natively has to be the same forwarded.
The same holds for each file that the program writes. A program that differs beside others is
compared once more when they have ended: so many processes on one device change what even native
ones do (docs/frameworks.md).
"""
import collections
import concurrent.futures
import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading

LIMIT = 60  # seconds that a program may take
NATIVE_RUNS = 8  # at most
TIMES = re.compile(r'(?i)time|elapsed|duration|latency|second|\bm?sec\b|\b[mun]s\b|\dm?s\b|throughput|'
                   r'bandwidth|speed|flop|[a-z]/s\b|per sec|\bfps\b|clocks|cycles|\brate\b')
NUMBER = re.compile(r'[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?', re.I)
ADDRESS = re.compile(r'0x[0-9a-f]+', re.I)

Run = collections.namedtuple('Run', 'status lines files said')

# Nothing starts while a program is written. A child has all files open until it executes its own
# program, and a file that is open for writing cannot be executed.
writing = threading.Lock()


def programs(folder):
    """Yields (name, folder of its data, program, arguments) of each run."""
    words = os.environ.get('WH_WORDS', '').split()
    for sample in sorted(os.listdir(folder)):
        data = os.path.join(folder, sample)
        lines = ['']
        if os.path.exists(data + '/args'):
            with open(data + '/args') as f:
                lines = f.read().splitlines()
        for program in sample, sample + '-static':
            if not os.access(os.path.join(data, program), os.X_OK):
                continue
            for n, line in enumerate(lines if program == sample else lines[:1]):
                name = program if n == 0 else f'{program}_{n + 1}'
                if not words or any(w in name for w in words):
                    yield name, data, program, shlex.split(line)


def masked(line):
    line = ADDRESS.sub('0x#', ' '.join(line.split()))
    return NUMBER.sub('#', line) if TIMES.search(line) else line


def digests(folder, of=None):
    """Returns the digests of the folder's files, without those that the folder `of` has unchanged."""
    found = {}
    for path, _, names in os.walk(folder):
        for n in names:
            p = os.path.join(path, n)
            if not os.path.isfile(p):
                continue
            with open(p, 'rb') as f:
                digest = hashlib.sha256(f.read()).hexdigest()
            name = os.path.relpath(p, folder)
            if of is None or of.get(name) != digest:
                found[name] = digest
    return found


def run(command, work, data, env):
    """Runs a program in a copy of its data; ends it, and all that it started, when the time is
    over."""
    with writing:
        shutil.copytree(data, work)
    with open(work + '.out', 'wb') as out:
        with writing:
            p = subprocess.Popen(command, cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = p.wait(LIMIT)
        except subprocess.TimeoutExpired:
            status = f'none after {LIMIT} s'
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait()
    with open(work + '.out', errors='replace') as f:
        said = [line for line in f.read().splitlines() if line.strip()]
    files = digests(work, digests(data))
    shutil.rmtree(work)
    return Run(status, [masked(line) for line in said], files, said)


def counted(lines):
    return collections.Counter(lines)


def lines_differ(natives, ours):
    """Returns our first line that no native run has, where the native runs agree; or None."""
    first = natives[0].lines
    if any(counted(n.lines) != counted(first) for n in natives):
        words = [[line.split() for line in n.lines] for n in natives]
        if len({len(w) for w in words}) > 1:
            for line in set.intersection(*(set(n.lines) for n in natives)):
                if line not in ours.lines:
                    return f'no line "{line}"'
            return None
        if len(ours.lines) != len(first):
            return f'{len(ours.lines)} lines, natively {len(first)}'
        for i, line in enumerate(ours.lines):
            if not words_agree([w[i] for w in words], line.split()):
                return f'"{ours.said[i]}", natively "{natives[0].said[i]}"'
        return None
    if any(n.lines != first for n in natives):  # as many of each, in any order
        extra = counted(ours.lines) - counted(first)
        lacks = counted(first) - counted(ours.lines)
        return f'{list(extra)[:2]} in the place of {list(lacks)[:2]}' if extra or lacks else None
    for i, line in enumerate(first):
        if i >= len(ours.lines) or ours.lines[i] != line:
            got = ours.said[i] if i < len(ours.lines) else 'the end'
            return f'"{got}", natively "{natives[0].said[i]}"'
    return f'"{ours.said[len(first)]}", natively the end' if len(ours.lines) > len(first) else None


def words_agree(native, ours):
    """Compares the words of one line with several native runs: where all of these agree, ours must
    agree as well."""
    if len({len(n) for n in native}) > 1:
        return True
    return len(ours) == len(native[0]) and all(
        len(set(column)) > 1 or column[0] == word for column, word in zip(zip(*native), ours))


def files_differ(natives, ours):
    for name, digest in natives[0].files.items():
        if name not in ours.files:
            if all(name in n.files for n in natives):
                return f'{name} is not written'
        elif ours.files[name] != digest and all(n.files.get(name) == digest for n in natives):
            return f'{name} has other contents'
    return None


def differ(natives, ours):
    if ours.status != 0:
        return f'status {ours.status}: {" / ".join(ours.said[-3:])}'
    return lines_differ(natives, ours) or files_differ(natives, ours)


def compare(folder, work, command, name, data, program, arguments):
    program = [os.path.join('.', program)] + arguments
    path = ':'.join(p for p in (os.path.join(folder, 'lib'), os.environ.get('LIBRARIES', '')) if p)
    plain = dict(os.environ, LD_LIBRARY_PATH=path)
    natively = dict(plain)
    if program[0].endswith('-static') and os.environ.get('PRELOAD'):
        natively['LD_PRELOAD'] = os.environ['PRELOAD']
    natives = [run(program, f'{work}/{name}.native', data, natively)]
    if natives[0].status != 0:
        last = natives[0].said[-1] if natives[0].said else ''
        return name, 'native', f'status {natives[0].status}: {last}'
    ours = run(command + program, f'{work}/{name}.ours', data, plain)
    why = differ(natives, ours)
    while why and ours.status == 0 and len(natives) < NATIVE_RUNS:
        natives.append(run(program, f'{work}/{name}.native', data, natively))
        why = differ(natives, ours)
    return name, 'differs' if why else 'same', why or f'{len(natives)} native'


def say(verdict):
    print(*(' '.join(word.split()) for word in verdict), sep='\t', flush=True)


def main():
    if sys.argv[1] == 'names':
        print(*[name for name, *_ in programs(sys.argv[2])], sep='\n')
        return
    folder, work, command = os.path.abspath(sys.argv[2]), sys.argv[3], sys.argv[4:]
    again = []
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get('WH_JOBS', 8))) as pool:
        jobs = {pool.submit(compare, folder, work, command, *p): p for p in programs(folder)}
        for job in concurrent.futures.as_completed(jobs):
            if job.result()[1] == 'differs':
                again.append(jobs[job])
            else:
                say(job.result())
    for p in again:
        say(compare(folder, work, command, *p))


if __name__ == '__main__':
    main()
