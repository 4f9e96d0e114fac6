#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shares.py WORMHOLE DIR TENANT TENANT prints the percentages of their device's time that two
tenants have which work without a pause. It measures over the time in which one of them gets 0.6
s. The measurement begins when both have had to wait, so that what they had saved up is gone.
"""
import json
import subprocess
import sys
import time

wormhole, folder, *names = sys.argv[1:]
END = time.monotonic() + 60


def look():
    out = subprocess.run([wormhole, "stat", "--json", "--dir", folder], stdout=subprocess.PIPE, check=True).stdout
    rows = {t["tenant"]: t["devices"][0] for t in json.loads(out) if t["tenant"] in names}
    return time.monotonic(), [rows[n]["gpu_ns"] / 1e9 for n in names], [rows[n]["throttled_ns"] for n in names]


def look_until(enough):
    while True:
        seen = look()
        if enough(seen) or seen[0] > END:
            return seen
        time.sleep(0.02)


begin = look_until(lambda seen: all(seen[2]))
end = look_until(lambda seen: max(b - a for a, b in zip(begin[1], seen[1])) > 0.6)
for a, b in zip(begin[1], end[1]):
    print(round((b - a) / (end[0] - begin[0]) * 100))
