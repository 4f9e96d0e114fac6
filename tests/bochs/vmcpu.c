// SPDX-License-Identifier: Apache-2.0
/*
 * Prints the CPU time that the vCPU threads of a QEMU have used, in nanoseconds, from
 * their schedstat files. `vmcpu PID` prints it at once. `vmcpu PID FILE OFFSET SECONDS
 * TEXT...` first waits until FILE holds one of the texts behind the offset, because a
 * shell would look too late and count what came after. With WH_SAY=INPUT the program
 * starts what it waits for by a line "go" to INPUT, and looks seldom. Thus nothing but
 * the VMs takes the host's CPUs meanwhile, as a shell between the two would do. QEMU must
 * run with debug-threads=on.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_VCPUS	64
#define POLL_NS		2000000
#define SELDOM_NS	20000000

static int vcpus[MAX_VCPUS];
static int nvcpus;

static void read_file(int fd, char *buf, size_t size, off_t at)
{
	ssize_t n = pread(fd, buf, size - 1, at);

	buf[n > 0 ? n : 0] = 0;
}

static int open_task(const char *pid, const char *tid, const char *name)
{
	char path[320];

	snprintf(path, sizeof(path), "/proc/%s/task/%s/%s", pid, tid, name);
	return open(path, O_RDONLY);
}

static void add_if_vcpu(const char *pid, const char *tid)
{
	int fd = open_task(pid, tid, "comm");
	char comm[32];

	if (fd < 0)
		return;
	read_file(fd, comm, sizeof(comm), 0);
	close(fd);
	if (strncmp(comm, "CPU ", 4) || !strstr(comm, "/KVM") || nvcpus == MAX_VCPUS)
		return;
	fd = open_task(pid, tid, "schedstat");
	if (fd >= 0)
		vcpus[nvcpus++] = fd;
}

static int find_vcpus(const char *pid)
{
	struct dirent *e;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			add_if_vcpu(pid, e->d_name);
	if (d)
		closedir(d);
	return nvcpus;
}

static unsigned long long used(void)
{
	unsigned long long sum = 0;
	char line[128];
	int i;

	for (i = 0; i < nvcpus; i++) {
		read_file(vcpus[i], line, sizeof(line), 0);
		sum += strtoull(line, NULL, 10);
	}
	return sum;
}

static int holds_any(const char *buf, char **texts)
{
	for (; *texts; texts++)
		if (strstr(buf, *texts))
			return 1;
	return 0;
}

/* Returns 0 also if there is nothing to say. */
static int say_go(const char *path)
{
	int fd = path ? open(path, O_WRONLY) : -1;

	if (path && (fd < 0 || write(fd, "go\n", 3) != 3))
		perror(path);
	if (fd >= 0)
		close(fd);
	return !!path;
}

static int wait_for(const char *path, off_t offset, long seconds, char **texts)
{
	const struct timespec nap = { 0, say_go(getenv("WH_SAY")) ? SELDOM_NS : POLL_NS };
	time_t end = time(NULL) + seconds;
	int fd = open(path, O_RDONLY);
	static char buf[1 << 16];

	while (fd >= 0 && time(NULL) <= end) {
		nanosleep(&nap, NULL);
		read_file(fd, buf, sizeof(buf), offset);
		if (holds_any(buf, texts))
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if ((argc != 2 && argc < 6) || !find_vcpus(argv[1])) {
		fprintf(stderr, "vmcpu: usage: vmcpu PID [FILE OFFSET SECONDS TEXT...]; "
			"PID is a QEMU with debug-threads=on\n");
		return 2;
	}
	if (argc > 2 && !wait_for(argv[2], atol(argv[3]), atol(argv[4]), argv + 5))
		return 1;
	printf("%llu\n", used());
	return 0;
}
