// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps what nvcc's start-up code registers: fat binaries, kernels and variables. A fat binary
 * is loaded when something in it is first used. It is loaded as a library of the driver, so
 * that it belongs to no context and outlives cudaDeviceReset().
 *
 * The handle that __cudaGetKernel() gives out is the registration itself. The driver's kernel
 * is looked up at the first launch, which can report an error.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cudart.h"

enum entity_kind { ENTITY_KERNEL, ENTITY_VAR, ENTITY_MANAGED, ENTITY_TEXTURE,
		   ENTITY_SURFACE };

struct module;

/* A kernel, a variable, or a reference to a texture or a surface. */
struct entity {
	enum entity_kind kind;
	struct module *module;		/* NULL: it belongs to a library that the program loaded */
	struct entity *next;		/* of the same module */
	const void *host;		/* the stub, or the host's shadow of a variable */
	const char *name;		/* in the device code */
	size_t size;			/* variable: as registered */
	CUlibrary library;
	_Atomic(CUkernel) kernel;
	void *placed;			/* managed variable: where host and device see it */
	struct rt_texture texture;
};

struct module {
	struct module *next;
	const void *image;		/* the wrapper that nvcc emits */
	_Atomic(CUlibrary) library;	/* NULL: not loaded */
	bool again;			/* has managed variables that the program already uses */
	struct entity *entities;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct module *modules;

/* Kernels of libraries that the program loaded itself. */
static struct entity *loose;

static bool modules_again;	/* rt_modules_again() has work to do */

/* No header declares these: nvcc puts the prototypes into the program. */
void **__cudaRegisterFatBinary(void *fatCubin);
void __cudaRegisterFatBinaryEnd(void **fatCubinHandle);
void __cudaUnregisterFatBinary(void **fatCubinHandle);
void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
			    const char *deviceName, int thread_limit, uint3 *tid, uint3 *bid,
			    dim3 *bDim, dim3 *gDim, int *wSize);
void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress,
		       const char *deviceName, int ext, size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress,
			      char *deviceAddress, const char *deviceName, int ext, size_t size,
			      int constant, int global);
char __cudaInitModule(void **fatCubinHandle);
cudaError_t __cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr);

void rt_module_lock(void)
{
	pthread_mutex_lock(&lock);
}

void rt_module_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void **__cudaRegisterFatBinary(void *fatCubin)
{
	struct module *m = calloc(1, sizeof(*m));

	if (!m) {
		rt_log("error: libcudart: no memory to register device code");
		return NULL;
	}
	m->image = fatCubin;
	rt_module_lock();
	m->next = modules;
	modules = m;
	rt_module_unlock();
	return (void **)m;
}

void __cudaRegisterFatBinaryEnd(void **fatCubinHandle)
{
	(void)fatCubinHandle;
}

/* Every entity is found by its host address, and a kernel also by its own address. */
static void register_entity(struct module *m, enum entity_kind kind, const void *host,
			    const char *name, size_t size)
{
	struct entity *e = m ? calloc(1, sizeof(*e)) : NULL;
	bool ok = e;

	if (e) {
		e->kind = kind;
		e->module = m;
		e->host = host;
		e->name = name;
		e->size = size;
		rt_module_lock();
		e->next = m->entities;
		m->entities = e;
		ok = rt_map_add(host, e) && (kind != ENTITY_KERNEL || rt_map_add(e, e));
		rt_module_unlock();
	}
	if (!ok)
		rt_log("error: libcudart: no memory to register %s", name);
}

void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
			    const char *deviceName, int thread_limit, uint3 *tid, uint3 *bid,
			    dim3 *bDim, dim3 *gDim, int *wSize)
{
	(void)deviceFun, (void)thread_limit, (void)tid, (void)bid;
	(void)bDim, (void)gDim, (void)wSize;
	register_entity((struct module *)fatCubinHandle, ENTITY_KERNEL, hostFun, deviceName, 0);
}

void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress,
		       const char *deviceName, int ext, size_t size, int constant, int global)
{
	(void)deviceAddress, (void)ext, (void)constant, (void)global;
	register_entity((struct module *)fatCubinHandle, ENTITY_VAR, hostVar, deviceName, size);
}

void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress,
			      char *deviceAddress, const char *deviceName, int ext, size_t size,
			      int constant, int global)
{
	(void)deviceAddress, (void)ext, (void)constant, (void)global;
	register_entity((struct module *)fatCubinHandle, ENTITY_MANAGED, hostVarPtrAddress,
			deviceName, size);
}

void rt_texture_register(void **module, const void *host, const char *name, bool normalized)
{
	struct rt_texture *t;

	register_entity((struct module *)module, ENTITY_TEXTURE, host, name, 0);
	t = rt_texture_of(host);
	if (t)
		t->normalized = normalized;
}

void rt_surface_register(void **module, const void *host, const char *name)
{
	register_entity((struct module *)module, ENTITY_SURFACE, host, name, 0);
}

void __cudaUnregisterFatBinary(void **fatCubinHandle)
{
	struct module *m = (struct module *)fatCubinHandle, **p = &modules;
	struct entity *e, *next;

	if (!m)
		return;
	rt_module_lock();
	while (*p && *p != m)
		p = &(*p)->next;
	if (*p)
		*p = m->next;
	for (e = m->entities; e; e = next) {
		next = e->next;
		rt_map_remove(e->host, e);
		rt_map_remove(e->placed, e);
		if (e->kind == ENTITY_KERNEL) {
			rt_map_remove(e, e);
			rt_map_remove(e->kernel, e);
		}
		free(e);
	}
	rt_module_unlock();
	if (m->library)
		drv.cuLibraryUnload(m->library);
	free(m);
}

/*
 * The host uses a managed variable through a pointer that is set here. As a symbol it is named
 * by the variable's address.
 */
static cudaError_t place_managed(struct entity *e, CUlibrary library)
{
	CUdeviceptr addr;
	cudaError_t err;
	size_t size;

	err = rt_error(DRV(cuLibraryGetManaged(&addr, &size, library, e->name)));
	if (err)
		return err;
	e->placed = (void *)(uintptr_t)addr;
	*(void **)(uintptr_t)e->host = e->placed;
	return rt_map_add(e->placed, e) ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t place_all_managed(struct module *m, CUlibrary library)
{
	cudaError_t err = cudaSuccess;
	struct entity *e;

	for (e = m->entities; e && !err; e = e->next)
		if (e->kind == ENTITY_MANAGED)
			err = place_managed(e, library);
	return err;
}

static cudaError_t load_locked(struct module *m)
{
	CUlibrary library = NULL;
	cudaError_t err;

	if (m->library)
		return cudaSuccess;
	err = rt_error(DRV(cuLibraryLoadData(&library, m->image, NULL, NULL, 0, NULL, NULL, 0)));
	if (err)
		return err;
	err = place_all_managed(m, library);
	if (err) {
		drv.cuLibraryUnload(library);
		return err;
	}
	atomic_store_explicit(&m->library, library, memory_order_release);
	return cudaSuccess;
}

/* --- Fork ------------------------------------------------------------------ */

/* In a fork's child: registrations stay, but the driver's objects for them were the parent's. */
static void forget_entity(struct entity *e)
{
	CUkernel kernel = atomic_exchange(&e->kernel, NULL);

	rt_map_remove(kernel, e);
	rt_map_remove(e->placed, e);
	if (!e->placed)
		return;
	/* Until the child has a value of its own, using the parent's value must fault. */
	*(void **)(uintptr_t)e->host = e->placed = NULL;
	e->module->again = true;
	modules_again = true;
}

void rt_modules_forked(void)
{
	struct module *m;
	struct entity *e;

	for (m = modules; m; m = m->next) {
		atomic_store(&m->library, NULL);
		for (e = m->entities; e; e = e->next)
			forget_entity(e);
	}
	for (e = loose; e; e = e->next)
		rt_map_remove(e->kernel, e);
	loose = NULL;
}

/*
 * nvcc's code checks once per program whether a module's managed variables are there, which the
 * parent did. So the child's first call loads them.
 */
cudaError_t rt_modules_again(void)
{
	cudaError_t err = cudaSuccess;
	struct module *m;

	if (WH_LIKELY(!modules_again))
		return cudaSuccess;
	rt_module_lock();
	modules_again = false;
	for (m = modules; m && !err; m = m->next) {
		if (m->again)
			err = load_locked(m);
		m->again = false;
	}
	rt_module_unlock();
	return err;
}

static cudaError_t load_module(struct module *m)
{
	cudaError_t err = rt_enter();

	if (err || atomic_load_explicit(&m->library, memory_order_acquire))
		return err;
	rt_module_lock();
	err = load_locked(m);
	rt_module_unlock();
	return err;
}

/*
 * nvcc's code calls this before the host's first use of a managed variable; 1: done. It ignores
 * failures and goes on to use the variable's pointer, which is then null. So the process ends
 * here, and says why even without a log.
 */
char __cudaInitModule(void **fatCubinHandle)
{
	struct module *m = (struct module *)fatCubinHandle;
	cudaError_t err = m ? rt_ret(load_module(m)) : cudaErrorMemoryAllocation;

	if (err) {
		rt_complain("error: libcudart: no managed variables: %s", rt_error_text(err));
		exit(EXIT_FAILURE);
	}
	return 1;
}

static cudaError_t resolve_kernel(struct entity *e)
{
	CUkernel kernel = NULL;
	cudaError_t err = load_module(e->module);

	if (err)
		return err;
	err = rt_error(DRV(cuLibraryGetKernel(&kernel, e->module->library, e->name)));
	if (err == cudaErrorSymbolNotFound)
		return cudaErrorInvalidDeviceFunction;
	if (!err)
		atomic_store_explicit(&e->kernel, kernel, memory_order_release);
	return err;
}

/*
 * Finds the driver's kernel for `func`: a host function, a handle of __cudaGetKernel(), or a
 * cudaKernel_t that this library gave out.
 */
cudaError_t rt_kernel(const void *func, CUkernel *kernel)
{
	struct entity *e = rt_map_find(func);
	cudaError_t err = cudaSuccess;

	/* Anything that is no function is taken for a handle, hence the other error. */
	if (!e || e->kind != ENTITY_KERNEL)
		return func ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction;
	*kernel = atomic_load_explicit(&e->kernel, memory_order_acquire);
	if (WH_LIKELY(*kernel))
		return cudaSuccess;
	err = resolve_kernel(e);
	*kernel = e->kernel;
	return err;
}

/* Does the same for calls that accept no handle. */
cudaError_t rt_function(const void *func, CUkernel *kernel)
{
	return rt_map_find(func) ? rt_kernel(func, kernel) : cudaErrorInvalidDeviceFunction;
}

const char *rt_registered_name(const void *func)
{
	const struct entity *e = rt_map_find(func);

	return e && e->kind == ENTITY_KERNEL ? e->name : NULL;
}

/* Finds a registered variable on the thread's device. */
cudaError_t rt_symbol(const void *symbol, CUdeviceptr *addr, size_t *size)
{
	struct entity *e = rt_map_find(symbol);
	cudaError_t err;

	if (!e || e->kind == ENTITY_KERNEL || e->kind == ENTITY_TEXTURE ||
	    e->kind == ENTITY_SURFACE)
		return cudaErrorInvalidSymbol;
	err = load_module(e->module);
	if (err)
		return err;
	if (e->kind == ENTITY_MANAGED)
		err = rt_error(DRV(cuLibraryGetManaged(addr, size, e->module->library, e->name)));
	else
		err = rt_error(DRV(cuLibraryGetGlobal(addr, size, e->module->library, e->name)));
	return err == cudaErrorSymbolNotFound ? cudaErrorInvalidSymbol : err;
}

struct rt_texture *rt_texture_of(const void *host)
{
	struct entity *e = rt_map_find(host);

	return e && e->kind == ENTITY_TEXTURE ? &e->texture : NULL;
}

static cudaError_t module_of(const struct entity *e, CUmodule *mod)
{
	cudaError_t err = load_module(e->module);

	return err ? err : rt_error(DRV(cuLibraryGetModule(mod, e->module->library)));
}

bool rt_is_surface(const void *host)
{
	const struct entity *e = rt_map_find(host);

	return e && e->kind == ENTITY_SURFACE;
}

cudaError_t rt_surface_find(const void *host, CUsurfref *ref)
{
	const struct entity *e = rt_map_find(host);
	cudaError_t err;
	CUmodule mod;

	if (!e || e->kind != ENTITY_SURFACE)
		return cudaErrorInvalidSurface;
	err = module_of(e, &mod);
	if (!err)
		err = rt_error(DRV(cuModuleGetSurfRef(ref, mod, e->name)));
	return err == cudaErrorSymbolNotFound ? cudaErrorInvalidSurface : err;
}

cudaError_t rt_texture_find(const void *host, struct rt_texture **t, CUtexref *ref)
{
	struct entity *e = rt_map_find(host);
	cudaError_t err;
	CUmodule mod;

	if (!e || e->kind != ENTITY_TEXTURE)
		return cudaErrorInvalidTexture;
	*t = &e->texture;
	err = module_of(e, &mod);
	if (!err)
		err = rt_error(DRV(cuModuleGetTexRef(ref, mod, e->name)));
	return err == cudaErrorSymbolNotFound ? cudaErrorInvalidTexture : err;
}

static bool is_kernel(const struct entity *e, CUkernel kernel, CUfunction func)
{
	CUkernel own = e->kind == ENTITY_KERNEL ? e->kernel : NULL;
	CUfunction f;

	if (!own)
		return false;
	return kernel ? own == kernel :
			(CUfunction)own == func ||
			(!DRV(cuKernelGetFunction(&f, own)) && f == func);
}

/* If a kernel was given, the driver may answer with a function of the context. */
const void *rt_host_function(CUkernel kernel, CUfunction func)
{
	const void *found = kernel ? (const void *)kernel : (const void *)func;
	struct module *m;
	struct entity *e;

	rt_module_lock();
	for (m = modules; m; m = m->next)
		for (e = m->entities; e; e = e->next)
			if (is_kernel(e, kernel, func))
				found = e->host;
	rt_module_unlock();
	return found;
}

/* nvcc puts this call into every launch, once per call site. It loads nothing. */
cudaError_t __cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
	struct entity *e = rt_map_find(entryFuncAddr);

	*kernelPtr = (cudaKernel_t)e;
	return e ? cudaSuccess : rt_ret(cudaErrorInvalidDeviceFunction);
}

/* Remembers a kernel of the driver that the program has seen, so that its handle finds it again. */
static cudaError_t remember(struct entity *e, CUkernel kernel)
{
	bool ok;

	rt_module_lock();
	ok = rt_map_add(kernel, e);
	rt_module_unlock();
	return ok ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
	CUkernel kernel;
	cudaError_t err;

	if (!kernelPtr)
		return rt_ret(cudaErrorInvalidValue);
	err = rt_function(entryFuncAddr, &kernel);
	if (!err)
		err = remember(rt_map_find(entryFuncAddr), kernel);
	if (!err)
		*kernelPtr = (cudaKernel_t)kernel;
	return rt_ret(err);
}

static cudaError_t add_loose(CUlibrary library, CUkernel kernel)
{
	struct entity *e;

	if (rt_map_find(kernel))
		return cudaSuccess;
	e = calloc(1, sizeof(*e));
	if (!e)
		return cudaErrorMemoryAllocation;
	e->kind = ENTITY_KERNEL;
	e->library = library;
	e->kernel = kernel;
	rt_module_lock();
	e->next = loose;
	loose = e;
	rt_module_unlock();
	return remember(e, kernel);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name)
{
	CUkernel kernel;
	cudaError_t err;

	if (!pKernel || !name)
		return rt_ret(cudaErrorInvalidValue);
	err = rt_enter();
	if (!err)
		err = rt_error(DRV(cuLibraryGetKernel(&kernel, (CUlibrary)library, name)));
	if (!err)
		err = add_loose((CUlibrary)library, kernel);
	if (!err)
		*pKernel = (cudaKernel_t)kernel;
	return rt_ret(err);
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels,
					cudaLibrary_t lib)
{
	unsigned int i;
	cudaError_t err = rt_enter();

	if (!err && !kernels)
		err = cudaErrorInvalidValue;
	if (!err)
		memset(kernels, 0, numKernels * sizeof(*kernels));
	if (!err)
		err = rt_error(DRV(cuLibraryEnumerateKernels((CUkernel *)kernels, numKernels,
							     (CUlibrary)lib)));
	for (i = 0; !err && i < numKernels && kernels[i]; i++)
		err = add_loose((CUlibrary)lib, (CUkernel)kernels[i]);
	return rt_ret(err);
}

static void forget_library(CUlibrary library)
{
	struct entity **link = &loose, *e;

	rt_module_lock();
	while ((e = *link)) {
		if (e->library != library) {
			link = &e->next;
			continue;
		}
		*link = e->next;
		rt_map_remove(e->kernel, e);
		free(e);
	}
	rt_module_unlock();
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
	cudaError_t err = rt_start();

	if (!err)
		err = rt_error(drv.cuLibraryUnload((CUlibrary)library));
	if (!err)
		forget_library((CUlibrary)library);
	return rt_ret(err);
}
