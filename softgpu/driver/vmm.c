// SPDX-License-Identifier: Apache-2.0
/*
 * Virtual memory management: reserved addresses, physical memory, and mappings of the one
 * to the other. Each piece of physical memory is a memfd. A block of the arena that nobody
 * touches counts it against the device's memory. Neighbouring mappings with the same access
 * are one range for copies and kernels. The tables are small arrays sorted by address.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vmm.h"

#define PAGE_BYTES	(2ULL << 20)	/* granularity, the same as an H200's */
#define MAX_SIZE	(1ULL << 46)

struct reservation {
	uint64_t base, size;
};

struct mapping {
	uint64_t base, size;
	struct sgpu_phys *phys;
	CUmemAccess_flags access;
};

static struct reservation *reserved;
static struct mapping *mapped;
static size_t nreserved, nmapped;

static bool round_size(uint64_t n)
{
	return n && n % PAGE_BYTES == 0 && n <= MAX_SIZE;
}

/* ---- addresses ---- */

static struct reservation *reservation_of(uint64_t addr, uint64_t size)
{
	size_t i;

	for (i = 0; i < nreserved; i++)
		if (addr >= reserved[i].base && addr - reserved[i].base < reserved[i].size &&
		    size <= reserved[i].size - (addr - reserved[i].base))
			return &reserved[i];
	return NULL;
}

/* Returns the first index whose base is not below @addr. */
static size_t first_from(uint64_t addr)
{
	size_t i = 0;

	while (i < nmapped && mapped[i].base < addr)
		i++;
	return i;
}

static bool overlaps(uint64_t addr, uint64_t size)
{
	size_t i = first_from(addr);

	return (i < nmapped && mapped[i].base < addr + size) ||
	       (i && mapped[i - 1].base + mapped[i - 1].size > addr);
}

/* Reserves addresses with the alignment, at the wished address if that is free. */
static void *reserve(uint64_t size, uint64_t align, uint64_t wish)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	uint64_t base;
	char *p;

	if (wish && wish % align == 0) {
		p = mmap((void *)(uintptr_t)wish, size, PROT_NONE, flags | MAP_FIXED_NOREPLACE,
			 -1, 0);
		if (p == (char *)(uintptr_t)wish)
			return p;
		if (p != MAP_FAILED)
			munmap(p, size);
	}
	p = mmap(NULL, size + align, PROT_NONE, flags, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	base = ((uintptr_t)p + align - 1) & -align;
	if (base > (uintptr_t)p)
		munmap(p, base - (uintptr_t)p);
	munmap((char *)(uintptr_t)base + size, (uintptr_t)p + align - base);
	return (void *)(uintptr_t)base;
}

CUresult cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t align, CUdeviceptr wish,
			     unsigned long long flags)
{
	CUresult rc = sgpu_enter_global();
	struct reservation *grown;
	void *p = NULL;

	if (rc)
		return rc;
	align = align > PAGE_BYTES ? align : PAGE_BYTES;
	if (!out || flags || !round_size(size) || (align & (align - 1)) || align > MAX_SIZE)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	grown = realloc(reserved, (nreserved + 1) * sizeof(*reserved));
	if (!grown)
		return sgpu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	reserved = grown;
	p = reserve(size, align, wish);
	if (!p)
		return sgpu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	reserved[nreserved++] = (struct reservation){ (uintptr_t)p, size };
	*out = (uintptr_t)p;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuMemAddressFree(CUdeviceptr addr, size_t size)
{
	CUresult rc = sgpu_enter_global();
	struct reservation *r;

	if (rc)
		return rc;
	r = reservation_of(addr, size);
	if (!r || r->base != addr || r->size != size || overlaps(addr, size))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	munmap((void *)(uintptr_t)addr, size);
	*r = reserved[--nreserved];
	return sgpu_leave(CUDA_SUCCESS);
}

/* ---- physical memory ---- */

/* Memory of the host has one node here: 0. */
static bool is_host(const CUmemLocation *l)
{
	return l->type == CU_MEM_LOCATION_TYPE_HOST || l->type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
}

static CUresult prop_ok(const CUmemAllocationProp *p)
{
	if (!p || p->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (is_host(&p->location))
		return p->requestedHandleTypes ? CUDA_ERROR_NOT_SUPPORTED :
		       p->location.type == CU_MEM_LOCATION_TYPE_HOST || !p->location.id ?
		       CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	if (p->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!sgpu_device_ok(p->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	return p->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ?
	       CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

static struct sgpu_phys *phys_of(CUmemGenericAllocationHandle handle)
{
	struct sgpu_phys *p = sgpu_obj_get(SGPU_PHYS, (void *)(uintptr_t)handle);

	return p && p->handles ? p : NULL;
}

static void put_phys(struct sgpu_phys *p)
{
	if (p->handles || p->maps)
		return;
	close(p->fd);
	if (p->block)
		sgpu_mem_release(p->block, 1u << SGPU_MEM_VMM);
	else if (!is_host(&p->prop.location))
		sgpu_books_unshare(p->file, 0, false);
	sgpu_obj_free(p);
}

static CUresult create(CUmemGenericAllocationHandle *out, size_t size,
		       const CUmemAllocationProp *prop)
{
	struct sgpu_phys *p = sgpu_obj_new(SGPU_PHYS);
	CUresult rc = CUDA_SUCCESS;

	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* Memory of the host takes nothing of the device's. */
	if (!is_host(&prop->location))
		rc = sgpu_mem_alloc_on(prop->location.id, NULL, size, SGPU_MEM_VMM, NULL,
				       &p->block);
	if (rc) {
		sgpu_obj_free(p);
		return rc;
	}
	p->size = size;
	p->prop = *prop;
	p->handles = 1;
	p->fd = memfd_create("softgpu", MFD_CLOEXEC);
	if (p->fd < 0 || ftruncate(p->fd, size)) {
		p->handles = 0;
		put_phys(p);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = (uintptr_t)p;
	return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t size,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	CUresult rc = sgpu_enter_global();

	if (rc)
		return rc;
	rc = out && !flags && round_size(size) ? prop_ok(prop) : CUDA_ERROR_INVALID_VALUE;
	return sgpu_leave(rc ? rc : create(out, size, prop));
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	CUresult rc = sgpu_enter_global();
	struct sgpu_phys *p;

	if (rc)
		return rc;
	p = phys_of(handle);
	if (!p)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	p->handles--;
	put_phys(p);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *addr)
{
	CUresult rc = sgpu_enter_global();
	uint64_t a = (uintptr_t)addr;
	size_t i;

	if (rc)
		return rc;
	for (i = 0; i < nmapped; i++)
		if (out && a >= mapped[i].base && a - mapped[i].base < mapped[i].size) {
			mapped[i].phys->handles++;
			*out = (uintptr_t)mapped[i].phys;
			return sgpu_leave(CUDA_SUCCESS);
		}
	return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
						CUmemGenericAllocationHandle handle)
{
	CUresult rc = sgpu_enter_global();
	struct sgpu_phys *p;

	if (rc)
		return rc;
	p = phys_of(handle);
	if (!p || !prop)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*prop = p->prop;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *prop,
				       CUmemAllocationGranularity_flags option)
{
	CUresult rc = sgpu_enter_global();

	if (rc)
		return rc;
	rc = out && (unsigned int)option <= CU_MEM_ALLOC_GRANULARITY_RECOMMENDED ?
	     prop_ok(prop) : CUDA_ERROR_INVALID_VALUE;
	if (!rc)
		*out = PAGE_BYTES;
	return sgpu_leave(rc);
}

/* ---- other processes: they get the memfd itself ---- */

CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
				      CUmemAllocationHandleType type, unsigned long long flags)
{
	CUresult rc = sgpu_enter_global();
	struct sgpu_phys *p;
	struct stat st;
	int fd;

	if (rc)
		return rc;
	p = phys_of(handle);
	if (!p || !out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    !(p->prop.requestedHandleTypes & type))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return sgpu_leave(CUDA_ERROR_OPERATING_SYSTEM);
	if (!p->file && !fstat(p->fd, &st)) {
		p->file = st.st_ino;
		sgpu_mem_count_shared(p->block, p->file, 0);
	}
	memcpy(out, &fd, sizeof(fd));
	return sgpu_leave(CUDA_SUCCESS);
}

/* Imports physical memory. Only the device of its maker has less memory because of it. */
static CUresult import(CUmemGenericAllocationHandle *out, int file)
{
	struct sgpu_phys *p;
	struct stat st;
	int fd;

	/* The file must be a memfd: no other file has seals. */
	if (fcntl(file, F_GET_SEALS) < 0 || fstat(file, &st) || !round_size(st.st_size))
		return CUDA_ERROR_INVALID_VALUE;
	fd = fcntl(file, F_DUPFD_CLOEXEC, 0);
	p = fd < 0 ? NULL : sgpu_obj_new(SGPU_PHYS);
	if (!p) {
		close(fd);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	p->fd = fd;
	p->size = st.st_size;
	p->file = st.st_ino;
	p->handles = 1;
	sgpu_books_share(sgpu_device_place(0), p->file, 0, p->size, false);
	p->prop = (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
	};
	*out = (uintptr_t)p;
	return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *handle,
					CUmemAllocationHandleType type)
{
	CUresult rc = sgpu_enter_global();

	if (rc)
		return rc;
	if (!out || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	return sgpu_leave(import(out, (int)(intptr_t)handle));
}

/* ---- mappings ---- */

static CUresult map(uint64_t addr, uint64_t size, struct sgpu_phys *p)
{
	struct mapping *grown = realloc(mapped, (nmapped + 1) * sizeof(*mapped));
	size_t i;

	if (!grown)
		return CUDA_ERROR_OUT_OF_MEMORY;
	mapped = grown;
	i = first_from(addr);
	if (mmap((void *)(uintptr_t)addr, size, PROT_NONE, MAP_SHARED | MAP_FIXED, p->fd, 0) ==
	    MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memmove(&mapped[i + 1], &mapped[i], (nmapped - i) * sizeof(*mapped));
	mapped[i] = (struct mapping){ addr, size, p, CU_MEM_ACCESS_FLAGS_PROT_NONE };
	nmapped++;
	p->maps++;
	return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr addr, size_t size, size_t offset,
		  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	CUresult rc = sgpu_enter_global();
	struct sgpu_phys *p;

	if (rc)
		return rc;
	p = phys_of(handle);
	if (!p || offset || flags || !round_size(size) || addr % PAGE_BYTES || size > p->size ||
	    !reservation_of(addr, size) || overlaps(addr, size))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	return sgpu_leave(map(addr, size, p));
}

/*
 * Finds whole mappings that fill [addr, addr + size). Returns their number, and the index
 * of the first; 0 if there are none.
 */
static size_t whole(uint64_t addr, uint64_t size, size_t *first)
{
	uint64_t at = addr;
	size_t i;

	*first = i = first_from(addr);
	while (i < nmapped && at - addr < size && mapped[i].base == at)
		at += mapped[i++].size;
	return size && at - addr == size ? i - *first : 0;
}

CUresult cuMemUnmap(CUdeviceptr addr, size_t size)
{
	CUresult rc = sgpu_enter_global();
	size_t first, n, i;

	if (rc)
		return rc;
	n = whole(addr, size, &first);
	if (!n)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	mmap((void *)(uintptr_t)addr, size, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	for (i = first; i < first + n; i++) {
		mapped[i].phys->maps--;
		put_phys(mapped[i].phys);
	}
	memmove(&mapped[first], &mapped[first + n], (nmapped - first - n) * sizeof(*mapped));
	nmapped -= n;
	return sgpu_leave(CUDA_SUCCESS);
}

static bool location_ok(const CUmemLocation *l)
{
	return is_host(l) || (l->type == CU_MEM_LOCATION_TYPE_DEVICE && sgpu_device_ok(l->id));
}

static bool access_ok(const CUmemAccessDesc *d)
{
	return location_ok(&d->location) &&
	       (d->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
		d->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
		d->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

CUresult cuMemSetAccess(CUdeviceptr addr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	CUresult rc = sgpu_enter_global();
	size_t first, n, i;
	int prot;

	if (rc)
		return rc;
	for (i = 0; desc && i < count; i++)
		if (!access_ok(&desc[i]))
			return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	n = whole(addr, size, &first);
	if (!n || !desc || !count)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	prot = desc[count - 1].flags ? PROT_READ : PROT_NONE;
	prot |= desc[count - 1].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? PROT_WRITE : 0;
	if (mprotect((void *)(uintptr_t)addr, size, prot))
		return sgpu_leave(CUDA_ERROR_UNKNOWN);
	for (i = first; i < first + n; i++)
		mapped[i].access = desc[count - 1].flags;
	return sgpu_leave(CUDA_SUCCESS);
}

static struct mapping *mapping_of(uint64_t addr)
{
	size_t i = first_from(addr + 1);

	return i && addr - mapped[i - 1].base < mapped[i - 1].size ? &mapped[i - 1] : NULL;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr addr)
{
	CUresult rc = sgpu_enter_global();
	struct mapping *m;

	if (rc)
		return rc;
	m = mapping_of(addr);
	if (!flags || !location || !location_ok(location) || !m)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = m->access;
	return sgpu_leave(CUDA_SUCCESS);
}

/* ---- for copies and kernels ---- */

bool sgpu_vmm_reserved(uint64_t addr)
{
	return nreserved && reservation_of(addr, 1);
}

/* Are both one range to a copy, if they are neighbours? */
static bool alike(const struct mapping *a, const struct mapping *b)
{
	return a->access == b->access &&
	       is_host(&a->phys->prop.location) == is_host(&b->phys->prop.location) &&
	       (is_host(&a->phys->prop.location) ||
		a->phys->prop.location.id == b->phys->prop.location.id);
}

bool sgpu_vmm_find(uint64_t addr, struct sgpu_range *out)
{
	struct mapping *m = nmapped ? mapping_of(addr) : NULL, *low = m, *high = m;

	if (!m || !m->access)
		return false;
	while (low > mapped && low[-1].base + low[-1].size == low->base && alike(low - 1, m))
		low--;
	while (high + 1 < mapped + nmapped && high->base + high->size == high[1].base &&
	       alike(high + 1, m))
		high++;
	*out = (struct sgpu_range){
		.base = low->base, .size = high->base + high->size - low->base,
		.id = m->phys->obj.id,
		.kind = is_host(&m->phys->prop.location) ? SGPU_MEM_HOST : SGPU_MEM_VMM,
		.flags = m->access == CU_MEM_ACCESS_FLAGS_PROT_READ ?
			 CU_MEMHOSTREGISTER_READ_ONLY : 0,
		.device = is_host(&m->phys->prop.location) ? 0 : m->phys->prop.location.id,
	};
	out->room = out->size;
	return true;
}

/* ---- checkpoints ---- */

/* What is common to the visits of all physical memory. */
struct saving {
	CUresult rc;
	bool back;
};

static bool copy_file(int fd, char *copy, uint64_t size, bool back)
{
	uint64_t at = 0;
	ssize_t n;

	while (at < size) {
		n = back ? pwrite(fd, copy + at, size - at, at) :
			   pread(fd, copy + at, size - at, at);
		if (n <= 0)
			return false;
		at += n;
	}
	return true;
}

/* A file that is cut to nothing keeps its mappings; nobody touches them meanwhile. */
static CUresult save_phys(struct sgpu_phys *p)
{
	p->copy = mmap(NULL, p->size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p->copy == MAP_FAILED) {
		p->copy = NULL;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (copy_file(p->fd, p->copy, p->size, false) && !ftruncate(p->fd, 0) &&
	    !ftruncate(p->fd, p->size))
		return CUDA_SUCCESS;
	munmap(p->copy, p->size);
	p->copy = NULL;
	return CUDA_ERROR_OPERATING_SYSTEM;
}

static CUresult restore_phys(struct sgpu_phys *p)
{
	if (!copy_file(p->fd, p->copy, p->size, true))
		return CUDA_ERROR_OUT_OF_MEMORY;
	munmap(p->copy, p->size);
	p->copy = NULL;
	return CUDA_SUCCESS;
}

static void visit(void *object, void *arg)
{
	struct sgpu_phys *p = object;
	struct saving *s = arg;

	if (s->rc || is_host(&p->prop.location))
		return;
	if (s->back)
		s->rc = p->copy ? restore_phys(p) : CUDA_SUCCESS;
	else
		s->rc = p->file ? CUDA_ERROR_NOT_SUPPORTED : save_phys(p);
}

CUresult sgpu_vmm_restore(void)
{
	struct saving s = { .back = true };

	sgpu_obj_each(SGPU_PHYS, visit, &s);
	return s.rc;
}

CUresult sgpu_vmm_save(void)
{
	struct saving s = { .back = false };

	sgpu_obj_each(SGPU_PHYS, visit, &s);
	if (s.rc)
		sgpu_vmm_restore();
	return s.rc;
}
