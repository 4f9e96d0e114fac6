# SPDX-License-Identifier: Apache-2.0
"""The memory of the first GPU, as the driver counts it: for overcommit.py and the suspension's tests."""
import ctypes
import os


class Nvml:
    class Memory(ctypes.Structure):
        _fields_ = [(n, ctypes.c_ulonglong) for n in ("total", "free", "used")]

    def __init__(self, *folders):
        """Takes the library of the first folder that has it; "" stands for where the system finds it."""
        self.device = None
        for folder in folders:
            try:
                self.lib = ctypes.CDLL(os.path.join(folder, "libnvidia-ml.so.1"))
            except OSError:
                continue
            device = ctypes.c_void_p()
            if not self.lib.nvmlInit_v2() and not self.lib.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)):
                self.device = device
            return

    def memory(self):
        """Total and used bytes, or None: there is no driver, or no device."""
        m = self.Memory()
        if not self.device or self.lib.nvmlDeviceGetMemoryInfo(self.device, ctypes.byref(m)):
            return None
        return m.total, m.used
