// SPDX-License-Identifier: Apache-2.0
/*
 * The file of a server in the background. Beyond a size the server copies it to an older one and
 * begins it anew. The file is emptied and not moved, since children of the server have it open as
 * their standard error as well, and `wormhole logs --follow` reads it.
 */
#define _GNU_SOURCE
#include "daemon/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES	(10 << 20)	/* of the file; the older one has no more, either */

static bool in_use;	/* standard error is the file */

static int open_log(const char *suffix, int flags)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/server.log%s", wh_server.dir, suffix);
	return open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

void wh_log_file(int null)
{
	int log = open_log("", O_RDWR | O_APPEND);

	if (log < 0)
		wh_say("warn", "%s/server.log: %s; messages are lost", wh_server.dir,
		       strerror(errno));
	dup2(log < 0 ? null : log, STDERR_FILENO);
	in_use = log >= 0;
	if (in_use)
		close(log);
}

void wh_log_file_taken(void)
{
	in_use = true;
}

static bool keep_copy(off_t size)
{
	int older = open_log(".1", O_WRONLY | O_TRUNC);
	off_t at = 0;
	ssize_t n = 1;
	int saved;

	if (older < 0)
		return false;
	while (at < size && n > 0)
		n = sendfile(older, STDERR_FILENO, &at, size - at);
	saved = n < 0 ? errno : 0;
	close(older);
	errno = saved;
	return n >= 0;
}

/* Without a copy the file becomes empty all the same: it may be in memory. */
void wh_log_file_bound(void)
{
	struct stat st;
	bool kept;
	int saved;

	if (!in_use || fstat(STDERR_FILENO, &st) || st.st_size < MOST_BYTES)
		return;
	kept = keep_copy(st.st_size);
	saved = errno;
	if (!ftruncate(STDERR_FILENO, 0) && !kept)
		wh_say("warn", "%s/server.log.1: %s; %lld bytes of messages are lost",
		       wh_server.dir, strerror(saved), (long long)st.st_size);
}
