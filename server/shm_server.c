// SPDX-License-Identifier: Apache-2.0
/*
 * wormhole-server: serves clients of this machine over shm. Listens on a Unix
 * socket and starts one worker process for each connection; owns the socket
 * file and nothing of what a client does. The program runs itself again as
 * the worker (--serve), so that a worker inherits no memory of this process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm.h"
#include "shm_worker.h"

#define DEFAULT_PART	(256UL << 20)

struct server {
	const char *self;	/* path of this program */
	char socket[sizeof(((struct sockaddr_un *)0)->sun_path)];
	const char *backend;
	size_t part_size;
};

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void on_child(int sig)
{
	(void)sig;	/* only to leave poll() */
}

static void usage(FILE *f)
{
	fputs("usage: wormhole-server --backend LIBRARY [--socket PATH] [--part-size BYTES]\n"
	      "Serves CUDA clients of this machine; each gets a worker process that loads LIBRARY.\n"
	      "PATH defaults to $WORMHOLE_SOCKET, $XDG_RUNTIME_DIR/" WH_SHM_SOCKET ", " WH_SHM_RUN ".\n", f);
}

/* --- The socket ------------------------------------------------------------------ */

static int default_socket(char *out, size_t size)
{
	const char *path = getenv("WORMHOLE_SOCKET"), *dir = getenv("XDG_RUNTIME_DIR");
	int n;

	if (path && *path)
		n = snprintf(out, size, "%s", path);
	else if (dir && *dir)
		n = snprintf(out, size, "%s/" WH_SHM_SOCKET, dir);
	else
		n = snprintf(out, size, WH_SHM_RUN);
	return n < (int)size;
}

static void make_folder(const char *path)
{
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return;
	*slash = 0;
	mkdir(dir, 0755);
}

/* A socket file that nobody answers is left from a server that was killed. */
static int remove_stale(const struct sockaddr_un *a)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), alive;

	alive = connect(fd, (const struct sockaddr *)a, sizeof(*a)) == 0;
	close(fd);
	if (alive) {
		fprintf(stderr, "error: %s: another server answers there\n", a->sun_path);
		return -1;
	}
	unlink(a->sun_path);
	return 0;
}

static int listen_at(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd;

	memcpy(a.sun_path, path, strlen(path) + 1);
	make_folder(path);
	if (remove_stale(&a))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(fd, 64) == 0)
		return fd;
	fprintf(stderr, "error: %s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* --- Workers ---------------------------------------------------------------------- */

static void start_worker(const struct server *s, int conn)
{
	char fd[16], size[32];
	pid_t pid;

	snprintf(size, sizeof(size), "%zu", s->part_size);
	pid = fork();
	if (pid < 0) {
		fprintf(stderr, "warn: no worker for a client: %s\n", strerror(errno));
		return;
	}
	if (pid)
		return;
	/* Only the connection passes the exec; everything else is close-on-exec. */
	conn = fcntl(conn, F_DUPFD, 3);
	snprintf(fd, sizeof(fd), "%d", conn);
	execl(s->self, "wormhole-worker-shm", "--serve", fd, "--backend", s->backend,
	      "--part-size", size, (char *)NULL);
	fprintf(stderr, "error: %s: %s\n", s->self, strerror(errno));
	_exit(1);
}

static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (WIFSIGNALED(status))
			fprintf(stderr, "warn: worker %d: killed by signal %d; its client is cut off\n",
				pid, WTERMSIG(status));
}

static void accept_one(const struct server *s, int fd)
{
	int conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	if (conn < 0)
		return;
	start_worker(s, conn);
	close(conn);
}

/* Children that end or a signal to stop leave poll() early; both are looked at. */
static int serve(const struct server *s)
{
	struct pollfd p = { .events = POLLIN };

	p.fd = listen_at(s->socket);
	if (p.fd < 0)
		return 1;
	printf("wormhole-server: listening on %s\n", s->socket);
	fflush(stdout);
	while (!stop) {
		reap();
		if (poll(&p, 1, 1000) > 0)
			accept_one(s, p.fd);
	}
	unlink(s->socket);
	close(p.fd);
	return 0;
}

/* --- Command line ------------------------------------------------------------------- */

static int take_size(const char *text, size_t *out)
{
	char *end;
	unsigned long long v = strtoull(text, &end, 0);

	if (*end == 'M' && !end[1])
		v <<= 20;
	else if (*end)
		return 0;
	*out = (v + 4095) & ~4095ULL;
	return v >= 1 << 20;
}

static void set_signals(void)
{
	struct sigaction stop_action = { .sa_handler = on_signal };
	struct sigaction child_action = { .sa_handler = on_child };

	sigaction(SIGTERM, &stop_action, NULL);
	sigaction(SIGINT, &stop_action, NULL);
	sigaction(SIGCHLD, &child_action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "backend", required_argument, NULL, 'b' },
		{ "part-size", required_argument, NULL, 'p' },
		{ "serve", required_argument, NULL, 'w' },
		/* Of --serve only: what the server hands to a worker of a tenant. */
		{ "tenant-limits", required_argument, NULL, 'L' },
		{ "tenant-usage", required_argument, NULL, 'U' },
		{ "tenant-leases", required_argument, NULL, 'D' },
		{ "tenant-slot", required_argument, NULL, 'S' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct server s = { .self = "/proc/self/exe", .part_size = DEFAULT_PART };
	struct wh_tenant_files tenant = WH_NO_TENANT;
	int c, conn = -1;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			if (snprintf(s.socket, sizeof(s.socket), "%s", optarg) >= (int)sizeof(s.socket)) {
				fprintf(stderr, "error: --socket: path is too long\n");
				return 2;
			}
			break;
		case 'b':
			s.backend = optarg;
			break;
		case 'p':
			if (!take_size(optarg, &s.part_size)) {
				fprintf(stderr, "error: --part-size: %s: not a size (at least 1M)\n", optarg);
				return 2;
			}
			break;
		case 'w':
			conn = atoi(optarg);
			break;
		case 'L':
			tenant.limits = atoi(optarg);
			break;
		case 'U':
			tenant.usage = atoi(optarg);
			break;
		case 'D':
			tenant.leases = atoi(optarg);
			break;
		case 'S':
			tenant.slot = atoi(optarg);
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (!s.backend || optind != argc) {
		usage(stderr);
		return 2;
	}
	if (conn >= 0)
		return wh_shm_serve(conn, s.backend, s.part_size, &tenant);
	if (!s.socket[0] && !default_socket(s.socket, sizeof(s.socket))) {
		fprintf(stderr, "error: the socket's path is too long\n");
		return 2;
	}
	set_signals();
	return serve(&s);
}
