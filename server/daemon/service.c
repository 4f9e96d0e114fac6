// SPDX-License-Identifier: Apache-2.0
/*
 * A server that systemd runs: it tells systemd when clients can connect, and its standard error is
 * the journal. DIR/server.journal has the name of its unit, and that of its scope (front.h), by
 * which `wormhole logs` asks for its messages: the journal has them as the scope's. The file
 * outlives the server, since its last messages are those that are asked for.
 */
#define _GNU_SOURCE
#include "daemon/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* systemd names the device and the inode of the journal's socket. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == dev && st.st_ino == ino;
}

static bool write_unit(const char *path, const char *unit)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	bool done = fd >= 0 && dprintf(fd, "%s\n", unit) > 0 &&
		    (!wh_server.scope || dprintf(fd, "%s.scope\n", wh_server.scope) > 0);

	if (fd >= 0)
		close(fd);
	return done;
}

bool wh_service_journal(const char *unit, char *err, size_t err_size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/server.journal", wh_server.dir);
	unlink(path);	/* of an earlier server */
	if (!unit)
		return true;
	if (!stderr_is_journal()) {
		snprintf(err, err_size,
			 "--journal %s: standard error is not the journal; give the option in a unit of systemd, with StandardError=journal",
			 unit);
		return false;
	}
	if (!write_unit(path, unit)) {
		snprintf(err, err_size, "%s: %s", path, strerror(errno));
		return false;
	}
	wh_log_levels();
	return true;
}

void wh_service_ready(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n = path ? strlen(path) : 0;
	int fd;

	if (!n)
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (n >= sizeof(a.sun_path))
		errno = ENAMETOOLONG;
	else
		memcpy(a.sun_path, path, n);
	if (*path == '@')	/* a name that is in no folder */
		a.sun_path[0] = 0;
	if (fd < 0 || n >= sizeof(a.sun_path) ||
	    sendto(fd, "READY=1", 7, MSG_NOSIGNAL, (const struct sockaddr *)&a,
		   offsetof(struct sockaddr_un, sun_path) + n) != 7)
		wh_say("warn", "$NOTIFY_SOCKET '%s': %s; who started this server waits in vain",
		       path, strerror(errno));
	if (fd >= 0)
		close(fd);
	/* It is for this process alone. */
	unsetenv("NOTIFY_SOCKET");
}
