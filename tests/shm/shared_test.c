// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that shared maps of memory can be registered: device and program, and others
 * that have the map, see what each of them writes, also afterwards. What cannot be lent to the
 * worker is refused.
 */
#define _GNU_SOURCE
#include "registered.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#define PAGES	5
#define SIZE	(PAGES * 4096)

static uint8_t *map_of(int fd, off_t offset, int prot)
{
	void *p = mmap(NULL, SIZE, prot, MAP_SHARED, fd, offset);

	if (fd < 0 || p == MAP_FAILED) {
		printf("Bail out! a shared map: %s\n", strerror(errno));
		exit(1);
	}
	return p;
}

static int memory(size_t size)
{
	int fd = memfd_create("shared", MFD_CLOEXEC);

	return ftruncate(fd, (off_t)size) ? -1 : fd;
}

static bool to_device(const uint8_t *p, size_t n)
{
	CUdeviceptr there;

	return !cuMemHostGetDevicePointer(&there, (void *)p, 0) && !cuMemcpyDtoD(device, there, n);
}

/* Lets another process write a pattern to its own map of the file. */
static bool another_writes(int fd, off_t offset, uint32_t seed)
{
	pid_t child = fork();
	int status;

	if (!child) {
		pattern(map_of(fd, offset, PROT_READ | PROT_WRITE), SIZE, seed);
		_exit(0);
	}
	return waitpid(child, &status, 0) == child && !status;
}

static void test_memfd(void)
{
	int fd = memory(3 * SIZE);
	uint8_t *p = map_of(fd, SIZE, PROT_READ | PROT_WRITE);
	uint8_t *other = map_of(fd, SIZE, PROT_READ | PROT_WRITE);
	uint8_t *back = malloc(SIZE);

	pattern(p, SIZE, 1);
	ok_eq(cuMemHostRegister(p, SIZE, 0), 0, "a_map_of_a_memfd_is_registered");
	ok(same(p, SIZE, 1) && works(p, SIZE, 2), "device_and_program_see_what_either_writes");
	ok(same(other, SIZE, 2), "another_map_of_the_file_sees_it");
	ok(another_writes(fd, SIZE, 3) && to_device(p, SIZE) &&
	   !cuMemcpyDtoH(back, device, SIZE) && same(back, SIZE, 3),
	   "device_sees_what_another_process_writes");
	ok(!cuMemHostUnregister(p) && same(p, SIZE, 3) && another_writes(fd, SIZE, 4) &&
	   same(p, SIZE, 4), "it_is_shared_when_the_registration_has_ended");
	ok(!cuMemHostRegister(p, SIZE, 0) && works(p, SIZE, 5) && !cuMemHostUnregister(p),
	   "it_can_be_registered_again");
	free(back);
	munmap(p, SIZE);
	munmap(other, SIZE);
	close(fd);
}

static void test_parts(void)
{
	int fd = memory(SIZE), status = 1;
	uint8_t *p = map_of(fd, 0, PROT_READ | PROT_WRITE);
	pid_t child;

	memset(p, 0x3c, SIZE);
	ok(!cuMemHostRegister(p + 100, 50, 0) && !cuMemHostRegister(p + 200, 2 * 4096, 0) &&
	   works(p + 100, 50, 1) && works(p + 200, 2 * 4096, 2) && p[99] == 0x3c && p[150] == 0x3c,
	   "ranges_that_share_a_page_work_each");
	child = fork();
	if (!child) {
		p[100] = 0x77;
		_exit(0);
	}
	waitpid(child, &status, 0);
	ok(!status && p[100] == 0x77, "a_child_shares_the_pages_still");
	ok(!cuMemHostUnregister(p + 100) && works(p + 200, 2 * 4096, 3) &&
	   !cuMemHostUnregister(p + 200) && p[100] == 0x77, "each_ends_alone");
	munmap(p, SIZE);
	close(fd);
}

static void test_names(void)
{
	char name[40];
	uint8_t *p, *q;
	int fd;

	snprintf(name, sizeof(name), "/wormhole-shared-%d", getpid());
	fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || ftruncate(fd, SIZE)) {
		printf("Bail out! shm_open: %s\n", strerror(errno));
		exit(1);
	}
	p = map_of(fd, 0, PROT_READ | PROT_WRITE);
	q = map_of(fd, 0, PROT_READ | PROT_WRITE);
	close(fd);
	ok(!cuMemHostRegister(p, SIZE, 0) && works(p, SIZE, 6) && same(q, SIZE, 6) &&
	   !cuMemHostUnregister(p), "a_file_of_shm_open_is_found_by_its_name");
	shm_unlink(name);
	ok_eq(cuMemHostRegister(p, SIZE, 0), CUDA_ERROR_NOT_SUPPORTED,
	      "without_name_and_descriptor_it_is_refused");
	munmap(p, SIZE);
	munmap(q, SIZE);
}

/*
 * A map right below the top of the address space: above the first thread's stack, where nothing but
 * the stack's end and the kernel's own pages can be.
 */
static uint8_t *above_the_stack(int fd)
{
	uint8_t *top = (uint8_t *)(0x7ffffffff000 - SIZE);

	return mmap(top, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
}

static void test_beside_the_stack(void)
{
	int fd = memory(SIZE);
	uint8_t *p = above_the_stack(fd);

	if (p == MAP_FAILED) {
		skip("one_beside_a_stack_stays_shared_over_a_fork", "something is there");
	} else {
		ok(!cuMemHostRegister(p, SIZE, 0) && another_writes(fd, 0, 8) &&
		   same(p, SIZE, 8) && works(p, SIZE, 9) && !cuMemHostUnregister(p),
		   "one_beside_a_stack_stays_shared_over_a_fork");
		munmap(p, SIZE);
	}
	close(fd);
}

static bool is_on_tmpfs(int fd)
{
	struct statfs s;

	return !fstatfs(fd, &s) && s.f_type == TMPFS_MAGIC;
}

static void test_refusals(void)
{
	char name[] = "/var/tmp/wormhole-shared-XXXXXX";
	int fd = mkstemp(name), short_one = memory(4096), huge;
	uint8_t *p;

	unlink(name);
	if (is_on_tmpfs(fd) || ftruncate(fd, SIZE)) {
		skip("a_file_on_a_disk_is_refused", "/var/tmp is on no disk");
	} else {
		p = map_of(fd, 0, PROT_READ | PROT_WRITE);
		ok_eq(cuMemHostRegister(p, SIZE, 0), CUDA_ERROR_NOT_SUPPORTED,
		      "a_file_on_a_disk_is_refused");
		munmap(p, SIZE);
	}
	close(fd);
	p = map_of(short_one, 0, PROT_READ | PROT_WRITE);
	ok(cuMemHostRegister(p, SIZE, 0) && !cuMemHostRegister(p, 4096, 0) && works(p, 4096, 7) &&
	   !cuMemHostUnregister(p), "pages_behind_the_end_of_the_file_are_refused");
	munmap(p, SIZE);
	p = map_of(short_one, 0, PROT_READ);
	ok_eq(cuMemHostRegister(p, 4096, CU_MEMHOSTREGISTER_READ_ONLY), CUDA_ERROR_NOT_SUPPORTED,
	      "a_shared_map_that_is_only_read_is_refused");
	munmap(p, SIZE);
	close(short_one);
	huge = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB);
	p = huge < 0 || ftruncate(huge, 2 << 20) ? MAP_FAILED :
	    mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, huge, 0);
	if (p == MAP_FAILED)
		skip("huge_pages_are_refused", "this machine has none");
	else
		ok_eq(cuMemHostRegister(p, 2 << 20, 0), CUDA_ERROR_NOT_SUPPORTED,
		      "huge_pages_are_refused");
}

/* A child has a worker of its own, which touches memory that is gone, and ends. */
static void test_truncation(void)
{
	uint8_t *p, to[64];
	int fd, status;
	pid_t child = fork();

	if (!child) {
		begin();
		fd = memory(SIZE);
		p = map_of(fd, 0, PROT_READ | PROT_WRITE);
		memset(p, 1, SIZE);
		status = cuMemAlloc(&device, SIZE) || cuMemHostRegister(p, SIZE, 0) ||
			 ftruncate(fd, 0);
		/* Another process's memory cannot end this one. */
		_exit(status || !to_device(p, 64) ? status : cuMemcpyDtoH(to, device, 64) ? 2 : 0);
	}
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a_program_whose_file_is_cut_goes_on");
	ok(!cuMemcpyHtoD(device, to, sizeof(to)), "and_so_do_others");
}

int main(void)
{
	tap_plan(18);
	begin();
	if (cuMemAlloc(&device, SIZE)) {
		printf("Bail out! no device memory\n");
		return 1;
	}
	test_memfd();
	test_parts();
	test_names();
	test_beside_the_stack();
	test_refusals();
	test_truncation();
	return tap_exit();
}
