# SPDX-License-Identifier: Apache-2.0
"""CatBoost with task_type="GPU": the devices that it finds, and training."""
import numpy as np
from catboost import CatBoostRegressor
from catboost.utils import get_gpu_device_count

from client import test

X = np.arange(4000, dtype=np.float32).reshape(1000, 4) % 37


@test
def devices():
    return get_gpu_device_count()


@test
def training():
    model = CatBoostRegressor(iterations=5, depth=3, task_type="GPU", devices="0", verbose=False,
                              allow_writing_files=False, thread_count=1)
    model.fit(X, X[:, 0] * 2 + X[:, 1])
    return [round(float(v), 3) for v in model.predict(X[:4])]
