// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that what a worker calls its files is never taken for its memory, when that is
 * written to swap (checkpoint/page_out.c).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checkpoint/checkpoint.h"
#include "tap.h"

#define LENGTH	200	/* characters of a folder's name */
#define NAMES	64
#define WAIT_S	20

static char folder[2 * LENGTH + 64];

static void path_of(char out[sizeof(folder) + 128], int padding)
{
	snprintf(out, sizeof(folder) + 128, "%s/%.*s0-ffffffffffffffff rw-p", folder, padding,
		 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
}

/* One of the names is where a reader of 511 characters at a time begins anew. */
static bool map_files(void)
{
	char path[sizeof(folder) + 128];
	int i, fd;

	for (i = 0; i < NAMES; i++) {
		path_of(path, i);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || ftruncate(fd, 4096) ||
		    mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
			return false;
		close(fd);
	}
	return true;
}

static void remove_files(void)
{
	char path[sizeof(folder) + 128];
	int i;

	for (i = 0; i < NAMES; i++) {
		path_of(path, i);
		unlink(path);
	}
	for (i = 0; i < 3; i++) {
		rmdir(folder);
		*strrchr(folder, '/') = 0;
	}
}

static bool make_folders(void)
{
	size_t i, n;

	strcpy(folder, "/tmp/wormhole-maps-XXXXXX");
	if (!mkdtemp(folder))
		return false;
	for (i = 0; i < 2; i++) {
		n = strlen(folder);
		folder[n] = '/';
		memset(folder + n + 1, 'a', LENGTH);
		folder[n + 1 + LENGTH] = 0;
		if (mkdir(folder, 0700))
			return false;
	}
	return true;
}

/* Does it end in time? */
static bool ends(pid_t worker)
{
	struct wh_paged sum = { 0 };
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(WAIT_S);
		wh_page_out(worker, &sum);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status);
}

int main(void)
{
	int fds[2];
	pid_t pid;
	char c;

	tap_plan(1);
	if (!make_folders() || pipe(fds))
		return 1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!map_files() || write(fds[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(fds[1]);
	ok(read(fds[0], &c, 1) == 1 && ends(pid), "names_of_files_are_no_ranges_of_memory");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	remove_files();
	return tap_exit();
}
