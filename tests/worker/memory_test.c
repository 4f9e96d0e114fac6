// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises a worker's memory: memory that was prepared takes no page fault later
 * (each would be a handoff), and a call stack ends in guard pages. It runs on any Linux
 * from 5.14 on.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vm/memory.h"
#include "../tap.h"

#define PAGE	4096
#define SIZE	(1 << 20)

static long faults(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_minflt + r.ru_majflt;
}

static long faults_of_writing(char *p, size_t size)
{
	long before = faults();
	size_t i;

	for (i = 0; i < size; i += PAGE)
		((volatile char *)p)[i] = 1;
	return faults() - before;
}

static int dies_of(int sig, volatile char *at)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		*at = 1;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == sig;
}

static void test_stack(void)
{
	uint64_t top = wh_memory_stacks(1, SIZE, SIZE / 4);
	char *p = (char *)top;

	ok(top && top % 16 == 0, "call_stack_is_aligned");
	ok_eq(faults_of_writing(p - SIZE / 4, SIZE / 4), 0, "upper_part_of_a_stack_is_present");
	ok(dies_of(SIGSEGV, p) && dies_of(SIGSEGV, p - SIZE - 1), "stack_has_guard_pages");
	ok(!dies_of(SIGSEGV, p - SIZE), "stack_has_its_whole_size");
}

static void test_heap(void)
{
	char *p;

	ok_eq(wh_memory_heap(4 * SIZE), 0, "heap_is_reserved");
	p = malloc(2 * SIZE);
	ok(p && !faults_of_writing(p, 2 * SIZE), "reserved_heap_takes_no_fault");
	free(p);
	p = malloc(3 * SIZE);
	ok(p && !faults_of_writing(p, 3 * SIZE), "freed_heap_stays_mapped");
	free(p);
}

/* The file is in the working directory, whose file system keeps track of what is written. */
static char *map_file(void)
{
	char name[] = "memory_test.XXXXXX";
	int fd = mkstemp(name);
	char *p;

	if (fd < 0 || unlink(name) || ftruncate(fd, SIZE))
		exit(1);
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p;
}

static void test_prefault(void)
{
	const int anon = MAP_PRIVATE | MAP_ANONYMOUS;
	char *small = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, anon, -1, 0);
	char *gap = mmap(NULL, PAGE, PROT_NONE, anon, -1, 0);
	char *large = mmap(NULL, 8 * SIZE, PROT_READ | PROT_WRITE, anon, -1, 0);
	char *file = map_file();
	char *stack = (char *)wh_memory_stacks(2, SIZE, SIZE / 4) - SIZE;

	/* Neighbours become one mapping. */
	if (small == MAP_FAILED || gap == MAP_FAILED || large == MAP_FAILED || file == MAP_FAILED)
		exit(1);
	madvise(large, 8 * SIZE, MADV_NOHUGEPAGE);
	if (wh_memory_prefault(4 * SIZE) < 0) {
		skip("prefaulted_memory_takes_no_fault", "may not lock memory");
		skip("prefaulted_file_takes_no_fault", "may not lock memory");
		skip("large_mappings_are_left_alone", "may not lock memory");
		skip("depth_of_a_stack_is_left_alone", "may not lock memory");
		return;
	}
	ok_eq(faults_of_writing(small, SIZE), 0, "prefaulted_memory_takes_no_fault");
	ok_eq(faults_of_writing(file, SIZE), 0, "prefaulted_file_takes_no_fault");
	ok(faults_of_writing(large, 8 * SIZE) > 1000, "large_mappings_are_left_alone");
	ok(faults_of_writing(stack, SIZE / 2) == SIZE / 2 / PAGE, "depth_of_a_stack_is_left_alone");
}

int main(void)
{
	tap_plan(11);
	test_stack();
	test_heap();
	test_prefault();
	return tap_exit();
}
