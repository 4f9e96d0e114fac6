# SPDX-License-Identifier: Apache-2.0
"""Debian's Bochs 2.7, whose debugger writes down instructions.

The Bochs that the tests boot has no debugger, and runs twice as fast. This one
wants a terminal for its screen: it gets a pseudo one.
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import tty

import machine

# Its XSAVES area is one that Linux finds wrong, and PML logs addresses that are
# not page aligned.
KERNEL_ARGS = "clearcpuid=xsaves,xsavec kvm_intel.pml=0"


def configure(out, commands):
    """The machine's bochsrc as this Bochs wants it, and the debugger's commands."""
    machine.write_bochsrc(out, 1)
    path = os.path.join(out, "bochsrc")
    with open(path) as f:
        text = f.read().replace("display_library: nogui", "display_library: term")
    text = re.sub(r", add_features=\S+", "", text)  # of a newer Bochs
    with open(path, "w") as f:
        f.write(f"{text}sound: driver=dummy\nmagic_break: enabled=1\ndebugger_log: trace\n")
    with open(os.path.join(out, "debugger"), "w") as f:
        f.write(commands)


class Machine(machine.Machine):
    def start(self):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 90, 0, 0))
        self.process = subprocess.Popen(
            ["bochs", "-q", "-f", "bochsrc", "-rc", "debugger"], cwd=self.out,
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env=dict(os.environ, TERM="xterm"), preexec_fn=machine.die_with_parent)
        os.close(slave)
        self._in_background(self._display, master)

    def _in_background(self, job, fd):
        threading.Thread(target=job, args=(fd,), daemon=True).start()

    def _display(self, master):
        """What Bochs says; and the screen, which is a terminal of its own, wants a reader, too:
        with none Bochs stops for good once its buffers are full."""
        said, screen = b"", None
        with open(os.path.join(self.out, "said"), "wb", buffering=0) as f:
            for data in self._read(master):
                f.write(data)
                if screen is None:
                    said += data
                    screen = re.search(rb'connected to screen "(/dev/pts/\d+)"', said)
                    if screen:
                        fd = os.open(screen[1], os.O_RDWR | os.O_NOCTTY)
                        tty.setraw(fd)
                        self._in_background(self._discard, fd)

    def _discard(self, fd):
        for _ in self._read(fd):
            pass

    @staticmethod
    def _read(fd):
        while True:
            try:
                data = os.read(fd, 65536)
            except OSError:
                return
            if not data:
                return
            yield data
