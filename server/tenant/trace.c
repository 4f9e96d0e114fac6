// SPDX-License-Identifier: Apache-2.0
/* Makes and maps the memory of a trace (trace.h). */
#define _GNU_SOURCE
#include "tenant/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int format(int fd)
{
	const struct wh_trace_head h = { .magic = WH_TRACE_MAGIC, .version = WH_TRACE_VERSION,
					 .records = WH_TRACE_RECORDS };

	if (ftruncate(fd, WH_TRACE_SIZE) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ||
	    pwrite(fd, &h, sizeof(h), 0) != sizeof(h))
		return -1;
	return 0;
}

int wh_trace_create(void)
{
	int fd = memfd_create("wormhole-trace", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || !format(fd))
		return fd;
	close(fd);
	return -1;
}

struct wh_trace_head *wh_trace_map(int fd)
{
	struct wh_trace_head *h;
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	errno = EINVAL;
	if ((uint64_t)st.st_size != WH_TRACE_SIZE)
		return NULL;
	h = mmap(NULL, WH_TRACE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (h == MAP_FAILED)
		return NULL;
	if (h->magic == WH_TRACE_MAGIC && h->version == WH_TRACE_VERSION &&
	    h->records == WH_TRACE_RECORDS)
		return h;
	munmap(h, WH_TRACE_SIZE);
	errno = EINVAL;
	return NULL;
}
