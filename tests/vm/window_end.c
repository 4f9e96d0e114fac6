// SPDX-License-Identifier: Apache-2.0
/*
 * One end of a window between two VMs. `server` maps part 1 of window 0 through the
 * module, `client` the same bytes through the device's file in sysfs, both at
 * WH_WINDOW_VA. The client fills the part and asks, the server answers with a hash and
 * its own fill, the client checks it. `find` only maps the window.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "window.h"

#define PART_SIZE	0x100000UL
#define PART		1
#define WORDS		((PART_SIZE - WH_PAGE_SIZE) / sizeof(uint64_t))
#define ASKED		0x6b736153656d6f53ULL
#define ANSWERED	0x726577736e417341ULL
#define TIMEOUT_S	200

struct part {
	uint64_t state;
	uint64_t hash;
	char pad[WH_PAGE_SIZE - 2 * sizeof(uint64_t)];
	uint64_t data[WORDS];
};

static void die(const char *what)
{
	fprintf(stderr, "window_end: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct part *map_at_window_va(int fd, off_t offset, size_t size)
{
	void *p = mmap((void *)WH_WINDOW_VA, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_FIXED_NOREPLACE, fd, offset);

	if (p != (void *)WH_WINDOW_VA)
		die("mmap");
	return p;
}

static struct part *map_by_module(void)
{
	struct wh_srv_bind b = { .window = 0, .part = PART, .part_size = PART_SIZE };
	int fd = open("/dev/wormhole-server", O_RDWR);

	if (fd < 0 || ioctl(fd, WH_SRV_BIND, &b))
		die("/dev/wormhole-server");
	return map_at_window_va(fd, 0, PART_SIZE);
}

static int has_vendor(const char *resource)
{
	char path[256], id[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%.*s/vendor", (int)(strrchr(resource, '/') - resource),
		 resource);
	f = fopen(path, "r");
	if (f) {
		if (!fgets(id, sizeof(id), f))
			id[0] = 0;
		fclose(f);
	}
	return !strncmp(id, "0x1af4", 6);
}

static struct part *map_by_sysfs(off_t offset, size_t size)
{
	int fd = -1;
	size_t i;
	glob_t g;

	if (glob("/sys/bus/pci/devices/*/resource2", 0, NULL, &g))
		die("no device has a resource2");
	for (i = 0; i < g.gl_pathc && fd < 0; i++)
		if (has_vendor(g.gl_pathv[i]))
			fd = open(g.gl_pathv[i], O_RDWR);
	globfree(&g);
	if (fd < 0)
		die("resource2");
	return map_at_window_va(fd, offset, size);
}

static void fill(struct part *p, uint64_t seed)
{
	size_t i;

	for (i = 0; i < WORDS; i++)
		p->data[i] = (seed + i) * 0x9e3779b97f4a7c15ULL;
}

static uint64_t hash(const struct part *p)
{
	uint64_t h = 0xcbf29ce484222325ULL;
	size_t i;

	for (i = 0; i < WORDS; i++)
		h = (h ^ p->data[i]) * 0x100000001b3ULL;
	return h;
}

static void set_state(struct part *p, uint64_t state)
{
	__atomic_store_n(&p->state, state, __ATOMIC_RELEASE);
}

static void wait_state(struct part *p, uint64_t state)
{
	time_t end = time(NULL) + TIMEOUT_S;

	while (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != state) {
		if (time(NULL) > end) {
			errno = ETIMEDOUT;
			die("the other end");
		}
		usleep(10000);
	}
}

static int server(void)
{
	struct part *p = map_by_module();

	wait_state(p, ASKED);
	p->hash = hash(p);
	fill(p, 2);
	set_state(p, ANSWERED);
	return 0;
}

static int client(void)
{
	struct part *p = map_by_sysfs(PART * PART_SIZE, PART_SIZE);
	uint64_t mine;

	fill(p, 1);
	mine = hash(p);
	set_state(p, ASKED);
	wait_state(p, ANSWERED);
	if (p->hash != mine || p->data[7] != 9 * 0x9e3779b97f4a7c15ULL || hash(p) == mine) {
		fprintf(stderr, "window_end: the answer is wrong\n");
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "server"))
		return server();
	if (!strcmp(mode, "client"))
		return client();
	map_by_sysfs(0, WH_PAGE_SIZE)->state = ASKED;
	return 0;
}
