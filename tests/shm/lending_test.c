// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises what a client may lend its worker: a file of memory that it could open itself,
 * named by one of its own descriptors, and by itself. It says so in the words of shm.h.
 */
#define _GNU_SOURCE
#include "driver_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "shm.h"

static void bail(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

static int dial(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX }, to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), n;
	static unsigned int count;

	n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, WH_SHM_LENDS "%d/%u", getpid(),
		     count++);
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", getenv("WORMHOLE_SOCKET"));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a,
			   offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)))
		bail("a connection");
	return fd;
}

static int hear(int conn, struct wh_shm_lend_answer *a)
{
	if (recv(conn, a, sizeof(*a), 0) != sizeof(*a) || a->magic != WH_SHM_MAGIC)
		return -1;
	return (int)a->status;
}

/* Connects until the process of the loan before has ended. */
static int meet(struct wh_shm_lend_answer *a)
{
	int conn = dial(), rc;

	while ((rc = hear(conn, a)) == WH_SHM_LENT_BUSY) {
		close(conn);
		conn = dial();
	}
	if (!rc)
		return conn;
	close(conn);
	return -1;
}

static struct wh_shm_lend request(const struct wh_shm_lend_answer *a, int fd)
{
	struct wh_shm_lend q = { .magic = WH_SHM_MAGIC, .number = 1000, .file = fd };
	struct stat st = { 0 };

	fstat(fd, &st);
	q.inode = st.st_ino;
	memcpy(q.secret, a->secret, sizeof(q.secret));
	return q;
}

/* Lends a descriptor, which is closed. */
static int lend(int fd)
{
	struct wh_shm_lend_answer a;
	struct wh_shm_lend q;
	int conn = meet(&a), rc = -1;

	if (conn >= 0) {
		q = request(&a, fd);
		rc = send(conn, &q, sizeof(q), 0) == sizeof(q) ? hear(conn, &a) : -1;
		close(conn);
	}
	close(fd);
	return rc;
}

static int memory(void)
{
	int fd = memfd_create("lent", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 4096))
		bail("a memfd");
	return fd;
}

static int on_tmpfs(mode_t mode)
{
	char name[] = "/dev/shm/wormhole-lending-XXXXXX";
	int fd = mkstemp(name);

	if (fd < 0 || ftruncate(fd, 4096) || fchmod(fd, mode))
		bail(name);
	unlink(name);
	return fd;
}

static void test_files(void)
{
	int ends[2], fd;

	ok_eq(lend(memory()), WH_SHM_LENT, "a_memfd_is_lent");
	ok_eq(lend(on_tmpfs(0600)), WH_SHM_LENT, "a_file_on_tmpfs_is_lent");
	ok_eq(lend(open("/proc/self/exe", O_RDONLY)), WH_SHM_LENT_NO_MEMORY,
	      "a_file_on_a_disk_is_not");
	ok_eq(lend(open("/proc/self/maps", O_RDONLY)), WH_SHM_LENT_NO_MEMORY,
	      "nor_one_of_the_kernels");
	ok_eq(lend(open("/dev/shm", O_RDONLY)), WH_SHM_LENT_NO_MEMORY, "nor_a_folder");
	if (pipe(ends))
		bail("a pipe");
	ok_eq(lend(ends[0]), WH_SHM_LENT_NO_MEMORY, "nor_a_pipe");
	ok_eq(lend(socket(AF_UNIX, SOCK_STREAM, 0)), WH_SHM_LENT_NO_MEMORY, "nor_a_socket");
	ok_eq(lend(-1), WH_SHM_LENT_NOBODY, "nor_what_is_not_open");
	fd = on_tmpfs(0400);
	if (geteuid()) {
		ok_eq(lend(fd), WH_SHM_LENT_NO_RIGHT, "nor_what_the_user_may_not_write");
	} else {
		/* Root has it open for writing by a capability alone. */
		if (fchown(fd, 65534, 65534) || fchmod(fd, 0600))
			bail("another user's file");
		ok_eq(lend(fd), WH_SHM_LENT_NO_RIGHT, "nor_what_the_user_may_not_write");
	}
}

/* Sends what `change` makes of a good request. */
static int lend_changed(void (*change)(struct wh_shm_lend *q))
{
	struct wh_shm_lend_answer a;
	int conn = meet(&a), fd = memory(), rc;
	struct wh_shm_lend q;

	if (conn < 0)
		bail("no helper");
	q = request(&a, fd);
	change(&q);
	rc = send(conn, &q, sizeof(q), 0) == sizeof(q) ? hear(conn, &a) : -1;
	close(conn);
	close(fd);
	return rc;
}

static void other_secret(struct wh_shm_lend *q)
{
	q->secret[1] ^= 1;
}

static void other_inode(struct wh_shm_lend *q)
{
	q->inode++;
}

static void other_magic(struct wh_shm_lend *q)
{
	q->magic++;
}

/* A child that has the connection sends in its parent's name. */
static int lend_by_child(void)
{
	struct wh_shm_lend_answer a;
	int conn = meet(&a), fd = memory(), rc;
	struct wh_shm_lend q;
	pid_t child;

	if (conn < 0)
		bail("no helper");
	q = request(&a, fd);
	child = fork();
	if (!child)
		_exit(send(conn, &q, sizeof(q), 0) != sizeof(q));
	waitpid(child, NULL, 0);
	rc = hear(conn, &a);
	close(conn);
	close(fd);
	return rc;
}

static void test_senders(void)
{
	struct wh_shm_lend_answer a;
	pid_t child = fork();
	int conn, status = 0;

	if (!child)
		_exit(hear(dial(), &a));
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == WH_SHM_LENT_NOBODY,
	   "a_process_without_a_worker_lends_nothing");
	ok_eq(lend_changed(other_secret), WH_SHM_LENT_NOBODY, "nor_one_that_says_another_secret");
	ok_eq(lend_changed(other_magic), WH_SHM_LENT_NOBODY, "nor_one_that_says_other_words");
	ok_eq(lend_changed(other_inode), WH_SHM_LENT_NOBODY,
	      "a_descriptor_of_another_file_is_not_lent");
	ok_eq(lend_by_child(), WH_SHM_LENT_NOBODY, "nor_is_one_by_another_process");
	conn = meet(&a);
	ok(conn >= 0 && hear(dial(), &a) == WH_SHM_LENT_BUSY, "one_at_a_time_is_lent");
	close(conn);
	ok_eq(lend(memory()), WH_SHM_LENT, "one_that_hangs_up_is_soon_forgotten");
}

static void test_many(void)
{
	CUdeviceptr p;
	int i, rc = 0;

	/* Nobody asks for these. The worker's socket is full at some time. */
	for (i = 0; i < 100000 && rc == WH_SHM_LENT; i++)
		rc = lend(memory());
	ok(rc == WH_SHM_LENT_NOBODY || i == 100000, "files_that_nobody_asks_for_are_refused");
	ok(!cuMemAlloc(&p, 4096) && !cuMemFree(p), "and_the_worker_serves");
}

int main(void)
{
	tap_plan(18);
	begin();
	test_files();
	test_senders();
	test_many();
	return tap_exit();
}
