// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that nobody of the machine keeps a VM's relay from its server (host/relay.c).
 * It has no VM: this program is the guest, QEMU's monitor and the tenant's server.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "relay.h"
#include "shm.h"
#include "tap.h"
#include "window.h"
#include "wormhole.h"

#define PART	(1u << 20)
#define NAMES	64	/* of a relay's first connections */
#define WAIT_MS	60000

void wh_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
}

static int listen_at(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	return bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 8) ? -1 : fd;
}

/* Takes a name that counts the relay's connections, as any user of the machine may. */
static void take_name(pid_t relay, unsigned int number)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, WH_SHM_BRINGS "%d/0/%u", relay,
			 number);

	bind(fd, (struct sockaddr *)&a, offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

int main(void)
{
	struct wh_relay r = { .window_size = PART, .part_size = PART, .parts = 1 };
	const struct wh_relay_ask open = { WH_RELAY_MAGIC, WH_RELAY_OPEN, WH_ABI_VERSION, 1 };
	char path[] = "/tmp/wormhole-relay-XXXXXX", socket_path[64];
	struct wh_shm_offer offer = { 0 };
	int port[2], monitor[2], server;
	struct pollfd p[2];
	unsigned int i;
	pid_t pid;

	tap_plan(2);
	r.window = memfd_create("window", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (!mkdtemp(path) || ftruncate(r.window, PART) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, port) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, monitor))
		return 1;
	snprintf(socket_path, sizeof(socket_path), "%s/s", path);
	server = listen_at(socket_path);
	r.socket = socket_path;
	r.port[0] = port[0];
	r.monitor = monitor[0];
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(wh_relay_run(&r));
	}
	for (i = 0; i < NAMES; i++)
		take_name(pid, i);
	if (write(port[1], &open, sizeof(open)) != sizeof(open))
		return 1;
	p[0] = (struct pollfd){ .fd = server, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = port[1], .events = POLLIN };
	poll(p, 2, WAIT_MS);
	ok(p[0].revents, "relay_connects_whatever_names_others_have_taken");
	ok(p[0].revents &&
	   recv(accept(server, NULL, NULL), &offer, sizeof(offer), 0) == sizeof(offer) &&
	   offer.size == PART, "and_offers_the_part");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(socket_path);
	rmdir(path);
	return tap_exit();
}
