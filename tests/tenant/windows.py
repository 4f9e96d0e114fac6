#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""windows.py WORMHOLE SECONDS N TENANT... prints of N windows of SECONDS, one after the other, what
percentage of its device's time each tenant had: a line for each tenant, with its name first, the
mean of all windows, and then the windows. What a tenant has is what the server says that the device
worked for it. The first window begins a second after all of them have worked.
"""
import json
import subprocess
import sys
import time

wormhole, seconds, windows, *names = sys.argv[1:]


def look():
    out = subprocess.run([wormhole, "stat", "--json"], stdout=subprocess.PIPE, check=True).stdout
    rows = {t["tenant"]: t["devices"][0]["gpu_ns"] for t in json.loads(out)}
    return time.monotonic(), [rows[n] for n in names]


def window(before, until):
    time.sleep(max(0, until - time.monotonic()))
    after = look()
    return after, [(b - a) / 1e7 / (after[0] - before[0]) for a, b in zip(before[1], after[1])]


end = time.monotonic() + 30
while not all(look()[1]) and time.monotonic() < end:
    time.sleep(0.02)
time.sleep(1)
first = seen = look()
got = []
for n in range(int(windows)):
    seen, shares = window(seen, first[0] + (n + 1) * float(seconds))
    got.append(shares)
for i, name in enumerate(names):
    mean = (seen[1][i] - first[1][i]) / 1e7 / (seen[0] - first[0])
    print(name, f"{mean:.0f}", *(f"{shares[i]:.0f}" for shares in got))
