# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime with the CUDA provider: a model of two nodes that is written here byte by byte."""
import numpy as np
import onnxruntime as ort

from client import test


def field(number, value):
    if isinstance(value, int):
        return bytes([number << 3, value])
    value = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(value)]) + value


def tensor_of(name):
    shape = field(2, field(1, field(1, 4)))
    return field(1, name) + field(2, field(1, field(1, 1) + shape))


NODES = (field(1, field(1, "x") + field(1, "x") + field(2, "t") + field(4, "Add")) +
         field(1, field(1, "t") + field(2, "y") + field(4, "Relu")))
GRAPH = NODES + field(2, "g") + field(11, tensor_of("x")) + field(12, tensor_of("y"))
MODEL = field(1, 8) + field(7, GRAPH) + field(8, field(2, 13))


@test
def providers():
    return ort.get_available_providers()


@test
def session_with_the_cuda_provider():
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    s = ort.InferenceSession(MODEL, options, providers=["CUDAExecutionProvider"])
    return s.get_providers()[0], s.run(None, {"x": np.array([1, -2, 3, -4], np.float32)})[0].tolist()
