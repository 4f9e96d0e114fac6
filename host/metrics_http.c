// SPDX-License-Identifier: Apache-2.0
/*
 * The part of HTTP that Prometheus uses: GET and HEAD of /metrics, one answer per
 * connection. One thread serves all and waits for no single client: a client that is silent
 * for some time, or sends too much, is dropped. If there are CONNECTIONS already, a new one
 * takes the place of the one that has been silent for longest. So nobody can keep others
 * out by holding many connections.
 */
#include "metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tenant/clock.h"
#include "tenant/text.h"

#define CONNECTIONS	128
#define AT_A_TIME	64	/* new connections between two looks at the others */
#define REQUEST		4096	/* bytes of a request's head */
#define PATIENCE_MS	2000

struct connection {
	int fd;			/* -1: free */
	int64_t until_ms;
	char request[REQUEST + 1];
	size_t got;
	char *answer;		/* NULL: the request is not complete */
	size_t size, sent;
	bool told;		/* the answer is sent; further bytes of the client are ignored */
};

/* --- Listening ---------------------------------------------------------------------------- */

static int listen_at(const struct sockaddr *a, socklen_t size)
{
	int fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, err;
	mode_t mask = umask(0177);

	if (fd >= 0 && a->sa_family != AF_UNIX)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd >= 0 && (bind(fd, a, size) || listen(fd, SOMAXCONN))) {
		err = errno;
		close(fd);
		errno = err;
		fd = -1;
	}
	umask(mask);
	return fd;
}

/* Returns true if a killed process left the socket: nobody listens on it. */
static bool is_left(const struct sockaddr_un *a)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat st;
	bool left;

	left = fd >= 0 && !stat(a->sun_path, &st) && S_ISSOCK(st.st_mode) &&
	       connect(fd, (const struct sockaddr *)a, sizeof(*a)) && errno == ECONNREFUSED;
	close(fd);
	return left;
}

static int listen_unix(const char *path, char *err, size_t err_size)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd;

	if (!*path || strlen(path) >= sizeof(a.sun_path)) {
		snprintf(err, err_size, "'%.150s': no path, or too long for a socket", path);
		errno = EINVAL;
		return -1;
	}
	strcpy(a.sun_path, path);
	if (is_left(&a))
		unlink(path);
	fd = listen_at((struct sockaddr *)&a, sizeof(a));
	if (fd < 0)
		snprintf(err, err_size, "%s: %s", path, strerror(errno));
	return fd;
}

/* Everybody may read the figures, so only addresses of this machine are allowed. */
static bool is_local(const char *host)
{
	return !*host || !strcmp(host, "127.0.0.1") || !strcmp(host, "localhost") ||
	       !strcmp(host, "[::1]");
}

static int listen_tcp(const char *where, char *err, size_t err_size)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct sockaddr_in6 b = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const char *colon = strrchr(where, ':'), *number = colon ? colon + 1 : where;
	char host[64] = "", *end;
	unsigned long port = strtoul(number, &end, 10);
	int fd;

	if (colon)
		snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
	if (!*number || *end || *number == '-' || port > 65535 || !is_local(host)) {
		snprintf(err, err_size, "'%.150s' is none of unix:PATH, PORT, 127.0.0.1:PORT and [::1]:PORT",
			 where);
		errno = EINVAL;
		return -1;
	}
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.sin_port = b.sin6_port = htons((uint16_t)port);
	fd = host[0] == '[' ? listen_at((struct sockaddr *)&b, sizeof(b)) :
			      listen_at((struct sockaddr *)&a, sizeof(a));
	if (fd < 0)
		snprintf(err, err_size, "%.150s: %s", where, strerror(errno));
	return fd;
}

int metrics_listen(const char *where, char *err, size_t err_size)
{
	if (!strncmp(where, "unix:", 5))
		return listen_unix(where + 5, err, err_size);
	return listen_tcp(where, err, err_size);
}

void metrics_forget(const char *where)
{
	if (!strncmp(where, "unix:", 5))
		unlink(where + 5);
}

/* --- Answers ---------------------------------------------------------------------------------- */

static void say(struct connection *c, const char *status, const char *body, size_t size, bool head)
{
	struct wh_text text;
	FILE *f = wh_text_open(&text);

	if (!f)
		return;
	fprintf(f, "HTTP/1.1 %s\r\n"
		"Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
		"Content-Length: %zu\r\nConnection: close\r\n%s\r\n", status, size,
		!strncmp(status, "405", 3) ? "Allow: GET, HEAD\r\n" : "");
	if (!head)
		fwrite(body, 1, size, f);
	c->answer = wh_text_close(f, &text);
	c->size = text.n;
}

static void refuse(struct connection *c, const char *status)
{
	char body[80];

	snprintf(body, sizeof(body), "%s\n", status);
	say(c, status, body, strlen(body), false);
}

/* Answers a request. A query after the path is ignored. */
static void answer(struct connection *c, metrics_fn text, void *arg)
{
	char method[8], path[64];
	bool head;
	char *body;
	size_t size;
	int end = 0;

	if (sscanf(c->request, "%7[A-Z] %63[^ ?\r\n]%*[^ \r\n] HTTP/1.%n", method, path, &end) < 2 &&
	    !end) {
		refuse(c, "400 Bad Request");
		return;
	}
	head = !strcmp(method, "HEAD");
	if (!head && strcmp(method, "GET")) {
		refuse(c, "405 Method Not Allowed");
	} else if (strcmp(path, "/metrics")) {
		refuse(c, "404 Not Found");
	} else {
		body = text(arg, &size);
		if (body)
			say(c, "200 OK", body, size, head);
		else
			refuse(c, "503 Service Unavailable");
		free(body);
	}
}

/* --- Connections ----------------------------------------------------------------------------- */

static struct connection all[CONNECTIONS];

static void drop(struct connection *c)
{
	close(c->fd);
	free(c->answer);
	c->answer = NULL;
	c->fd = -1;
}

/* A connection without an answer gives way before one with an answer; then the oldest does. */
static bool gives_way(const struct connection *c, const struct connection *to)
{
	if (!c->answer != !to->answer)
		return !c->answer;
	return c->until_ms < to->until_ms;
}

/* Returns a free place, or the place of the connection that gives way to all others. */
static struct connection *place(void)
{
	struct connection *c, *oldest = NULL;

	for (c = all; c < all + CONNECTIONS; c++) {
		if (c->fd < 0)
			return c;
		if (!oldest || gives_way(c, oldest))
			oldest = c;
	}
	drop(oldest);
	return oldest;
}

/*
 * If a socket is closed with unread bytes, the answer may be lost. So the client's bytes
 * are read.
 */
static void hear_out(struct connection *c)
{
	ssize_t n = recv(c->fd, c->request, REQUEST, 0);

	if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
		drop(c);
}

static void hear(struct connection *c, metrics_fn text, void *arg)
{
	ssize_t n = recv(c->fd, c->request + c->got, REQUEST - c->got, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(c);
		return;
	}
	c->got += (size_t)n;
	c->request[c->got] = 0;
	if (memchr(c->request, 0, c->got))
		refuse(c, "400 Bad Request");
	else if (strstr(c->request, "\r\n\r\n"))
		answer(c, text, arg);
	else if (c->got == REQUEST)
		refuse(c, "431 Request Header Fields Too Large");
	else
		return;
	if (!c->answer)
		drop(c);
}

static void tell(struct connection *c)
{
	ssize_t n = send(c->fd, c->answer + c->sent, c->size - c->sent, MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->sent += n > 0 ? (size_t)n : 0;
	if (n <= 0 || (c->sent == c->size && shutdown(c->fd, SHUT_WR)))
		drop(c);
	else
		c->told = c->sent == c->size;
}

/*
 * Usually a client's request arrives with the connection, so it is read before a new
 * connection can take its place.
 */
static bool take(int listener, metrics_fn text, void *arg)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct connection *c;

	if (fd < 0)
		return false;
	c = place();
	*c = (struct connection){ .fd = fd, .until_ms = wh_now_ms() + PATIENCE_MS };
	hear(c, text, arg);
	if (c->answer)
		tell(c);
	return true;
}

/* --- The loop --------------------------------------------------------------------------------- */

static void drop_late(int64_t now)
{
	int i;

	for (i = 0; i < CONNECTIONS; i++)
		if (all[i].fd >= 0 && now >= all[i].until_ms)
			drop(&all[i]);
}

/* Waits until something happens or something is due. */
static void wait_for(struct pollfd *p, const int *listener, int n, int64_t due)
{
	int64_t now = wh_now_ms(), next = due ? due : INT64_MAX;
	int i;

	for (i = 0; i < n; i++)
		p[i] = (struct pollfd){ listener[i], POLLIN, 0 };
	for (i = 0; i < CONNECTIONS; i++) {
		p[n + i] = (struct pollfd){ all[i].fd, POLLIN, 0 };
		if (all[i].answer && !all[i].told)
			p[n + i].events = POLLOUT;
		if (all[i].fd >= 0 && all[i].until_ms < next)
			next = all[i].until_ms;
	}
	if (next == INT64_MAX)
		next = now + 3600000;
	if (poll(p, n + CONNECTIONS, next > now ? (int)(next - now) : 0) < 0)
		for (i = 0; i < n + CONNECTIONS; i++)
			p[i].revents = 0;
}

void metrics_serve(const int *listener, int n, metrics_fn text, void *arg, unsigned int every_ms,
		   void (*tick)(void *arg), const volatile int *end)
{
	struct pollfd p[METRICS_LISTENERS + CONNECTIONS];
	int64_t due = every_ms ? wh_now_ms() + every_ms : 0;
	int i, j;

	for (i = 0; i < CONNECTIONS; i++)
		all[i].fd = -1;
	while (!*end) {
		wait_for(p, listener, n, due);
		for (i = 0; i < CONNECTIONS; i++) {
			if (all[i].fd < 0 || !p[n + i].revents)
				continue;
			if (all[i].told)
				hear_out(&all[i]);
			else if (all[i].answer)
				tell(&all[i]);
			else
				hear(&all[i], text, arg);
		}
		drop_late(wh_now_ms());
		for (i = 0; i < n; i++)
			for (j = 0; p[i].revents && j < AT_A_TIME; j++)
				if (!take(listener[i], text, arg))
					break;
		if (due && wh_now_ms() >= due) {
			tick(arg);
			due = wh_now_ms() + every_ms;
		}
	}
	for (i = 0; i < CONNECTIONS; i++)
		if (all[i].fd >= 0)
			drop(&all[i]);
}
