#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Is the init of a server that is killed and started again, and waits for its children late, as some inits
do that look once in a while. Prints the status of the second start and what it said.

    late_init.py SECONDS USER COMMAND...    # USER: whose processes mark the server's range
"""
import ctypes
import os
import signal
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
late, user, command = float(sys.argv[1]), sys.argv[2], sys.argv[3:]
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
marker = int(subprocess.check_output(["pgrep", "-u", user]))
with open(f"/proc/{marker}/stat", encoding="utf-8") as f:
    monitor = int(f.read().rsplit(")", 1)[1].split()[1])
os.kill(monitor, signal.SIGKILL)
with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as second:
    time.sleep(late)        # this is what is tested, and waits for nothing
    os.waitpid(marker, 0)
    said = second.stdout.read()
print(second.returncode, said)
