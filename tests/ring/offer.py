# SPDX-License-Identifier: Apache-2.0
"""Offers a part of its own to a server: offer.py SOCKET SIZE OFFSET PART-SIZE [unsealed|older|silent].

Prints the status of the welcome and its reason, and whether the file that came back is the offered
one. `silent` sends nothing, and waits for the end of standard input. The layouts are those of
hypercall-abi/shm.h, and so are the numbers.
"""
import array
import fcntl
import os
import re
import socket
import struct
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def number(name):
    """Returns a number of the header."""
    with open(os.path.join(TOP, "hypercall-abi/shm.h"), encoding="utf-8") as f:
        return int(re.search(rf"#define {name}\s+(\w+)", f.read()).group(1).rstrip("uU"), 0)


def main():
    path, size, offset, part_size, *how = sys.argv[1:]
    file = os.memfd_create("part", os.MFD_ALLOW_SEALING)
    os.ftruncate(file, int(size))
    if "unsealed" not in how:
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, SEALS)
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(f"\0wormhole-brings-part/{os.getpid()}")
    s.connect(path)
    if "silent" in how:
        print("connected", flush=True)
        sys.stdin.read()
        return
    version = number("WH_SHM_VERSION") - ("older" in how)
    offer = struct.pack("=IIQQ", number("WH_SHM_MAGIC"), version, int(offset), int(part_size))
    s.sendmsg([offer], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))])
    data, control, _, _ = s.recvmsg(4096, socket.CMSG_SPACE(8))
    status = struct.unpack_from("=IIiI", data)[2]
    got = array.array("i")
    for _, _, fds in control:
        got.frombytes(fds[:len(fds) // got.itemsize * got.itemsize])
    same = bool(got) and os.fstat(got[0]).st_ino == os.fstat(file).st_ino
    print(status, data[32:].rstrip(b"\0").decode() or ("same file" if same else "another file"))


main()
