# SPDX-License-Identifier: Apache-2.0
"""How fast softgpu's interpreter runs kernels: what `handler` is made of here."""
import os
import subprocess

from report import BUILD, OUT, TOP, Environment, Missing, pick, say

TITLE = "softgpu's interpreter"


def section():
    env = Environment()
    if not os.path.exists(os.path.join(OUT, "softgpu.ptx")):
        raise Missing("no nvcc, which compiles its kernels")
    say("softgpu's kernels")
    done = subprocess.run([os.path.join(TOP, "bench/softgpu.sh")], stdout=subprocess.PIPE, text=True, check=False,
                          env=dict(os.environ, WH_TOP=TOP, WH_BUILD=BUILD, ROUNDS=str(pick(1, 8))))
    if done.returncode:
        raise Missing("bench/softgpu.sh failed: see above")
    return f"{env.text()}\n\n{done.stdout.strip()}"
