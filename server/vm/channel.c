// SPDX-License-Identifier: Apache-2.0
/*
 * Reads requests of the host's command and writes the answers, without ever waiting. The port is
 * watched for edges: while nobody is at its other end it is hung up, and poll() would report that
 * without end. What is left of a client that has gone is dropped. Its answer is dropped when the
 * next client asks. That client may get the old answer before its own, and recognizes it by the
 * nonce. Bytes that do not begin like a request are skipped, so the next request is heard again.
 */
#define _GNU_SOURCE
#include "vm/channel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tenant/channel.h"
#include "vm/suspend.h"
#include "vm/windows.h"

#define PORTS	"/sys/class/virtio-ports"

struct request {
	struct wh_channel_head head;
	union {				/* as the head says */
		struct wh_channel_limit limit;
		struct wh_channel_suspend suspend;
		struct wh_channel_which which;
	};
};

static struct {
	int fd, events;
	char in[sizeof(struct request)];
	size_t got;
	char *out;			/* NULL: no answer under way */
	size_t size, sent;
} port = { .fd = -1, .events = -1 };

/* --- The port --------------------------------------------------------------------- */

static int has_name(const struct dirent *e)
{
	char path[PATH_MAX], name[64] = "";
	FILE *f;

	if (*e->d_name == '.')
		return 0;
	snprintf(path, sizeof(path), PORTS "/%s/name", e->d_name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(name, sizeof(name), f))
		name[0] = 0;
	fclose(f);
	name[strcspn(name, "\n")] = 0;
	return !strcmp(name, WH_CHANNEL_PORT);
}

static int open_named(void)
{
	struct dirent **list;
	char path[PATH_MAX];
	int n = scandir(PORTS, &list, has_name, NULL), fd = -1;

	errno = n < 0 ? errno : ENOENT;
	if (n < 1)
		return -1;
	snprintf(path, sizeof(path), "/dev/%s", list[0]->d_name);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	while (n)
		free(list[--n]);
	free(list);
	return fd;
}

int wh_channel_open(const char *file)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLET };

	port.fd = file ? open(file, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : open_named();
	port.events = port.fd < 0 ? -1 : epoll_create1(EPOLL_CLOEXEC);
	if (port.events < 0 || epoll_ctl(port.events, EPOLL_CTL_ADD, port.fd, &e))
		return -1;
	return port.events;
}

/* --- Answers ---------------------------------------------------------------------- */

static void forget_answer(void)
{
	free(port.out);
	port.out = NULL;
}

static void answer(const struct wh_channel_head *to, bool refused, const void *what, uint32_t size)
{
	struct wh_channel_head head = {
		.magic = WH_CHANNEL_MAGIC, .nonce = to->nonce, .version = WH_CHANNEL_VERSION,
		.what = to->what | WH_CHANNEL_ANSWER, .refused = refused, .size = size,
	};

	/* Drop the answer to a client that has not waited for it. */
	forget_answer();
	port.out = malloc(sizeof(head) + size);
	if (!port.out)
		return;
	memcpy(port.out, &head, sizeof(head));
	memcpy(port.out + sizeof(head), what, size);
	port.size = sizeof(head) + size;
	port.sent = 0;
}

static void refuse(const struct wh_channel_head *to, const char *why)
{
	answer(to, true, why, (uint32_t)strlen(why));
}

static void send_answer(void)
{
	ssize_t n = 0;

	while (port.out && port.sent < port.size) {
		n = write(port.fd, port.out + port.sent, port.size - port.sent);
		if (n <= 0)
			return;
		port.sent += (size_t)n;
	}
	forget_answer();
}

/* --- Requests --------------------------------------------------------------------- */

static bool look(const struct wh_channel_head *h)
{
	uint32_t size;
	void *all = wh_windows_look(&size);

	if (!all) {
		refuse(h, "the server VM is out of memory");
		return false;
	}
	answer(h, false, all, size);
	free(all);
	return true;
}

static bool limit(const struct request *r)
{
	char err[WH_CHANNEL_TEXT];

	if (!wh_window_change(&r->limit, err, sizeof(err))) {
		refuse(&r->head, err);
		return false;
	}
	answer(&r->head, false, NULL, 0);
	return true;
}

static bool say_suspended(const struct wh_channel_head *h, uint32_t window)
{
	struct wh_channel_suspended s;
	char err[WH_CHANNEL_TEXT];

	if (!wh_suspend_look(window, &s, err, sizeof(err))) {
		refuse(h, err);
		return false;
	}
	answer(h, false, &s, sizeof(s));
	return true;
}

static bool suspend(const struct request *r)
{
	char err[WH_CHANNEL_TEXT];

	if (wh_suspend_window(&r->suspend, err, sizeof(err)))
		return say_suspended(&r->head, r->suspend.window);
	refuse(&r->head, err);
	return false;
}

/* Returns the size of what follows a head of this kind. */
static uint32_t size_of(const struct wh_channel_head *h)
{
	switch (h->what) {
	case WH_CHANNEL_LIMIT:		return sizeof(struct wh_channel_limit);
	case WH_CHANNEL_SUSPEND:	return sizeof(struct wh_channel_suspend);
	case WH_CHANNEL_SUSPENDED:	return sizeof(struct wh_channel_which);
	default:			return 0;
	}
}

/* Serves a request. Returns true if it has looked or changed anything. */
static bool serve(const struct request *r)
{
	if (r->head.version != WH_CHANNEL_VERSION || r->head.size != size_of(&r->head))
		refuse(&r->head, "the server VM is of another release of Wormhole");
	else if (r->head.what == WH_CHANNEL_LOOK)
		return look(&r->head);
	else if (r->head.what == WH_CHANNEL_LIMIT)
		return limit(r);
	else if (r->head.what == WH_CHANNEL_SUSPEND)
		return suspend(r);
	else if (r->head.what == WH_CHANNEL_SUSPENDED)
		return say_suspended(&r->head, r->which.window);
	else
		refuse(&r->head, "the server VM knows no such request");
	return false;
}

/* Drops bytes that do not begin like a request, except those that may be the begin of one. */
static void skip_noise(void)
{
	const uint64_t magic = WH_CHANNEL_MAGIC;
	const char *begin = memmem(port.in, port.got, &magic, sizeof(magic));

	if (!begin && port.got >= sizeof(magic))
		begin = port.in + port.got - (sizeof(magic) - 1);
	if (!begin)
		return;
	port.got -= (size_t)(begin - port.in);
	memmove(port.in, begin, port.got);
}

/*
 * Takes a whole request, if there is one. A head of another release is a whole one: nothing more is
 * known of it.
 */
static bool take(struct request *r)
{
	size_t need = sizeof(r->head);

	*r = (struct request){ .head.magic = 0 };
	skip_noise();
	if (port.got < sizeof(r->head))
		return false;
	memcpy(&r->head, port.in, sizeof(r->head));
	if (r->head.version == WH_CHANNEL_VERSION && r->head.size == size_of(&r->head))
		need += r->head.size;
	if (port.got < need)
		return false;
	memcpy(r, port.in, need);
	/* If this client did not wait, the next client's request may follow. */
	port.got -= need;
	memmove(port.in, port.in + need, port.got);
	return true;
}

bool wh_channel_serve(void)
{
	struct epoll_event e = { 0 };
	bool done = false;
	struct request r;
	ssize_t n;

	epoll_wait(port.events, &e, 1, 0);
	/*
	 * Drop old input only before anything is read. The next client's request may be here
	 * earlier than the news that it has connected (they are queues of their own), and its
	 * answer then waits for that news.
	 */
	if (e.events & EPOLLHUP)
		port.got = 0;
	for (;;) {
		n = read(port.fd, port.in + port.got, sizeof(port.in) - port.got);
		if (n <= 0)
			break;
		port.got += (size_t)n;
		while (take(&r))
			done |= serve(&r);
	}
	send_answer();
	return done;
}
