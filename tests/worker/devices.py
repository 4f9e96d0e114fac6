#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Writes what `wormhole-worker --devices FD` tells (struct wh_devices_report): one device of 132
# SMs, in 15 groups of 8 and a last one of 12, and of FAKE_MEMORY bytes.
import os
import struct
import sys

UUID = b"GPU-776f726d-686f-6c65-2d73-6f6674677075"
report = struct.pack("<II300s300s", 1, 0, os.environ.get("FAKE_ERROR", "").encode(), b"")
report += struct.pack("<96s48sQIIIII4x", b"fake", UUID, int(os.environ.get("FAKE_MEMORY", 1 << 34)), 132, 16, 8, 12, 0)
os.write(int(sys.argv[1]), report.ljust(608 + 16 * 184, b"\0"))
