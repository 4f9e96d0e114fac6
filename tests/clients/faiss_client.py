# SPDX-License-Identifier: Apache-2.0
"""faiss-gpu: devices, resources, and a search by brute force on the device."""
import faiss
import numpy as np

from client import test

X = (np.arange(64 * 16, dtype=np.float32).reshape(64, 16) * 7) % 31


@test
def devices():
    return faiss.get_num_gpus(), faiss.StandardGpuResources() is not None


@test
def flat_search():
    index = faiss.GpuIndexFlatL2(faiss.StandardGpuResources(), 16)
    index.add(X)
    distances, found = index.search(X[:3], 2)
    return found.tolist(), distances.round(3).tolist()


@test
def index_moved_to_the_device():
    index = faiss.index_factory(16, "IVF4,Flat")
    index.train(X)
    there = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, index)
    there.add(X)
    return there.ntotal, there.search(X[:2], 1)[1].tolist()
