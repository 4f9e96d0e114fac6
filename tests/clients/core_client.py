# SPDX-License-Identifier: Apache-2.0
"""cuda.core: a kernel that NVRTC compiles, buffers of several kinds, events, a graph, a linker."""
import ctypes

from cuda.core import (Device, EventOptions, LaunchConfig, LegacyPinnedMemoryResource, Linker, LinkerOptions, Program,
                       ProgramOptions, launch)

from client import test

SOURCE = """
extern "C" __global__ void axpy(float a, const float *x, float *y, size_t n)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (i < n)
		y[i] += a * x[i];
}
"""
N = 1000
device = Device()
device.set_current()
stream = device.create_stream()
pinned = LegacyPinnedMemoryResource()
ptx = Program(SOURCE, "c++", ProgramOptions(arch="compute_75")).compile("ptx")


def floats(buffer):
    return (ctypes.c_float * N).from_address(int(buffer.handle))


def on_device(values):
    host, there = pinned.allocate(4 * N, stream=stream), device.allocate(4 * N, stream=stream)
    floats(host)[:] = values
    there.copy_from(host, stream=stream)
    stream.sync()
    return there


def on_host(there):
    host = pinned.allocate(4 * N, stream=stream)
    there.copy_to(host, stream=stream)
    stream.sync()
    return list(floats(host))


@test
def device_is_described():
    p = device.properties
    return device.name, tuple(device.compute_capability), p.warp_size, p.max_threads_per_block


@test
def kernel_computes():
    x, y = on_device(range(N)), on_device([1.0] * N)
    launch(stream, LaunchConfig(grid=4, block=256), ptx.get_kernel("axpy"), ctypes.c_float(2.0), x, y, N)
    return sum(on_host(y)), on_host(y)[-1]


@test
def linked_kernel_computes():
    linked = Linker(ptx, options=LinkerOptions(arch="sm_90")).link("cubin")
    y = on_device([1.0] * N)
    launch(stream, LaunchConfig(grid=4, block=256), linked.get_kernel("axpy"), ctypes.c_float(2.0), y, y, N)
    return sum(on_host(y))


@test
def events_and_streams():
    first, last = (stream.record(options=EventOptions(timing_enabled=True)) for _ in range(2))
    device.create_stream().wait(last)
    last.sync()
    return last - first >= 0, first.is_done


@test
def graph_replays():
    x, y = on_device([1.0] * N), on_device([0.0] * N)
    builder = stream.create_graph_builder().begin_building()
    launch(builder, LaunchConfig(grid=4, block=256), ptx.get_kernel("axpy"), ctypes.c_float(3.0), x, y, N)
    graph = builder.end_building().complete()
    for _ in range(2):
        graph.launch(stream)
    return sum(on_host(y))
