// SPDX-License-Identifier: Apache-2.0
/*
 * A client VM over the transport ring: its window, a memfd, is divided into parts, and each part
 * has a port of virtio-serial. QEMU has the guest's ends, and a process beside it, the relay, has
 * the host's.
 */
#include "vm_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "relay.h"
#include "tenancy.h"
#include "window.h"
#include "wormhole.h"

static struct wh_relay relay = { .window = -1, .monitor = -1 };
static int guest_port[WH_RELAY_PARTS], guest_monitor = -1;

/* A BAR of a PCI device is a power of two. */
static uint64_t window_size(const struct wh_vm_ring *r)
{
	uint64_t size = 1;

	while (size < r->programs * r->part_size)
		size *= 2;
	return size;
}

/* Whoever maps it is safe: its size is for ever. */
static int make_window(uint64_t size)
{
	int fd = memfd_create("wormhole-window", MFD_ALLOW_SEALING);

	if (fd >= 0 && !ftruncate(fd, (off_t)size) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	wh_error("cannot make a window of %" PRIu64 " bytes: %s", size, strerror(errno));
	return -1;
}

/* The relay's end is closed by the exec of QEMU, and QEMU's end in the relay. */
static int make_pair(int *relays, int *qemus)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) || fcntl(fds[1], F_SETFD, 0)) {
		wh_error("cannot make the VM's ports: %s", strerror(errno));
		return -1;
	}
	*relays = fds[0];
	*qemus = fds[1];
	return 0;
}

static char *socket_of(const struct wh_vm_ring *r)
{
	const char *said = getenv("WORMHOLE_SOCKET");
	char *dir, *path;
	int n;

	if (!r->tenant && !r->dir && said && *said)
		return wh_must(strdup(said));
	dir = wh_server_dir(r->dir);
	n = r->tenant ? asprintf(&path, "%s/tenants/%s.sock", dir, r->tenant) :
			asprintf(&path, "%s/server.sock", dir);
	if (n < 0)
		wh_no_memory();
	free(dir);
	return path;
}

int wh_vm_ring_make(const struct wh_vm_ring *r)
{
	char *path = socket_of(r);
	unsigned int i;

	if (access(path, R_OK | W_OK)) {
		wh_error("'%s': %s; make the VM's tenant by `wormhole tenant create', or start this command by "
			 "`wormhole run --mem SIZE --'", path, strerror(errno));
		free(path);
		return -1;
	}
	relay.socket = path;
	relay.part_size = r->part_size;
	relay.parts = r->programs;
	relay.window_size = window_size(r);
	relay.window = make_window(relay.window_size);
	if (relay.window < 0 || make_pair(&relay.monitor, &guest_monitor))
		return -1;
	for (i = 0; i < relay.parts; i++)
		if (make_pair(&relay.port[i], &guest_port[i]))
			return -1;
	return 0;
}

static char *word(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		wh_no_memory();
	va_end(ap);
	return s;
}

/* What QEMU is told of each port, and how many words of it there are. */
#define EACH	4

/*
 * QEMU makes devices that are written as JSON after all others, in their order. So ours take the
 * slots that are left by a command line whose devices have addresses, such as libvirt's.
 */
char **wh_vm_ring_words(void)
{
	char **w = wh_must(calloc(10 + EACH * relay.parts + 1, sizeof(*w)));
	unsigned int i, n = 0;

	w[n++] = "-object";
	w[n++] = word("memory-backend-file,id=wormhole-window,mem-path=/proc/self/fd/%d,size=%" PRIu64
		      ",share=on", relay.window, relay.window_size);
	w[n++] = "-device";
	w[n++] = "{\"driver\":\"ivshmem-plain\",\"memdev\":\"wormhole-window\"}";
	w[n++] = "-chardev";
	w[n++] = word("socket,id=wormhole-monitor,fd=%d", guest_monitor);
	w[n++] = "-mon";
	w[n++] = "chardev=wormhole-monitor,mode=control";
	w[n++] = "-device";
	w[n++] = word("{\"driver\":\"virtio-serial-pci\",\"id\":\"wormhole-ports\",\"max_ports\":%u}",
		      relay.parts + 1);
	for (i = 0; i < relay.parts; i++) {
		w[n++] = "-chardev";
		w[n++] = word("socket,id=" WH_RELAY_CHARDEV "%u,fd=%d", i, guest_port[i]);
		w[n++] = "-device";
		/* QEMU says of devices with an id alone when the guest opens and closes them. */
		w[n++] = word("{\"driver\":\"virtserialport\",\"id\":\"" WH_RELAY_CHARDEV "port-%u\","
			      "\"bus\":\"wormhole-ports.0\",\"nr\":%u,\"chardev\":\"" WH_RELAY_CHARDEV "%u\","
			      "\"name\":\"" WH_RELAY_PORT "%u\"}", i, i + 1, i, i);
	}
	return w;
}

/* The terminal's signals are QEMU's: the relay ends with it. */
static void run_relay(void)
{
	unsigned int i;

	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	prctl(PR_SET_NAME, "wormhole-relay");
	close(guest_monitor);
	for (i = 0; i < relay.parts; i++)
		close(guest_port[i]);
	_exit(wh_relay_run(&relay));
}

/* The relay is no child of QEMU's, which waits for none. */
static bool start_relay(void)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		pid = fork();
		if (!pid)
			run_relay();
		_exit(pid < 0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

int wh_vm_ring_run(char **argv)
{
	if (!start_relay()) {
		wh_error("cannot start the VM's relay: %s", strerror(errno));
		return EXIT_FAILED;
	}
	execvp(argv[0], argv);
	wh_error("cannot run '%s': %s", argv[0], strerror(errno));
	return EXIT_FAILED;
}

/* --- Arguments ------------------------------------------------------------------------ */

enum { KEY_TENANT = 0x600, KEY_PROGRAMS, KEY_PART_SIZE };

static const struct argp_option options[] = {
	{ "tenant", KEY_TENANT, "TENANT", 0, "whose limits hold for the VM (default: that of `wormhole run', else the server's default tenant)", 1 },
	{ "programs", KEY_PROGRAMS, "N", 0, "how many programs of the VM can use the GPU at a time (default 8, at most 30)", 1 },
	{ "part-size", KEY_PART_SIZE, "SIZE", 0, "memory that each of them shares with its worker (default 64M)", 1 },
	{ 0 }
};

static void set_part_size(struct wh_vm_ring *r, const char *arg, struct argp_state *state)
{
	if (wh_parse_size(arg, &r->part_size))
		wh_usage_error(state, "--part-size: %s", wh_limit_bytes_why(arg));
	if (r->part_size < 4 << 20 || r->part_size > WH_MAX_PART_SIZE || r->part_size % (1 << 20))
		wh_usage_error(state, "--part-size: '%s' is not whole megabytes from 4M to %lluM", arg,
			       (unsigned long long)(WH_MAX_PART_SIZE >> 20));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct wh_vm_ring *r = state->input;

	switch (key) {
	case KEY_TENANT: r->tenant = arg; break;
	case KEY_PROGRAMS:
		r->programs = wh_arg_u64(state, "--programs", arg, 1, WH_RELAY_PARTS);
		break;
	case KEY_PART_SIZE: set_part_size(r, arg, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	r->said = true;
	return 0;
}

static const struct argp ring_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };
const struct argp_child wh_ring_options[] = {
	{ &ring_argp, 0, NULL, 1 }, { &wh_dir_argp, 0, NULL, 1 }, { 0 }
};

struct exec_args {
	struct wh_vm_ring ring;
	char **argv;
	int argc;
};

static error_t parse_exec(int key, char *arg, struct argp_state *state)
{
	struct exec_args *a = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->ring;
		state->child_inputs[1] = &a->ring.dir;
		return 0;
	case ARGP_KEY_ARGS:
		a->argv = state->argv + state->next;
		a->argc = state->argc - state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		wh_usage_error(state, "name the QEMU to run, with its arguments");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp exec_argp = {
	NULL, parse_exec, "[--] QEMU [ARGUMENT...]",
	"Become a QEMU whose command line is one's own, and add what a client VM over the transport ring "
	"needs: a window, ports and a monitor.", wh_ring_options, NULL, NULL
};

int wh_client_exec(int argc, char **argv)
{
	struct exec_args a = { .ring = WH_VM_RING };
	char **words, **all;
	int n = 0;

	wh_parse(&exec_argp, argc, argv, ARGP_IN_ORDER, &a);
	if (wh_vm_ring_make(&a.ring))
		return EXIT_FAILED;
	words = wh_vm_ring_words();
	while (words[n])
		n++;
	all = wh_must(calloc(a.argc + n + 1, sizeof(*all)));
	memcpy(all, a.argv, a.argc * sizeof(*all));
	memcpy(all + a.argc, words, n * sizeof(*all));
	return wh_vm_ring_run(all);
}
