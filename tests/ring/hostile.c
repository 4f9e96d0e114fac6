// SPDX-License-Identifier: Apache-2.0
/*
 * A hostile guest of the transport ring: with all rights of its kernel it writes random messages to
 * a port of its own, and random words into the whole window. Arguments: a seed and a number of
 * messages. It prints "done" at the end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring.h"
#include "random.h"
#include "window.h"

static uint8_t *window;
static size_t window_size;

static int map_window(void)
{
	struct stat st;
	glob_t g;
	size_t i;
	int fd;

	if (glob("/sys/bus/pci/devices/*/resource2", 0, NULL, &g))
		return -1;
	for (i = 0; i < g.gl_pathc; i++) {
		fd = open(g.gl_pathv[i], O_RDWR);
		if (fd < 0 || fstat(fd, &st) || (uint64_t)st.st_size < WH_MIN_WINDOW_SIZE)
			continue;
		window_size = st.st_size;
		window = mmap(NULL, window_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (window != MAP_FAILED)
			return 0;
	}
	return -1;
}

/* The control page, the slots' pages and the messages of a part are where a word does most. */
static void spoil(void)
{
	size_t area = any(4) ? 2u << 20 : window_size, at = any(area) / 4 * 4;
	uint32_t value = any(2) ? (uint32_t)random_next() : (uint32_t)any(64);

	memcpy(window + at, &value, sizeof(value));
}

static void send_one(int port)
{
	struct wh_relay_ask a = {
		any(8) ? WH_RELAY_MAGIC : (uint32_t)random_next(),
		(uint32_t)any(7), any(4) ? (uint32_t)any(20) : (uint32_t)random_next(),
		(uint32_t)any(3),
	};
	struct pollfd p = { .fd = port, .events = POLLIN | POLLOUT };
	char ignored[4096];
	size_t size = any(16) ? sizeof(a) : any(sizeof(a));

	if (a.kind == WH_RELAY_OPEN && any(8))
		a.slot = WH_ABI_VERSION;
	if (poll(&p, 1, 1000) > 0 && p.revents & POLLIN && any(8) &&
	    read(port, ignored, sizeof(ignored)) < 0)
		exit(2);
	if (p.revents & POLLOUT && size && write(port, &a, size) < 0)
		exit(2);
}

int main(int argc, char **argv)
{
	long i, n = argc > 2 ? atol(argv[2]) : 1000;
	int port = open(argc > 3 ? argv[3] : "/dev/vport0p1", O_RDWR | O_NONBLOCK);

	if (port < 0 || map_window()) {
		perror("hostile");
		return 1;
	}
	random_state = (argc > 1 ? strtoull(argv[1], NULL, 0) : 1) | 1;
	for (i = 0; i < n; i++) {
		send_one(port);
		spoil();
	}
	puts("done");
	return 0;
}
