// SPDX-License-Identifier: Apache-2.0
/*
 * The test device's engine, a process of the VMX host on a CPU of its own:
 *
 * 	engine DISPLAY RAM
 *
 * DISPLAY is the sysfs folder of a display that no driver uses; the server VM has its
 * memory as the device's. RAM is the file that is the server VM's memory, which the
 * engine reads and writes as a device does. The engine does what a doorbell asks for,
 * until it is killed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"

#define IDLE_LOOKS	100000
#define IDLE_US		20000

static volatile char *bar;
static char *ram;
static size_t ram_size;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/*
 * The display of Bochs has its memory only in a graphics mode: 640x480, 32 bits, linear.
 * Its registers are accessed by index and data port.
 */
static void turn_on_display(void)
{
	static const uint16_t mode[][2] = { { 1, 640 }, { 2, 480 }, { 3, 32 }, { 4, 0x41 } };
	unsigned int i;

	if (ioperm(0x1ce, 4, 1))
		die("ioperm");
	for (i = 0; i < sizeof(mode) / sizeof(mode[0]); i++) {
		outw(mode[i][0], 0x1ce);
		outw(mode[i][1], 0x1cf);
	}
}

static void enable(const char *dir)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/enable", dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "1", 1) != 1)
		die(path);
	close(fd);
	turn_on_display();
}

static void *map(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
	void *p;

	if (fd < 0)
		die(path);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die(path);
	close(fd);
	return p;
}

static size_t size_of(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		die(path);
	return st.st_size;
}

static uint64_t at(size_t offset)
{
	return *(volatile uint64_t *)(bar + offset);
}

/* Returns a page of the system memory, by the driver's table. */
static char *page(unsigned int n)
{
	uint64_t gpa = at(WH_DEV_TABLE + offsetof(struct wh_dev_table, page[n]));

	if (gpa >= ram_size) {
		fprintf(stderr, "engine: page %u at %#llx is no memory\n", n,
			(unsigned long long)gpa);
		exit(1);
	}
	return ram + gpa;
}

/*
 * Runs a command. A command that is not what it should be is counted and still run, so
 * that the sum shows it.
 */
static void run(volatile struct wh_dev_status *status, uint64_t number)
{
	uint64_t entry = number % WH_DEV_ENTRIES;
	const volatile struct wh_dev_command *c = (void *)(page(1 + entry / WH_DEV_PER_PAGE) +
							   entry % WH_DEV_PER_PAGE * WH_DEV_STRIDE);

	if (c->number != number || at(WH_DEV_MEMORY + entry * 8) != number)
		status->errors++;
	status->result = (c->first ? c->start : status->result) + c->add;
	__atomic_store_n(&status->completed, number, __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
	volatile struct wh_dev_status *status;
	unsigned int idle;
	char path[300];

	if (argc != 3)
		return 2;
	ram_size = size_of(argv[2]);
	ram = map(argv[2], ram_size);
	enable(argv[1]);
	snprintf(path, sizeof(path), "%s/resource0", argv[1]);
	bar = map(path, WH_DEV_BAR_SIZE);
	*(volatile uint64_t *)(bar + WH_DEV_TABLE) = 0;
	*(volatile uint64_t *)(bar + WH_DEV_DOORBELL) = 0;
	*(volatile uint64_t *)(bar + WH_DEV_REGISTERS) = WH_DEV_MAGIC;
	puts("@engine ready");
	fflush(stdout);
	while (at(WH_DEV_TABLE) != WH_DEV_MAGIC)
		usleep(10000);
	status = (void *)page(0);
	/* An emulated machine runs faster while one of its CPUs is idle. */
	for (idle = 0;; idle++) {
		uint64_t asked = at(WH_DEV_DOORBELL), done = status->completed;

		for (; done < asked; idle = 0)
			run(status, ++done);
		if (idle > IDLE_LOOKS)
			usleep(IDLE_US);
	}
}
