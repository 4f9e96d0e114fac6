# SPDX-License-Identifier: Apache-2.0
"""CTranslate2: the device that it finds, its types, and arrays that it moves there and back."""
import ctranslate2
import numpy as np

from client import test


@test
def devices_and_types():
    return ctranslate2.get_cuda_device_count(), sorted(ctranslate2.get_supported_compute_types("cuda"))


@test
def array_there_and_back():
    there = ctranslate2.StorageView.from_array(np.arange(8, dtype=np.float32)).to_device(ctranslate2.Device.cuda)
    return there.device, np.array(there.to_device(ctranslate2.Device.cpu)).tolist()


@test
def converted_on_the_device():
    there = ctranslate2.StorageView.from_array(np.ones(8, dtype=np.float32)).to_device(ctranslate2.Device.cuda)
    half = there.to(ctranslate2.DataType.float16)
    return np.array(half.to(ctranslate2.DataType.float32).to_device(ctranslate2.Device.cpu)).tolist()
