# SPDX-License-Identifier: Apache-2.0
"""Measures how fast softgpu's interpreter runs kernels, which is the `handler` part on this machine."""
import os

from report import OUT, Environment, Missing, pick, say, script

TITLE = "softgpu's interpreter"


def section():
    env = Environment()
    if not os.path.exists(os.path.join(OUT, "softgpu.ptx")):
        raise Missing("no nvcc, which compiles its kernels")
    say("softgpu's kernels")
    said = script("softgpu.sh", ROUNDS=str(pick(1, 8))).strip()
    return f"{env.text()}\n\n{said}"
