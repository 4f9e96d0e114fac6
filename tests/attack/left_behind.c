// SPDX-License-Identifier: Apache-2.0
/*
 * A child that a worker left behind. Earlier such a child outlived its tenant, had the
 * same user as the next tenant, and read that tenant's window. `left_behind UID` becomes
 * that user and says "here". Then, at each line of its input, it says what it reaches of
 * every other process and file of the same user, and "end":
 *   memory PID	it can read the process's memory
 *   window PID	it has the window, by a descriptor of the process
 *   signal PID	it could end the process
 *   file NAME	it can read this file of /dev/shm
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shm.h"

#define LIVES	120	/* seconds; the limit of its life, whatever becomes of the test */

static bool has_user(int pid, unsigned int uid)
{
	char path[64], line[256];
	unsigned int real = ~uid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Uid: %u", &real) == 1)
			break;
	if (f)
		fclose(f);
	return real == uid;
}

/* Tries to read at the address where each worker over shm has its window. */
static bool reads_memory(int pid)
{
	char path[64], got[16];
	struct iovec to = { got, sizeof(got) }, from = { (void *)WH_SHM_PART_VA, sizeof(got) };
	bool reads = process_vm_readv(pid, &to, 1, &from, 1, 0) > 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		reads |= pread(fd, got, sizeof(got), WH_SHM_PART_VA) > 0;
		close(fd);
	}
	return reads;
}

static bool has_window(int pid)
{
	char path[64], file[384], name[256];
	struct dirent *e;
	bool found = false;
	ssize_t n;
	DIR *d;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
		n = readlink(file, name, sizeof(name) - 1);
		name[n > 0 ? n : 0] = 0;
		fd = strstr(name, "wormhole-part") ? open(file, O_RDONLY | O_CLOEXEC) : -1;
		found |= fd >= 0;
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
	return found;
}

static void try_processes(unsigned int uid)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int pid;

	while (d && (e = readdir(d))) {
		pid = atoi(e->d_name);
		if (pid <= 0 || pid == getpid() || !has_user(pid, uid))
			continue;
		if (reads_memory(pid))
			printf("memory %d\n", pid);
		if (has_window(pid))
			printf("window %d\n", pid);
		if (!kill(pid, 0))
			printf("signal %d\n", pid);
	}
	if (d)
		closedir(d);
}

static void try_files(unsigned int uid)
{
	DIR *d = opendir("/dev/shm");
	struct dirent *e;
	struct stat st;
	int fd;

	while (d && (e = readdir(d))) {
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || st.st_uid != uid)
			continue;
		fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			continue;
		printf("file %s\n", e->d_name);
		close(fd);
	}
	if (d)
		closedir(d);
}

int main(int argc, char **argv)
{
	unsigned int uid = argc == 2 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0;
	char c;

	alarm(LIVES);
	if (!uid || setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("here");
	while (read(0, &c, 1) == 1) {
		try_processes(uid);
		try_files(uid);
		puts("end");
	}
	return 0;
}
