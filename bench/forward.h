/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small baselines for other ways to forward calls: a server process that runs requests of a
 * client process on this machine.
 *
 *	tcp	request, data and answer through a TCP connection
 *	notify	request, data and answer in shared memory, announced by a byte of TCP each way
 *	unix	like tcp, through a Unix socket, for kernels without TCP
 *	notify_unix	like notify, announced through a Unix socket
 *	inline	the same marshalling in one process, with nothing between
 *
 * A program that includes this defines what its server does (forward_server_start(),
 * forward_serve_one()). WH_SERVER_CPU is the server's CPU.
 */
#ifndef WORMHOLE_FORWARD_H
#define WORMHOLE_FORWARD_H

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <signal.h>
#include <unistd.h>

#define BYTES	4096

/* It has as many words as Wormhole's request for a launch. */
struct request {
	uint32_t what;
	uint32_t size;		/* bytes of the data behind it */
	uint64_t words[10];
};

struct answer {
	int32_t status;
	uint32_t size;
};

/* With `notify` both sides share the message. Otherwise each side has its own. */
static struct message {
	struct request request;
	struct answer answer;
	char data[BYTES];
} *message;

static int sock = -1;
static pid_t server_process;

static void forward_server_start(void);
/* Turns message->request into message->answer. */
static void forward_serve_one(void);

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

/* --- The two ways between ------------------------------------------------------------ */

static void send_all(const void *p, size_t n)
{
	while (n) {
		ssize_t done = send(sock, p, n, MSG_NOSIGNAL);

		must(done > 0, "send");
		p = (const char *)p + done;
		n -= (size_t)done;
	}
}

/* Returns 0 if the other side has ended. */
static int receive_all(void *p, size_t n)
{
	while (n) {
		ssize_t done = recv(sock, p, n, 0);

		if (done <= 0)
			return 0;
		p = (char *)p + done;
		n -= (size_t)done;
	}
	return 1;
}

/* Sends a head and the data that it announces, in as few system calls as possible. */
static void send_message(void *head, size_t n, uint32_t size)
{
	struct iovec part[2] = { { head, n }, { message->data, size } };
	struct msghdr all = { .msg_iov = part, .msg_iovlen = size ? 2 : 1 };
	ssize_t done = sendmsg(sock, &all, MSG_NOSIGNAL);

	must(done == (ssize_t)(n + size), "sendmsg");
}

static int tcp_receive_request(void)
{
	struct request *r = &message->request;

	if (!receive_all(r, sizeof(*r)) || r->size > BYTES)
		return 0;
	return !r->size || receive_all(message->data, r->size);
}

static void tcp_serve(void)
{
	while (tcp_receive_request()) {
		forward_serve_one();
		send_message(&message->answer, sizeof(message->answer), message->answer.size);
	}
}

static void tcp_call(void)
{
	struct answer *a = &message->answer;

	send_message(&message->request, sizeof(message->request), message->request.size);
	must(receive_all(a, sizeof(*a)) && a->size <= BYTES &&
	     (!a->size || receive_all(message->data, a->size)), "the server");
}

static void notify_serve(void)
{
	char word;

	while (receive_all(&word, 1)) {
		forward_serve_one();
		send_all(&word, 1);
	}
}

static void notify_call(void)
{
	char word = 1;

	send_all(&word, 1);
	must(receive_all(&word, 1), "the server");
}

static const struct way {
	const char *name;
	void (*call)(void);
	void (*serve)(void);	/* NULL: the calling process serves itself */
} ways[] = {
	{ "tcp", tcp_call, tcp_serve }, { "notify", notify_call, notify_serve },
	{ "unix", tcp_call, tcp_serve }, { "notify_unix", notify_call, notify_serve },
	{ "inline", forward_serve_one, NULL },
};
static const struct way *way;

/* Returns the answer's status. The data of the answer is in message->data. */
static int32_t forward_call(uint32_t what, uint32_t size)
{
	message->request.what = what;
	message->request.size = size;
	way->call();
	return message->answer.status;
}

/* --- Both ends ------------------------------------------------------------------------ */

static void connect_by_tcp(int *client, int *server)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	socklen_t len = sizeof(addr);

	must(listener >= 0 && !bind(listener, (struct sockaddr *)&addr, len) &&
	     !listen(listener, 1) && !getsockname(listener, (struct sockaddr *)&addr, &len),
	     "listen");
	*client = socket(AF_INET, SOCK_STREAM, 0);
	must(*client >= 0 && !connect(*client, (struct sockaddr *)&addr, len), "connect");
	*server = accept(listener, NULL, NULL);
	must(*server >= 0, "accept");
	close(listener);
	setsockopt(*client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(*server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static void connect_both(int *client, int *server)
{
	int pair[2];

	if (strstr(way->name, "unix")) {
		must(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
		*client = pair[0];
		*server = pair[1];
		return;
	}
	connect_by_tcp(client, server);
}

static void bind_server(void)
{
	const char *cpu = getenv("WH_SERVER_CPU");
	cpu_set_t set;

	CPU_ZERO(&set);
	if (!cpu)
		return;
	CPU_SET(atoi(cpu), &set);
	must(!sched_setaffinity(0, sizeof(set), &set), "WH_SERVER_CPU");
}

static void start_server(void)
{
	int client, server;
	pid_t parent = getpid();

	connect_both(&client, &server);
	server_process = fork();
	switch (server_process) {
	case -1:
		must(0, "fork");
		break;
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			exit(1);
		close(client);
		sock = server;
		bind_server();
		forward_server_start();
		way->serve();
		exit(0);
	}
	close(server);
	sock = client;
}

/* Returns true if the way exists. Its server has started then. */
static int forward_start(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(name, ways[i].name))
			way = &ways[i];
	if (!way)
		return 0;
	message = mmap(NULL, sizeof(*message), PROT_READ | PROT_WRITE,
		       MAP_ANONYMOUS | (strncmp(name, "notify", 6) ? MAP_PRIVATE : MAP_SHARED), -1, 0);
	must(message != MAP_FAILED, "mmap");
	if (way->serve)
		start_server();
	else
		forward_server_start();
	return 1;
}

#endif
