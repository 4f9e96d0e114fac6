/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of libcudart.so.13, libcudart.so.12 and libcudart.so.11.0: the CUDA runtime API over
 * the driver API of the libcuda.so.1 that the loader finds.
 *
 * Every entry point has the same shape: rt_enter() makes sure that the driver is there and that
 * the thread has a context, DRV() makes the driver call, rt_error() translates its result,
 * rt_ret() records it as the thread's last error. Once all is set up, rt_enter() is one
 * comparison.
 */
#ifndef WORMHOLE_CUDART_H
#define WORMHOLE_CUDART_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>
#include <cudaProfiler.h>
#include <cuda_runtime_api.h>
#include <cuda_profiler_api.h>

#include "compiler.h"
#include "gen_cudart_driver.h"

/* Everything that is not in the export map is local to the library. */
#pragma GCC visibility push(hidden)

/* The driver's functions; valid once rt_start() has returned cudaSuccess. */
extern struct rt_driver drv;

/* The version of the API, as CUDART_VERSION: version_*.c. The headers here are of 13. */
extern const int rt_version;
#define RT_MAJOR	(rt_version / 1000)
#define RT_MINOR	(rt_version % 1000 / 10)

/* A launch configuration between <<<>>> and the launch; arguments may nest. */
#define RT_CONFIG_DEPTH 8

struct rt_config {
	dim3 grid;
	dim3 block;
	size_t shared;
	cudaStream_t stream;
};

/* The runtime's state of a thread. It is small, since it lives in static TLS. */
struct rt_thread {
	cudaError_t last;
	unsigned int epoch;		/* of the context binding; 0: none */
	int device;			/* ordinal that the thread works on */
	bool chosen;			/* the program chose it, it is no default */
	CUcontext bound;		/* the primary context that rt_bind() made current */
	int depth;
	struct rt_config config[RT_CONFIG_DEPTH];
};

extern __thread struct rt_thread rt_self __attribute__((tls_model("initial-exec")));

/*
 * Rises when bindings of all threads become void: a device was reset, or the process is a
 * fork's child. Starts at 1.
 */
extern _Atomic unsigned int rt_epoch;

/* error.c */
cudaError_t rt_error_slow(CUresult result);
const char *rt_error_name(cudaError_t err);
const char *rt_error_text(cudaError_t err);
cudaError_t rt_refuse(const char *name, atomic_flag *said);
cudaError_t rt_newer(const char *name, const char *version, atomic_flag *said);
void rt_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void rt_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* driver.c */
cudaError_t rt_start(void);

/*
 * profile.c: while somebody watches, an export tells of its call before and after it runs. `lib` is
 * the driver's library, where a watcher may be.
 */
struct wh_api_call;
extern bool rt_watched;
void rt_profile_start(void *lib);
void rt_api_begin(struct wh_api_call *c);
void rt_api_end(struct wh_api_call *c);
/* Returns the name of the kernel that the program launches by this address or handle, or NULL. */
const char *rt_kernel_name(const void *func);

/* device.c */
cudaError_t rt_bind(void);
bool rt_rebind(void);
cudaError_t rt_device(int ordinal, CUdevice *dev);
cudaError_t rt_ordinal(CUdevice dev, int *ordinal);
cudaError_t rt_current_device(CUdevice *dev);
cudaError_t rt_context(CUcontext *ctx);
cudaError_t rt_primary(int ordinal, CUcontext *ctx);
void rt_devices_forked(void);	/* in a fork's child, like the two below */

/* properties.c */
void rt_properties_forked(void);

/* module.c */
cudaError_t rt_kernel(const void *func, CUkernel *kernel);
cudaError_t rt_function(const void *func, CUkernel *kernel);
/* Returns the name under which the program has registered a kernel, or NULL. It loads nothing. */
const char *rt_registered_name(const void *func);
cudaError_t rt_symbol(const void *symbol, CUdeviceptr *addr, size_t *size);
/* A reference to a texture, as the code of CUDA 11's compiler registers it. */
struct rt_texture {
	bool normalized;	/* values are read as floating-point numbers */
	bool bound;
	size_t offset;		/* bytes from where the driver bound it to the program's address */
};
void rt_texture_register(void **module, const void *host, const char *name, bool normalized);
/* NULL: it is not registered. */
struct rt_texture *rt_texture_of(const void *host);
/* Finds also the driver's reference in the thread's context. */
cudaError_t rt_texture_find(const void *host, struct rt_texture **t, CUtexref *ref);
/* A reference to a surface. The driver's is that of the thread's context. */
void rt_surface_register(void **module, const void *host, const char *name);
bool rt_is_surface(const void *host);
cudaError_t rt_surface_find(const void *host, CUsurfref *ref);
void rt_module_lock(void);
void rt_module_unlock(void);
void rt_modules_forked(void);	/* with the lock */
cudaError_t rt_modules_again(void);

/* Returns the host function or handle by which a program knows a kernel. */
const void *rt_host_function(CUkernel kernel, CUfunction func);

/* symbol.c: finds the address of the part of a variable that is copied to or from */
cudaError_t rt_to_symbol(const void *symbol, size_t count, size_t offset,
			 enum cudaMemcpyKind kind, void **addr);
cudaError_t rt_from_symbol(const void *symbol, size_t count, size_t offset,
			   enum cudaMemcpyKind kind, void **addr);

/* array.c: formats and sizes of arrays */
cudaError_t rt_format(const struct cudaChannelFormatDesc *d, CUarray_format *format,
		      unsigned int *channels);
cudaError_t rt_channels(CUarray_format format, unsigned int channels,
			struct cudaChannelFormatDesc *d);
size_t rt_element(const CUDA_ARRAY3D_DESCRIPTOR *a);
cudaError_t rt_array(cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR *a);

/* array_copy.c: translates a box into the driver's terms */
cudaError_t rt_copy_3d(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c);
/*
 * Returns the kind of a side that is no array: host memory, device memory, or one that the
 * driver finds out.
 */
CUmemorytype rt_side(enum cudaMemcpyKind kind, bool source);
/* Ends a _ptds form, whose work went to the thread's own stream. Returns by rt_ret(). */
cudaError_t rt_finish_own_stream(cudaError_t err);

/* map.c: finds what was registered for a host address */
void *rt_map_find(const void *key);
bool rt_map_add(const void *key, void *value);
void rt_map_remove(const void *key, const void *value);

/* launch.c */
cudaError_t rt_launch_config(const cudaLaunchConfig_t *in, CUlaunchConfig *out);

/* If work is still going on, that is an answer and no error: CUDA does not keep it. */
static inline cudaError_t rt_ret(cudaError_t err)
{
	if (WH_UNLIKELY(err) && err != cudaErrorNotReady)
		rt_self.last = err;
	return err;
}

static inline cudaError_t rt_error(CUresult result)
{
	return WH_LIKELY(result == CUDA_SUCCESS) ? cudaSuccess : rt_error_slow(result);
}

static inline cudaError_t rt_enter(void)
{
	if (WH_LIKELY(rt_self.epoch == atomic_load_explicit(&rt_epoch, memory_order_acquire)))
		return cudaSuccess;
	return rt_bind();
}

/*
 * Makes a driver call. A program that mixes both APIs may have taken the thread's context away
 * since rt_enter(). Then the primary context is bound again, and the call, which has done
 * nothing yet, is repeated.
 */
#define DRV(call) ({							\
	CUresult drv_res_ = drv.call;					\
	if (WH_UNLIKELY(drv_res_ == CUDA_ERROR_INVALID_CONTEXT) && rt_rebind()) \
		drv_res_ = drv.call;					\
	drv_res_;							\
})

/* Returns the stream of a _ptsz call: 0 means the calling thread's own. */
static inline cudaStream_t rt_own_stream(cudaStream_t stream)
{
	return stream ? stream : cudaStreamPerThread;
}

static inline CUdeviceptr rt_ptr(const void *p)
{
	return (CUdeviceptr)(uintptr_t)p;
}

#pragma GCC visibility pop

#endif
