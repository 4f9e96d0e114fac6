#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command on a terminal: terminal.py COLUMNS LINES STEP... -- COMMAND...

Each step is a text: wait=REGEX waits until the screen has a match, keys=TEXT types,
size=COLUMNSxLINES changes the size, and signal=NUMBER sends a signal (SIGCONT: once it has
stopped). The program prints what the command wrote, then a line "status N" and one that says
whether the terminal is as it was. A step may take 20 s at most.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time


class Terminal:
    def __init__(self, columns, lines, command):
        self.master, self.slave = pty.openpty()
        self.resize(columns, lines)
        self.before = termios.tcgetattr(self.slave)
        environment = dict(os.environ, TERM='xterm')
        environment.pop('NO_COLOR', None)
        environment.pop('COLUMNS', None)
        self.child = subprocess.Popen(command, stdin=self.slave, stdout=self.slave,
                                      stderr=self.slave, env=environment, start_new_session=True)
        self.text = ''
        self.seen = 0

    def resize(self, columns, lines):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack('HHHH', lines, columns, 0, 0))

    def read(self, seconds):
        """Reads once, which may be a part of what is there; False: there is nothing."""
        readable = select.select([self.master], [], [], seconds)[0]
        if readable:
            self.text += os.read(self.master, 65536).decode(errors='replace')
        return bool(readable)

    def wait(self, pattern):
        """Looks from behind what the last step has matched."""
        end = time.monotonic() + 20
        while True:
            found = re.search(pattern, self.text[self.seen:], re.DOTALL)
            if found:
                self.seen += found.end()
                return
            if time.monotonic() > end:
                self.child.kill()
                sys.exit(f'no {pattern!r} in {self.text[self.seen:][-300:]!r}')
            self.read(0.1)

    def await_stop(self):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with open(f'/proc/{self.child.pid}/stat') as f:
                if f.read().rsplit(')', 1)[1].split()[0] == 'T':
                    return
            time.sleep(0.02)

    def step(self, word):
        kind, _, what = word.partition('=')
        if kind == 'wait':
            self.wait(what)
        elif kind == 'keys':
            self.seen = len(self.text)
            os.write(self.master, what.encode().decode('unicode_escape').encode())
        elif kind == 'size':
            self.seen = len(self.text)
            columns, lines = what.split('x')
            self.resize(int(columns), int(lines))
            os.kill(self.child.pid, signal.SIGWINCH)
        else:
            if int(what) == signal.SIGCONT:
                self.await_stop()
            os.kill(self.child.pid, int(what))

    def end(self):
        end = time.monotonic() + 20
        while self.child.poll() is None and time.monotonic() < end:
            self.read(0.05)
        self.child.kill()
        while self.read(0):
            pass
        print(self.text)
        print('status', self.child.wait())
        print('terminal', 'restored' if termios.tcgetattr(self.slave) == self.before else 'changed')


def main():
    words = sys.argv[1:]
    middle = words.index('--')
    terminal = Terminal(int(words[0]), int(words[1]), words[middle + 1:])
    for word in words[2:middle]:
        terminal.step(word)
    terminal.end()


main()
