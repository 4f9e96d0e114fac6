# SPDX-License-Identifier: Apache-2.0
"""cuda.bindings: the driver's and the runtime's functions, and a kernel whose PTX is written here."""
import ctypes
import struct

from cuda.bindings import driver, runtime

from client import test

PTX = b""".version 7.0
.target sm_75
.address_size 64
.visible .entry twice(.param .u64 data)
{
	.reg .b64 %d<4>; .reg .b32 %r<3>;
	ld.param.u64 %d1, [data]; cvta.to.global.u64 %d2, %d1;
	mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4; add.s64 %d2, %d2, %d3;
	ld.global.u32 %r2, [%d2]; add.u32 %r2, %r2, %r2; st.global.u32 [%d2], %r2;
	ret;
}
\0"""


def good(answer):
    if answer[0] != 0:
        raise RuntimeError(answer[0].name)
    return answer[1] if len(answer) == 2 else answer[1:]


@test
def device_and_limits():
    good(driver.cuInit(0))
    device = good(driver.cuDeviceGet(0))
    return (good(driver.cuDeviceGetName(64, device)).split(b"\0")[0].decode(), good(driver.cuDeviceGetCount()),
            good(driver.cuDeviceGetAttribute(driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_WARP_SIZE, device)))


@test
def kernel_of_ptx_and_its_values():
    good(driver.cuCtxSetCurrent(good(driver.cuDevicePrimaryCtxRetain(good(driver.cuDeviceGet(0))))))
    function = good(driver.cuModuleGetFunction(good(driver.cuModuleLoadData(PTX)), b"twice"))
    numbers = (ctypes.c_uint32 * 32)(*range(32))
    memory = good(driver.cuMemAlloc(128))
    good(driver.cuMemcpyHtoD(memory, ctypes.addressof(numbers), 128))
    good(driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, ((int(memory),), (ctypes.c_void_p,)), 0))
    good(driver.cuMemcpyDtoH(ctypes.addressof(numbers), memory, 128))
    good(driver.cuMemFree(memory))
    return list(numbers)


@test
def runtime_copies_and_events():
    memory, stream = good(runtime.cudaMalloc(4096)), good(runtime.cudaStreamCreate())
    event = good(runtime.cudaEventCreate())
    host = bytearray(struct.pack("<I", 7) * 1024)
    good(runtime.cudaMemcpyAsync(memory, bytes(host), 4096, runtime.cudaMemcpyKind.cudaMemcpyHostToDevice, stream))
    good(runtime.cudaMemsetAsync(memory, 1, 2048, stream))
    good(runtime.cudaEventRecord(event, stream))
    good(runtime.cudaStreamSynchronize(stream))
    good(runtime.cudaMemcpy(ctypes.addressof(ctypes.c_char.from_buffer(host)), memory, 4096,
                            runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost))
    return runtime.cudaEventQuery(event)[0].name, struct.unpack_from("<I", host)[0], host[4092]


@test
def graph_of_a_fill():
    memory, graph = good(runtime.cudaMalloc(64)), good(runtime.cudaGraphCreate(0))
    p = runtime.cudaMemsetParams()
    p.dst, p.elementSize, p.width, p.height, p.value = memory, 4, 16, 1, 5
    good(runtime.cudaGraphAddMemsetNode(graph, None, 0, p))
    good(runtime.cudaGraphLaunch(good(runtime.cudaGraphInstantiate(graph, 0)), 0))
    host = bytearray(64)
    good(runtime.cudaMemcpy(ctypes.addressof(ctypes.c_char.from_buffer(host)), memory, 64,
                            runtime.cudaMemcpyKind.cudaMemcpyDefault))
    return list(struct.unpack("<16I", host))


@test
def errors_have_their_names():
    return (runtime.cudaMalloc(1 << 50)[0].name, runtime.cudaGetLastError()[0].name, runtime.cudaSetDevice(99)[0].name,
            driver.cuMemFree(driver.CUdeviceptr(1234))[0].name)
