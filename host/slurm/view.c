// SPDX-License-Identifier: Apache-2.0
/*
 * Limits what a process of a job sees of the server's folder: only server.sock, which is
 * its tenant's socket. It uses a mount namespace, made before the process becomes the
 * user's. What is mounted there is locked for processes that make further namespaces below
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slurm.h"

#define COVER	(MS_NOSUID | MS_NODEV | MS_NOEXEC)

static bool fail(char err[WS_ERROR], const char *what)
{
	snprintf(err, WS_ERROR, "%.300s: %s", what, strerror(errno));
	return false;
}

/* Mounts the socket's file by its descriptor, since the folder is covered already. */
static bool show(const char *dir, int socket, char err[WS_ERROR])
{
	char from[64], to[PATH_MAX + 16];
	int fd;

	snprintf(from, sizeof(from), "/proc/self/fd/%d", socket);
	snprintf(to, sizeof(to), "%s/server.sock", dir);
	fd = open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(err, to);
	close(fd);
	return mount(from, to, NULL, MS_BIND, NULL) ? fail(err, to) : true;
}

static bool cover(const char *dir, int socket, char err[WS_ERROR])
{
	if (mount("wormhole", dir, "tmpfs", COVER, "mode=755,size=64k"))
		return fail(err, dir);
	if (socket >= 0 && !show(dir, socket, err))
		return false;
	if (mount(NULL, dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | COVER, NULL))
		return fail(err, dir);
	return true;
}

bool ws_view(const struct ws_config *c, const struct ws_grant *g, char err[WS_ERROR])
{
	const char *dir = c->dir;
	char name[WS_NAME], path[PATH_MAX + WS_NAME + 16];
	int socket = -1;
	bool done;

	/* If there is no server on the node, there is nothing to hide. */
	if (!g->memory && access(dir, F_OK))
		return true;
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
		return fail(err, "a mount namespace");
	if (g->memory) {
		ws_tenant_name(c, g->job, name);
		snprintf(path, sizeof(path), "%s/tenants/%s.sock", dir, name);
		/*
		 * The file must be opened in the new namespace: files of another namespace
		 * cannot be mounted.
		 */
		socket = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (socket < 0)
			return fail(err, path);
	}
	done = cover(dir, socket, err);
	if (socket >= 0)
		close(socket);
	return done;
}
