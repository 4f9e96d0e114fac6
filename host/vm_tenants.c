// SPDX-License-Identifier: Apache-2.0
/*
 * Windows of server VMs as tenants. They are asked of the supervisor in the VM, through the
 * socket that QEMU has for its port (tenant/channel.h). The answer comes from a VM and is
 * not trusted: its figures are only shown, their size is bounded here, and the names are
 * chosen here.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "tenant/channel.h"
#include "tenant/clock.h"
#include "views.h"

#define PATIENCE_S	20	/* for a command about one VM: a busy machine is slow */
#define GLANCE_S	1	/* for each VM, if a command looks at all of them */
#define MOST_PATIENCE_S	3600
#define QUIET_MS	2000	/* a user at a terminal accepts such a delay */
#define MAX_VMS		512
#define MOST_GARBAGE	(2 * WH_CHANNEL_MOST)	/* bytes of an answer that nobody waited for */

struct answer {
	char *bytes;		/* the answer without its head; NULL: none came */
	uint32_t size;
	char why[WH_CHANNEL_TEXT + 1];	/* not empty: there is no answer, or a refusal */
};

/* --- Patience ------------------------------------------------------------------------ */

/* How long a command waits, and when it tells the user about it (in time of wh_now_ms()). */
struct patience {
	unsigned int seconds;
	int64_t deadline, tell;
	const char *name;	/* the name of the VM or window */
};

static unsigned int said_seconds;	/* from --timeout; 0: not given */

static const struct argp_option timeout_options[] = {
	{ "timeout", 't', "SECONDS", 0, "how long a server VM is waited for (default: 20 for one that is named, else 1)", 0 },
	{ 0 }
};

static error_t parse_timeout(int key, char *arg, struct argp_state *state)
{
	if (key != 't')
		return ARGP_ERR_UNKNOWN;
	said_seconds = (unsigned int)wh_arg_u64(state, "--timeout", arg, 1, MOST_PATIENCE_S);
	return 0;
}

const struct argp wh_timeout_argp = {
	timeout_options, parse_timeout, NULL, NULL, NULL, NULL, NULL
};

/* @name is NULL if the user is not told. */
static struct patience patience(unsigned int seconds, const char *name)
{
	struct patience p = { .seconds = said_seconds ? said_seconds : seconds, .name = name };
	int64_t now = wh_now_ms();

	p.deadline = now + p.seconds * 1000;
	p.tell = name && isatty(STDERR_FILENO) ? now + QUIET_MS : INT64_MAX;
	return p;
}

/* Waits for data. Returns false if nothing came in time. */
static bool comes(int fd, struct patience *p)
{
	struct pollfd f = { .fd = fd, .events = POLLIN };
	int64_t now, until;
	int rc = 0;

	while (!rc) {
		now = wh_now_ms();
		if (now >= p->deadline)
			return false;
		if (now >= p->tell) {
			wh_info("%s: the server VM is busy; it is waited for, %u s at most", p->name,
				p->seconds);
			p->tell = INT64_MAX;
		}
		until = p->tell < p->deadline ? p->tell : p->deadline;
		rc = poll(&f, 1, (int)(until - now));
	}
	return rc == 1;
}

/* --- One request -------------------------------------------------------------------- */

static int open_channel(uint64_t id, const struct patience *p, char *why, size_t size)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int64_t left = p->deadline - wh_now_ms();
	/* A timeout of 0 would mean to wait for ever. */
	struct timeval wait = { left > 0 ? left / 1000 : 0, left > 0 ? left % 1000 * 1000 : 1 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	wh_registry_channel(id, a.sun_path, sizeof(a.sun_path));
	/* Another command may use the socket: QEMU serves one connection at a time. */
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&a, sizeof(a)))
		return fd;
	snprintf(why, size, "%s: %s%s", a.sun_path, strerror(errno), errno == ENOENT ?
		 "; a VM of `wormhole server start' or `wormhole xml server' has it" : "");
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Returns false if not all of it came in time. */
static bool read_whole(int fd, char *to, size_t size, struct patience *p)
{
	ssize_t n;

	while (size) {
		if (!comes(fd, p))
			return false;
		n = read(fd, to, size);
		if (n <= 0)
			return false;
		to += n;
		size -= (size_t)n;
	}
	return true;
}

/*
 * Finds the head of the answer. The rest of an older answer may come first, if another
 * command did not wait for it.
 */
static bool find_head(int fd, const struct wh_channel_head *asked, struct wh_channel_head *h,
		      struct patience *p)
{
	size_t garbage = 0;

	if (!read_whole(fd, (char *)h, sizeof(*h), p))
		return false;
	while (h->magic != WH_CHANNEL_MAGIC || h->nonce != asked->nonce) {
		if (++garbage > MOST_GARBAGE)
			return false;
		memmove(h, (char *)h + 1, sizeof(*h) - 1);
		if (!read_whole(fd, (char *)h + sizeof(*h) - 1, 1, p))
			return false;
	}
	return h->what == (asked->what | WH_CHANNEL_ANSWER) && h->size <= WH_CHANNEL_MOST;
}

/* A reason is shown on a terminal, so other characters become question marks. */
static void take_text(const char *bytes, size_t size, char out[WH_CHANNEL_TEXT + 1])
{
	size_t n = size < WH_CHANNEL_TEXT ? size : WH_CHANNEL_TEXT, i;

	for (i = 0; i < n; i++)
		out[i] = bytes[i] < ' ' || bytes[i] > '~' ? '?' : bytes[i];
	out[n] = 0;
	if (!n)
		strcpy(out, "the server VM refused without a reason");
}

/* The supervisor is silent. It may also have ended. */
static void silent(const struct patience *p, char *why, size_t size)
{
	int n = snprintf(why, size, "the supervisor in the server VM does not answer");

	if (wh_now_ms() >= p->deadline)
		snprintf(why + n, size - n, " within %u s", p->seconds);
}

static void exchange(int fd, const struct wh_channel_head *asked, const void *what,
		     struct patience *p, struct answer *a)
{
	char out[sizeof(*asked) + sizeof(struct wh_channel_limit)];
	struct wh_channel_head h;

	memcpy(out, asked, sizeof(*asked));
	memcpy(out + sizeof(*asked), what, asked->size);
	if (send(fd, out, sizeof(*asked) + asked->size, MSG_NOSIGNAL) < 0 ||
	    !find_head(fd, asked, &h, p)) {
		silent(p, a->why, sizeof(a->why));
		return;
	}
	a->bytes = wh_must(malloc(h.size + 1));
	a->size = h.size;
	if (!read_whole(fd, a->bytes, h.size, p))
		strcpy(a->why, "the answer of the server VM breaks off");
	else if (h.refused)
		take_text(a->bytes, a->size, a->why);
	else if (h.version != WH_CHANNEL_VERSION)
		strcpy(a->why, "the server VM is of another release of Wormhole");
}

/* If there is an answer, a->why is empty. */
static void ask(uint64_t id, enum wh_channel_what kind, const void *what, uint32_t size,
		struct patience *p, struct answer *a)
{
	struct wh_channel_head h = {
		.magic = WH_CHANNEL_MAGIC, .version = WH_CHANNEL_VERSION, .what = kind,
		.size = size,
	};
	int fd;

	*a = (struct answer){ .bytes = NULL };
	if (getrandom(&h.nonce, sizeof(h.nonce), 0) != sizeof(h.nonce))
		h.nonce = wh_now_ns();
	fd = open_channel(id, p, a->why, sizeof(a->why));
	if (fd < 0)
		return;
	exchange(fd, &h, what, p, a);
	close(fd);
}

/* --- Looks -------------------------------------------------------------------------- */

/* Returns the part of an answer at *at, if it is complete. */
static const void *part(const struct answer *a, size_t *at, size_t size)
{
	const void *p = a->bytes + *at;

	if (a->size - *at < size)
		return NULL;
	*at += size;
	return p;
}

static bool take_window(const struct answer *a, size_t *at, const struct wh_vm *vm,
			unsigned int window, struct wh_tenant_view *v)
{
	const void *p = part(a, at, sizeof(struct wh_channel_window));
	struct wh_channel_window w;
	size_t size;

	if (!p)
		return false;
	memcpy(&w, p, sizeof(w));
	if (w.workers > WH_TENANT_WORKERS || w.limits.devices > WH_TENANT_DEVICES)
		return false;
	size = w.workers * sizeof(struct wh_worker_usage);
	p = part(a, at, size);
	if (!p)
		return false;
	*v = (struct wh_tenant_view){
		.limits = w.limits, .sum = w.sum, .workers = w.workers, .at_ns = wh_now_ns(),
		.cpu_ns = w.cpu_ns, .cpu_known = true, .vm = vm->id, .window = window,
	};
	memcpy(v->worker, p, size);
	wh_view_suspended(v);
	snprintf(v->limits.name, sizeof(v->limits.name), "%" PRIu64 "/window%u", vm->id, window);
	/* A later VM may have the same number, so the process id is part of the tenant's id. */
	v->limits.tenant_id = (uint64_t)vm->pid << 32 | window;
	return true;
}

static uint32_t windows_of(const struct answer *a, size_t *at)
{
	const struct wh_channel_look *l = part(a, at, sizeof(*l));

	return l && l->windows <= WH_CHANNEL_WINDOWS ? l->windows : 0;
}

/* Reads all windows of a VM, or the window @wanted (-1: all). Returns their number, or -1. */
static int look(const struct wh_vm *vm, int wanted, struct patience *p,
		struct wh_tenant_view *out, int room, char *why, size_t why_size)
{
	uint32_t windows, i;
	struct answer a;
	size_t at = 0;
	int n = 0;

	ask(vm->id, WH_CHANNEL_LOOK, NULL, 0, p, &a);
	snprintf(why, why_size, "%s", a.why);
	windows = a.why[0] ? 0 : windows_of(&a, &at);
	for (i = 0; i < windows && n < room && !why[0]; i++) {
		if (!take_window(&a, &at, vm, i, &out[n]))
			snprintf(why, why_size, "the answer of the server VM makes no sense");
		else if (wanted < 0 || wanted == (int)i)
			n++;
	}
	free(a.bytes);
	if (!why[0] && wanted >= 0 && !n)
		snprintf(why, why_size, "there is no window %d, but %u of them", wanted, windows);
	return why[0] ? -1 : n;
}

bool wh_is_window(const char *name)
{
	return *name >= '0' && *name <= '9';
}

bool wh_refuse_window(const char *name, const char *what)
{
	if (!wh_is_window(name))
		return false;
	wh_error("%s: a window of a server VM cannot be %s: it lasts as long as its VM, and `wormhole limit %s' changes what it gets",
		 name, what, name);
	return true;
}

bool wh_vm_window(const char *name, uint64_t *id, int *window)
{
	const char *slash = strchr(name, '/'), *number;
	char digits[24];
	uint64_t w;

	if (!wh_is_window(name))
		return false;
	snprintf(digits, sizeof(digits), "%.*s", slash ? (int)(slash - name) : 23, name);
	*window = -1;
	if (wh_parse_u64(digits, 1, UINT64_MAX, id))
		return false;
	if (!slash)
		return true;
	number = strncmp(slash + 1, "window", 6) ? slash + 1 : slash + 7;
	if (wh_parse_u64(number, 0, WH_CHANNEL_WINDOWS - 1, &w))
		return false;
	*window = (int)w;
	return true;
}

int wh_vm_tenants_named(const char *name, struct wh_tenant_view *out, int room)
{
	struct patience p = patience(PATIENCE_S, name);
	char why[WH_CHANNEL_TEXT + 1];
	struct wh_vm vm;
	uint64_t id;
	int window, n;

	if (!wh_vm_window(name, &id, &window)) {
		wh_error("'%s' is no window such as 1/window0", name);
		return -1;
	}
	if (!wh_registry_find(id, &vm)) {
		wh_error("VM %" PRIu64 ": `wormhole' has not started it, or it has ended", id);
		return -1;
	}
	n = look(&vm, window, &p, out, room, why, sizeof(why));
	if (n < 0)
		wh_error("%s: %s", name, why);
	return n;
}

int wh_vm_windows(const struct wh_vm *vm, unsigned int *workers, char *why, size_t size)
{
	struct wh_tenant_view *v = wh_must(calloc(WH_CHANNEL_WINDOWS, sizeof(*v)));
	struct patience p = patience(GLANCE_S, NULL);
	int n = look(vm, -1, &p, v, WH_CHANNEL_WINDOWS, why, size), i;

	*workers = 0;
	for (i = 0; i < n; i++)
		*workers += v[i].workers;
	free(v);
	return n;
}

/* A VM without a channel has no windows to show. A VM that does not answer is reported. */
int wh_vm_tenants_all(struct wh_tenant_view *out, int room)
{
	static struct wh_vm vms[MAX_VMS];
	int n = wh_registry_list(vms, MAX_VMS), i, got, all = 0;
	char why[WH_CHANNEL_TEXT + 1], path[108];
	struct patience p;

	for (i = 0; i < n; i++) {
		wh_registry_channel(vms[i].id, path, sizeof(path));
		if (vms[i].role != WH_ROLE_SERVER || access(path, F_OK))
			continue;
		p = patience(GLANCE_S, NULL);
		got = look(&vms[i], -1, &p, out + all, room - all, why, sizeof(why));
		if (got < 0)
			wh_warn("VM %" PRIu64 ": %s", vms[i].id, why);
		all += got < 0 ? 0 : got;
	}
	return all;
}

/* --- Limits ------------------------------------------------------------------------- */

/* Finds the only window of a VM that was named without a window. Returns -1 after a message. */
static int only_window(const char *name, uint64_t id, struct patience *p)
{
	struct answer a;
	uint32_t windows;
	size_t at = 0;

	ask(id, WH_CHANNEL_LOOK, NULL, 0, p, &a);
	windows = a.why[0] ? 0 : windows_of(&a, &at);
	free(a.bytes);
	if (windows == 1)
		return 0;
	if (a.why[0])
		wh_error("VM %s: %s", name, a.why);
	else if (!windows)
		wh_error("VM %s has no windows that are tenants", name);
	else
		wh_error("VM %s has %u windows: name one, such as %s/window0", name, windows, name);
	return -1;
}

/* Finds the window that is named so, *window -1 for a VM. False after a message. */
static bool find_window(const char *name, uint64_t *id, int *window)
{
	if (wh_vm_window(name, id, window))
		return true;
	wh_error("'%s' is neither a tenant nor a window such as 1/window0", name);
	return false;
}

static void fill(struct wh_channel_limit *l, const struct wh_limit_list *list)
{
	const struct wh_limit_spec *s;
	int i;

	for (i = 0; i < list->n; i++) {
		s = &list->spec[i];
		l->spec[i].device = s->device;
		l->spec[i].has = (s->has_memory ? WH_CHANNEL_MEMORY : 0) |
				 (s->has_sm ? WH_CHANNEL_SM : 0) |
				 (s->has_policy ? WH_CHANNEL_POLICY : 0) |
				 (s->has_max ? WH_CHANNEL_MAX : 0) |
				 (s->has_class ? WH_CHANNEL_CLASS : 0) |
				 (s->memory_percent ? WH_CHANNEL_PERCENT : 0);
		l->spec[i].memory = s->memory_percent ? s->memory_percent : s->memory;
		l->spec[i].sm_percent = s->sm_percent;
		l->spec[i].sm_policy = s->sm_policy;
		l->spec[i].sm_max = s->sm_max;
		l->spec[i].sm_class = s->sm_class;
	}
	l->n = (uint32_t)list->n;
}

int wh_vm_limit(const char *name, const struct wh_limit_list *list)
{
	struct patience p = patience(PATIENCE_S, name);
	struct wh_channel_limit l = { .n = 0 };
	struct answer a;
	uint64_t id;
	int window;

	if (!find_window(name, &id, &window))
		return EXIT_FAILED;
	if (list->has_host || list->has_kernel || list->nccl) {
		wh_error("a window has neither --host-mem, --max-kernel nor --nccl: its memory is its parts', a kernel of it has the default, and workers of a server VM make no sockets");
		return EXIT_FAILED;
	}
	if (list->counters) {
		wh_error("a window has no --counters: workers of a server VM count nothing");
		return EXIT_FAILED;
	}
	if (window < 0)
		window = only_window(name, id, &p);
	if (window < 0)
		return EXIT_FAILED;
	fill(&l, list);
	l.window = (uint32_t)window;
	ask(id, WH_CHANNEL_LIMIT, &l, sizeof(l), &p, &a);
	free(a.bytes);
	if (!a.why[0])
		return EXIT_DONE;
	wh_error("%s: %s", name, a.why);
	return EXIT_FAILED;
}

/* --- Suspensions -------------------------------------------------------------------- */

#define LOOK_MS	100	/* between two questions whether it is over */

/* A question that answers with how it stands with a window. False with a reason in a->why. */
static bool ask_suspended(uint64_t id, const char *name, enum wh_channel_what kind,
			  const void *what, uint32_t size, struct wh_channel_suspended *s,
			  struct answer *a)
{
	struct patience p = patience(PATIENCE_S, name);
	size_t at = 0;
	const void *found;

	ask(id, kind, what, size, &p, a);
	found = a->why[0] ? NULL : part(a, &at, sizeof(*s));
	if (found)
		memcpy(s, found, sizeof(*s));
	else if (!a->why[0])
		strcpy(a->why, "the answer of the server VM makes no sense");
	free(a->bytes);
	a->bytes = NULL;
	return found;
}

/*
 * Waits as long as the driver in the VM takes, and says how it went: a VM that answers and never
 * gets to an end is for its administrator to judge.
 */
static int await_settled(uint64_t id, const char *name, uint32_t window,
			 struct wh_channel_suspended *s)
{
	const struct wh_channel_which which = { .window = window };
	const struct timespec nap = { .tv_nsec = LOOK_MS * 1000000l };
	const uint32_t mine = s->begun;
	struct answer a = { .bytes = NULL };

	while ((int32_t)(s->settled - mine) < 0) {
		nanosleep(&nap, NULL);
		if (!ask_suspended(id, name, WH_CHANNEL_SUSPENDED, &which, sizeof(which), s, &a)) {
			wh_error("%s: %s", name, a.why);
			return EXIT_FAILED;
		}
		if ((int32_t)(s->begun - mine) < 0) {
			wh_error("%s: the server VM has started anew meanwhile, and knows of no suspension",
				 name);
			return EXIT_FAILED;
		}
	}
	if (!s->failed)
		return EXIT_DONE;
	take_text(s->text, strnlen(s->text, sizeof(s->text)), a.why);
	wh_error("%s: %s", name, a.why);
	return EXIT_FAILED;
}

int wh_vm_suspend(const char *name, bool resume, uint64_t wait_ms)
{
	struct patience p = patience(PATIENCE_S, name);
	struct wh_channel_suspend r = { .resume = resume, .wait_ms = (uint32_t)wait_ms };
	struct wh_channel_suspended s;
	struct answer a;
	uint64_t id;
	int window;

	if (!find_window(name, &id, &window))
		return EXIT_FAILED;
	if (window < 0)
		window = only_window(name, id, &p);
	if (window < 0)
		return EXIT_FAILED;
	r.window = (uint32_t)window;
	if (ask_suspended(id, name, WH_CHANNEL_SUSPEND, &r, sizeof(r), &s, &a))
		return await_settled(id, name, r.window, &s);
	wh_error("%s: %s", name, a.why);
	return EXIT_FAILED;
}
