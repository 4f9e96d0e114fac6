# SPDX-License-Identifier: Apache-2.0
"""Programs that benches start and ask by lines: for torch_share.py and overcommit.py."""
import glob
import os
import signal
import subprocess
import sys
import threading


def libraries():
    """The options of `wormhole serve` for the folders in which this python's wheels have NVIDIA's libraries."""
    found = [d for p in sys.path for d in sorted(glob.glob(p + "/nvidia/*/lib"))]
    return [w for d in found for w in ("--libraries", d)]


class Asked:
    """A program in a group of its own, which answers lines of its standard input."""

    def __init__(self, command, env=None):
        self.p = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  start_new_session=True, env={**os.environ, **(env or {})})

    def line(self, limit):
        """The next line. A program that says nothing for so many seconds is killed, and has said nothing: ""."""
        timer = threading.Timer(limit, self.kill)
        timer.start()
        said = self.p.stdout.readline()
        timer.cancel()
        return said

    def say(self, text):
        self.p.stdin.write(text + "\n")
        self.p.stdin.flush()

    def kill(self):
        if self.p.poll() is None:
            os.killpg(self.p.pid, signal.SIGKILL)

    def end(self):
        try:
            self.p.stdin.close()
            self.p.wait(30)
        except (OSError, subprocess.TimeoutExpired):
            self.kill()
