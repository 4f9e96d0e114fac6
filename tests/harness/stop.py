#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ends a test from outside, as run.sh's time limit does: stop.py [--unread] NAME COMMAND...

When there is a daemon of that name, whose parent has ended, the command's processes get a
SIGTERM, or, with --unread, nobody reads the command's output any more. A minute after its end, or
once none is left, the program prints the names of all processes that are left, and kills them. It also prints the
files that the command leaves in $TMPDIR. "ended" means that the command came to its end before.
Daemons are children of this process, as they would be of process 1."""
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36
START_S = 60
END_S = 60


def name_of(pid):
    try:
        with open('/proc/%s/comm' % pid, encoding='utf-8', errors='replace') as f:
            return f.read().strip()
    except OSError:
        return ''


def children(pid):
    try:
        with open('/proc/%s/task/%s/children' % (pid, pid), encoding='utf-8') as f:
            return f.read().split()
    except OSError:
        return []


def below(pid):
    return [p for child in children(pid) for p in [child] + below(child)]


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def until(seconds, what):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False


def nobody():
    reap()
    return not below(os.getpid())


def main():
    unread = sys.argv[1] == '--unread'
    name, *command = sys.argv[2 if unread else 1:]
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        sys.exit('no subreaper')
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    said, says = os.pipe()
    # Python ignores SIGPIPE, and its children would inherit that.
    test = subprocess.Popen(command, start_new_session=True, env=dict(os.environ, TMPDIR=folder),
                            stdin=subprocess.DEVNULL, stdout=says if unread else subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, restore_signals=True)
    os.close(says)
    started = until(START_S, lambda: test.poll() is not None or
                    name in map(name_of, children(os.getpid())))
    if not started or test.poll() is not None:
        print('ended' if test.poll() is not None else 'no %s in %d s' % (name, START_S))
    os.close(said)
    if test.poll() is None:
        if not unread:
            os.killpg(test.pid, signal.SIGTERM)
        test.wait()
    until(END_S, nobody)
    for pid in below(os.getpid()):
        print(name_of(pid))
        os.kill(int(pid), signal.SIGKILL)
    until(END_S, nobody)
    for name in os.listdir(folder):
        print(name)
    shutil.rmtree(folder, ignore_errors=True)


main()
