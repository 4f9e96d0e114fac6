# SPDX-License-Identifier: Apache-2.0
"""bitsandbytes: its libraries for CUDA, without PyTorch: each fills managed memory by a kernel."""
import ctypes
import glob
import importlib.util
import os

from client import test

folder = os.path.dirname(importlib.util.find_spec("bitsandbytes").origin)
libraries = sorted(glob.glob(folder + "/libbitsandbytes_cuda1[23]*.so"))


def filled(path):
    lib = ctypes.CDLL(path)
    lib.cget_managed_ptr.restype = ctypes.c_void_p
    p = lib.cget_managed_ptr(ctypes.c_size_t(4096))
    if not p:
        return "no memory"
    lib.cfill_fp32(ctypes.c_void_p(p), ctypes.c_void_p(p), ctypes.c_float(3.0), ctypes.c_long(1024))
    return str((ctypes.c_float * 1024).from_address(p)[7])


def in_a_child(path):
    """A library ends the process on an error, so each has one of its own, which says what came of it."""
    back, there = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = filled(path)
        except OSError as e:
            said = str(e).split(": ")[0] + " is missing"
        os.write(there, said.encode())
        os._exit(0)
    os.close(there)
    _, status = os.waitpid(pid, 0)
    return os.path.basename(path)[:-3], os.read(back, 500).decode() or f"ended, {os.waitstatus_to_exitcode(status)}"


@test
def libraries_for_cuda():
    return [os.path.basename(p) for p in libraries]


@test
def managed_memory_is_filled():
    return [in_a_child(p) for p in libraries]
