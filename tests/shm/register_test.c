// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that the program's own memory can be registered: the device reads and
 * writes what the program sees, nothing beside it changes, and afterwards it is what it
 * was. It also tests pinned memory that is larger than the window part.
 */
#define _GNU_SOURCE
#include "registered.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <time.h>

#define SIZE	(3 * 1000 * 1000 + 5)
#define LARGE	(600UL << 20)
#define GUARD	100

/* Returns memory in the middle of a larger block, at no round address. */
static uint8_t *own(void)
{
	uint8_t *p = malloc(SIZE + 2 * GUARD + 13);

	memset(p, 0x3c, SIZE + 2 * GUARD + 13);
	return p + GUARD + 13;
}

static int guards_stand(const uint8_t *p)
{
	int i;

	for (i = 1; i <= GUARD; i++)
		if (p[-i] != 0x3c || p[SIZE + i - 1] != 0x3c)
			return 0;
	return 1;
}

static int device_sees(uint8_t *p)
{
	CUdeviceptr there;

	pattern(p, SIZE, 3);
	if (cuMemHostGetDevicePointer(&there, p, 0) || cuMemcpyDtoD(device, there, SIZE))
		return 0;
	memset(p, 0, SIZE);
	return cuMemcpyDtoH(p, device, SIZE) == 0 && same(p, SIZE, 3);
}

static int device_changes(uint8_t *p)
{
	CUdeviceptr there;

	pattern(p, SIZE, 4);
	cuMemcpyHtoD(device, p, SIZE);
	memset(p, 0, SIZE);
	return cuMemHostGetDevicePointer(&there, p, 0) == 0 &&
	       cuMemcpyDtoD(there, device, SIZE) == 0 && same(p, SIZE, 4);
}

static void test_use(uint8_t *p)
{
	unsigned int flags = 0;
	CUdeviceptr there = 0;
	int type = 0;

	pattern(p, SIZE, 2);
	ok_eq(cuMemHostRegister(p, SIZE, CU_MEMHOSTREGISTER_DEVICEMAP), 0, "memory_is_registered");
	ok(same(p, SIZE, 2) && guards_stand(p), "its_contents_stay");
	ok(device_sees(p), "device_reads_what_the_program_wrote");
	ok(device_changes(p), "program_reads_what_the_device_wrote");
	ok(cuMemHostGetFlags(&flags, p + 9) == 0 && flags & CU_MEMHOSTREGISTER_DEVICEMAP,
	   "flags_are_known");
	ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				 (CUdeviceptr)p + 5) == 0 &&
	   type == CU_MEMORYTYPE_HOST, "it_is_host_memory");
	ok(cuPointerGetAttribute(&there, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
				 (CUdeviceptr)p + 5) == 0 &&
	   there, "it_has_a_device_address");
	ok_eq(cuMemFreeHost(p), CUDA_ERROR_INVALID_VALUE, "it_is_not_freed_as_pinned_memory");
	ok_eq(cuMemHostRegister(p + 4096, 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
	      "no_part_of_it_is_registered_again");
	ok_eq(cuMemHostUnregister(p + 1), CUDA_ERROR_INVALID_VALUE,
	      "inner_address_is_not_unregistered");
}

static void test_end(uint8_t *p)
{
	CUdeviceptr there;

	pattern(p, SIZE, 5);
	ok_eq(cuMemHostUnregister(p), 0, "memory_is_unregistered");
	ok(same(p, SIZE, 5) && guards_stand(p), "its_contents_stay_again");
	ok_eq(cuMemHostUnregister(p), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "only_once");
	ok_eq(cuMemHostGetDevicePointer(&there, p, 0), CUDA_ERROR_INVALID_VALUE,
	      "it_has_no_device_address_any_more");
	memset(p, 0, SIZE);
	ok(cuMemcpyHtoD(device, p, SIZE) == 0 && cuMemHostRegister(p, SIZE, 0) == 0 &&
	   cuMemHostUnregister(p) == 0, "it_can_be_registered_again");
}

/* --- A neighbour on the same page ------------------------------------------------------ */

static void test_neighbour(void)
{
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	int i, bad = 0;
	pthread_t t;

	neighbour = (uint64_t *)page;
	pthread_create(&t, NULL, count, NULL);
	while (!__atomic_load_n(neighbour, __ATOMIC_RELAXED))
		sched_yield();
	for (i = 0; i < 200; i++)
		bad |= cuMemHostRegister(page + 64, 6000, 0) || cuMemHostUnregister(page + 64);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	ok(!bad && counted && *neighbour == counted, "writes_beside_it_are_never_lost");
	munmap(page, 8192);
}

/* --- Several registrations on a page ------------------------------------------------------ */

static void test_pages(void)
{
	const int plain = MAP_PRIVATE | MAP_ANONYMOUS;
	uint8_t *page = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, plain, -1, 0);
	uint8_t *a = page, *b = page + 80, *c = page + 4000, *d = page + 4400;
	size_t size_d = 2 * 4096 + 100;
	pid_t child;
	int status;

	memset(page, 0x3c, 4 * 4096);
	ok(!cuMemHostRegister(a, 80, 0) && !cuMemHostRegister(c, 400, 0) &&
	   !cuMemHostRegister(d, size_d, 0) && !cuMemHostRegister(b, 20, 0),
	   "several_ranges_on_a_page_are_registered");
	ok(works(a, 80, 1) && works(b, 20, 2) && works(c, 400, 3) && works(d, size_d, 4) &&
	   same(a, 80, 1) && same(b, 20, 2) && same(c, 400, 3) && page[100] == 0x3c,
	   "each_of_them_works_alone");
	ok_eq(cuMemHostRegister(c + 399, 2, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
	      "a_byte_of_two_is_registered_once");
	ok(!cuMemHostUnregister(c) && same(c, 400, 3) && works(a, 80, 5) && works(b, 20, 6) &&
	   works(d, size_d, 7), "the_others_live_on_when_one_ends");
	child = fork();
	if (!child) {
		memset(page, 0, 4 * 4096);
		_exit(0);
	}
	waitpid(child, &status, 0);
	ok(!status && same(d, size_d, 7) && works(d, size_d, 8), "a_child_has_its_own_pages");
	ok(!cuMemHostUnregister(d) && same(d, size_d, 8) && works(a, 80, 9) && same(b, 20, 6),
	   "so_do_they_when_pages_come_back");
	/* Pages that are the program's own again are the kernel's to exchange. */
	munmap(page + 4096, 3 * 4096);
	ok(mmap(page + 4096, 3 * 4096, PROT_READ | PROT_WRITE, plain | MAP_FIXED, -1, 0) ==
	   page + 4096 && !cuMemHostRegister(c, 400, 0) && works(c, 400, 10),
	   "fresh_memory_behind_a_shared_page_is_registered");
	ok(!cuMemHostUnregister(a) && !cuMemHostUnregister(b) && !cuMemHostUnregister(c) &&
	   same(a, 80, 9) && same(b, 20, 6) && same(c, 400, 10) && page[100] == 0x3c,
	   "all_of_it_is_as_it_was");
	munmap(page, 4 * 4096);
}

/* --- What cannot be registered ---------------------------------------------------------- */

/* Is the worker another process? */
static bool is_there(void)
{
	return strcmp(getenv("WORMHOLE_TRANSPORT"), "loopback");
}

static void test_refusals(void)
{
	int there = is_there();
	char local[64];
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ok_eq(cuMemHostRegister(NULL, 10, 0), CUDA_ERROR_INVALID_VALUE, "null_is_not_registered");
	ok_eq(cuMemHostRegister(local, 0, 0), CUDA_ERROR_INVALID_VALUE, "nothing_is_not_registered");
	ok_eq(cuMemHostRegister(p, 10, 0x80), CUDA_ERROR_INVALID_VALUE, "unknown_flag_is_an_error");
	ok_eq(cuMemHostRegister(p, 10, CU_MEMHOSTREGISTER_IOMEMORY), CUDA_ERROR_NOT_SUPPORTED,
	      "device_registers_are_refused");
	ok_eq(cuMemHostRegister(p, 4096, 0), there ? CUDA_ERROR_NOT_SUPPORTED : 0,
	      "shared_memory_is_refused_where_its_pages_would_be_lost");
	ok_eq(cuMemHostRegister(local, 10, 0), 0, "a_variable_on_the_stack_is_not_refused");
	cuMemHostUnregister(local);
	cuMemHostUnregister(p);
	munmap(p, 4096);
	ok_eq(cuMemHostRegister(p, 10, 0), CUDA_ERROR_INVALID_VALUE,
	      "memory_that_is_not_there_is_an_error");
}

/* --- Memory that the program may only read ----------------------------------------------- */

#define ONLY_READ	CU_MEMHOSTREGISTER_READ_ONLY
#define CONSTANTS	(5 * 4096)

static void bail(const char *why)
{
	printf("Bail out! %s\n", why);
	exit(1);
}

/* Would a write end the program? The kernel tries it, and leaves what is there. */
static bool is_constant(uint8_t *p)
{
	int fd = open("/dev/zero", O_RDONLY);
	uint8_t before = *p;
	bool constant = read(fd, p, 1) < 0;

	if (!constant)
		*p = before;
	close(fd);
	return constant;
}

/* Two of the pages are the program's own now, the others a file's. */
static uint8_t *constants(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	uint8_t *p = mmap(NULL, CONSTANTS, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	close(fd);
	if (p == MAP_FAILED)
		return NULL;
	pattern(p + 3 * 4096, 2 * 4096, 11);
	mprotect(p, CONSTANTS, PROT_READ);
	return p;
}

static bool device_has(const uint8_t *p, const uint8_t *want, size_t n)
{
	uint8_t *back = calloc(1, n);
	CUdeviceptr there;
	bool good = !cuMemHostGetDevicePointer(&there, (void *)p, 0) &&
		    !cuMemcpyDtoD(device, there, n) && !cuMemcpyDtoH(back, device, n) &&
		    !memcmp(back, want, n);

	free(back);
	return good;
}

static void test_constants(void)
{
	uint8_t *p = constants(), *want = malloc(CONSTANTS);
	int can = 0, status;
	pid_t child;

	memcpy(want, p, CONSTANTS);
	cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 0);
	ok_eq(cuMemHostRegister(p, CONSTANTS, 0), CUDA_ERROR_INVALID_VALUE,
	      "read_only_memory_is_not_registered_without_the_flag");
	ok(can == 1 && !cuMemHostRegister(p + 100, CONSTANTS - 200, ONLY_READ),
	   "with_it_it_is_as_the_attribute_says");
	ok(device_has(p + 100, want + 100, CONSTANTS - 200), "device_reads_it");
	ok(!memcmp(p, want, CONSTANTS) && is_constant(p) && is_constant(p + CONSTANTS - 1),
	   "the_program_may_still_only_read_it");
	child = fork();
	if (!child)
		_exit(memcmp(p, want, CONSTANTS) || !is_constant(p));
	waitpid(child, &status, 0);
	ok(!status, "a_child_may_only_read_it");
	ok(!cuMemHostUnregister(p + 100) && !memcmp(p, want, CONSTANTS) && is_constant(p) &&
	   is_constant(p + CONSTANTS - 1), "afterwards_it_is_as_it_was");
	cuMemHostRegister(p, CONSTANTS, ONLY_READ);
	mprotect(p, CONSTANTS, PROT_READ | PROT_WRITE);
	ok(!cuMemHostUnregister(p) && !is_constant(p),
	   "a_program_that_may_write_there_meanwhile_still_may");
	munmap(p, CONSTANTS);
	free(want);
}

/* A page behind the end of its file exists, but nobody can read it. */
static void test_behind_the_end(void)
{
	int fd = memfd_create("short", 0);
	uint8_t *p;

	if (ftruncate(fd, 4096))
		bail("no file of one page");
	p = mmap(NULL, 2 * 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	ok_eq(cuMemHostRegister(p, 2 * 4096, ONLY_READ), CUDA_ERROR_INVALID_VALUE,
	      "a_page_behind_the_end_of_its_file_is_an_error");
	ok(!cuMemHostRegister(p, 4096, ONLY_READ) && !cuMemHostUnregister(p) &&
	   is_constant(p), "those_before_it_are_registered");
	munmap(p, 2 * 4096);
	close(fd);
}

/* Plain pages are another range's already when constant ones behind them are registered. */
static void test_both_kinds(void)
{
	const int plain = MAP_PRIVATE | MAP_ANONYMOUS;
	uint8_t *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, plain, -1, 0);
	bool good;

	pattern(p, 3 * 4096, 12);
	mprotect(p + 4096, 2 * 4096, PROT_READ);
	good = !cuMemHostRegister(p, 100, 0) &&
	       !cuMemHostRegister(p + 200, 3 * 4096 - 200, ONLY_READ) &&
	       !cuMemHostUnregister(p) && !cuMemHostUnregister(p + 200);
	ok(good && same(p, 3 * 4096, 12) && !is_constant(p) && is_constant(p + 4096),
	   "pages_of_two_kinds_come_back_as_they_were");
	munmap(p, 3 * 4096);
}

static const char store[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry store(.param .u64 p)\n{\n"
	"	.reg .b64 %rd<2>;\n	.reg .b32 %r<2>;\n"
	"	ld.param.u64 %rd1, [p];\n	mov.b32 %r1, 7;\n"
	"	st.global.u32 [%rd1], %r1;\n	ret;\n}\n";

/* This ends the context's life. */
static void test_device_writes(void)
{
	uint8_t *p = constants();
	CUdeviceptr there = 0;
	void *args[] = { &there };
	CUfunction f = NULL;
	CUmodule m;
	uint8_t before = *p;

	if (cuModuleLoadData(&m, store) || cuModuleGetFunction(&f, m, "store") ||
	    cuMemHostRegister(p, CONSTANTS, ONLY_READ) || cuMemHostGetDevicePointer(&there, p, 0))
		bail("the kernel or its memory is missing");
	cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
	ok(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS && *p == before,
	   "the_device_may_not_write_it_either");
}

/* --- More pinned memory than the part holds --------------------------------------------- */

static void test_large(void)
{
	CUdeviceptr there;
	uint32_t *p;
	int i;

	ok_eq(cuMemAllocHost((void **)&p, LARGE), 0, "pinned_memory_beyond_the_part_is_allocated");
	p[0] = 1;
	p[LARGE / 4 - 1] = 2;
	ok(cuMemHostGetDevicePointer(&there, p, 0) == 0 && there == (CUdeviceptr)p,
	   "its_address_is_the_devices_too");
	ok(cuMemcpyDtoD(device, there + LARGE - 4, 4) == 0 && cuMemcpyDtoH(p, device, 4) == 0 &&
	   p[0] == 2, "device_reads_its_last_bytes");
	ok_eq(cuMemFreeHost(p), 0, "it_is_freed");
	for (i = 0; i < 20 && cuMemAllocHost((void **)&p, LARGE) == 0; i++) {
		p[7] = i;
		if (p[0] || cuMemFreeHost(p))
			break;
	}
	ok_eq(i, 20, "what_is_freed_comes_back_empty_as_often_as_wanted");
}

/* --- The list of ranges moves when it grows, and nobody looks at it then ------------------ */

#define RANGES	70	/* more than the list has room for at first */

static struct {
	sem_t look, looked;
	CUcontext ctx;
	uint8_t *known;		/* a registered range */
	bool moved, seen;	/* the list, and by another thread meanwhile */
} growth;
static __thread bool registers;

extern void *__libc_realloc(void *p, size_t size);

static bool is_of_the_library(const void *caller)
{
	Dl_info a, b;

	return dladdr(caller, &a) && dladdr((void *)cuMemHostRegister, &b) &&
	       a.dli_fbase == b.dli_fbase;
}

/* The library moves a list by this function. The other thread looks at the list meanwhile. */
void *realloc(void *p, size_t size)
{
	struct timespec until;

	if (!registers || !p || growth.moved || !is_of_the_library(__builtin_return_address(0)))
		return __libc_realloc(p, size);
	growth.moved = true;
	sem_post(&growth.look);
	/* A reader that waits as it should does so until this function returns. */
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	growth.seen = sem_timedwait(&growth.looked, &until) == 0;
	return __libc_realloc(p, size);
}

static void *looking(void *arg)
{
	CUdeviceptr there;

	(void)arg;
	cuCtxSetCurrent(growth.ctx);
	while (sem_wait(&growth.look) == 0 && growth.known) {
		cuMemHostGetDevicePointer(&there, growth.known, 0);
		sem_post(&growth.looked);
	}
	return NULL;
}

static void test_growth(void)
{
	uint8_t *p = mmap(NULL, RANGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	pthread_t thread;
	int i, done = 0;

	cuCtxGetCurrent(&growth.ctx);
	sem_init(&growth.look, 0, 0);
	sem_init(&growth.looked, 0, 0);
	growth.known = p;
	pthread_create(&thread, NULL, looking, NULL);
	for (i = 0; i < RANGES; i++) {
		registers = true;
		done += cuMemHostRegister(p + 4096 * i, 4096, 0) == 0;
		registers = false;
	}
	ok(done == RANGES && growth.moved, "many_ranges_are_registered");
	ok(!growth.seen, "no_thread_reads_the_list_while_it_moves");
	growth.known = NULL;
	sem_post(&growth.look);
	pthread_join(thread, NULL);
	for (i = 0; i < RANGES; i++)
		cuMemHostUnregister(p + 4096 * i);
	munmap(p, RANGES * 4096);
}

int main(void)
{
	uint8_t *p = own();

	tap_plan(49);
	begin();
	cuMemAlloc(&device, SIZE);
	test_use(p);
	test_end(p);
	test_neighbour();
	test_pages();
	test_refusals();
	test_constants();
	test_behind_the_end();
	test_both_kinds();
	test_growth();
	test_large();
	test_device_writes();
	return tap_exit();
}
