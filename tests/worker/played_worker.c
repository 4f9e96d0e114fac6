// SPDX-License-Identifier: Apache-2.0
/*
 * wormhole-worker on a machine that is no server VM, with its client inside: in place of sleeping
 * until calls are handed off, slot 0's thread makes them, as a client's vCPU would. It calls the
 * handlers of the world page, and comes again later when they say so. The client's words come by
 * the pipe FAKE_CLIENT.WINDOW.in, one a line:
 *
 *      check       reads back what it has on the device
 *      claim N     adds N to the bytes that its worker's account says it has there
 *      fill N      takes N bytes of the VM's memory
 *      empty       gives them back
 *      stuck       stands still in the middle of a call until the next word
 *      end         ends, and the worker with it
 *
 * The answers are lines of FAKE_CLIENT.WINDOW.out, each with the worker's process number before it:
 * `ready ADDRESS', `waits' once a call is to come again, `ok ADDRESS', or what is wrong.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake_vm.h"
#include "vm/worker.c"
#include "session/handler.h"

#define BYTES	(8u << 20)	/* that the client has on the device */
#define PIECE	4096u		/* so much of it is looked at, at both ends */

static struct {
	struct wh_session *session;
	uint64_t ctx;
	CUdeviceptr at;
	char path[256];
} client;

__attribute__((format(printf, 1, 2)))
static void write_line(const char *fmt, ...);

static uint8_t byte_of(unsigned int i)
{
	return (uint8_t)(i * 7 + i / 256);
}

/* --- Requests ------------------------------------------------------------------------ */

static void *begin(uint32_t call, size_t size)
{
	struct wh_req *q = (void *)client.session->frame[0].msg;

	memset(q, 0, size);
	q->call = call;
	q->ctx = client.ctx;
	return q;
}

/* Sends what the message area holds until it is answered, and ends the process on an error. */
static const void *answer(size_t size)
{
	const struct wh_world *w = (void *)WH_WORLD_VA;
	wh_handler_fn *handler = (wh_handler_fn *)w->handlers[WH_HANDLER_CUDA];
	static uint8_t request[64 << 10];
	const struct wh_rsp *r = (void *)client.session->frame[0].msg;
	bool waits = false;
	int64_t status;

	memcpy(request, r, size);
	while ((status = handler(client.session, 0, size, 0)) > 0) {
		if (status >= 1000 && !waits)
			write_line("waits");
		waits |= status >= 1000;
		usleep((useconds_t)status);
		memcpy(client.session->frame[0].msg, request, size);
	}
	if (status == WH_OK && !r->result)
		return r;
	write_line("status %lld, result %d", (long long)status, r->result);
	_exit(3);
}

static void put(CUdeviceptr to)
{
	struct wh_req_whSmallIn *q = begin(WH_CALL_whSmallIn, sizeof(*q) + PIECE);
	uint8_t *bytes = (uint8_t *)(q + 1);
	unsigned int i;

	q->device = to;
	q->size = PIECE;
	for (i = 0; i < PIECE; i++)
		bytes[i] = byte_of(i);
	answer(sizeof(*q) + PIECE);
}

static bool is_there(CUdeviceptr at)
{
	struct wh_req_cuMemcpyDtoH_v2 *q = begin(WH_CALL_cuMemcpyDtoH_v2, sizeof(*q));
	uint8_t *bytes = (uint8_t *)WH_WINDOW_VA + ((struct wh_ctl *)WH_WINDOW_VA)->data_offset;
	unsigned int i = 0;

	memset(bytes, 0, PIECE);
	q->dstHost = (uintptr_t)bytes;
	q->srcDevice = at;
	q->ByteCount = PIECE;
	answer(sizeof(*q));
	while (i < PIECE && bytes[i] == byte_of(i))
		i++;
	return i == PIECE;
}

static void start_cuda(void)
{
	struct wh_req_whHello *hello = begin(WH_CALL_whHello, sizeof(*hello));
	const struct wh_rsp_cuDevicePrimaryCtxRetain *retained;
	const struct wh_rsp_cuMemAlloc_v2 *allocated;
	struct wh_req_cuDevicePrimaryCtxRetain *retain;
	struct wh_req_cuMemAlloc_v2 *alloc;

	hello->abi_version = WH_ABI_VERSION;
	hello->api_hash = WH_API_HASH;
	answer(sizeof(*hello));
	retain = begin(WH_CALL_cuDevicePrimaryCtxRetain, sizeof(*retain));
	retained = answer(sizeof(*retain));
	client.ctx = retained->pctx;
	alloc = begin(WH_CALL_cuMemAlloc_v2, sizeof(*alloc));
	alloc->bytesize = BYTES;
	allocated = answer(sizeof(*alloc));
	client.at = allocated->dptr;
	put(client.at);
	put(client.at + BYTES - PIECE);
	write_line("ready %llx", (unsigned long long)client.at);
}

/* --- Words ---------------------------------------------------------------------------- */

static void write_line(const char *fmt, ...)
{
	char line[256], path[280];
	va_list ap;
	int fd, n;

	n = snprintf(line, sizeof(line), "%d ", getpid());
	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	line[n++] = '\n';
	snprintf(path, sizeof(path), "%s.out", client.path);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		_exit(4);
	close(fd);
}

static bool hear(char *word, size_t size)
{
	char path[280];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s.in", client.path);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, word, size - 1);
	close(fd);
	word[n < 0 ? 0 : n] = 0;
	word[strcspn(word, "\n")] = 0;
	return n >= 0;
}

static void check(void)
{
	if (is_there(client.at) && is_there(client.at + BYTES - PIECE))
		write_line("ok %llx", (unsigned long long)client.at);
	else
		write_line("other bytes");
}

/* A client's vCPU that its VM does not run any more stands somewhere inside. */
static void be_stuck(void)
{
	uint32_t *inside = &client.session->callers.slot[0].inside;
	char word[64];

	__atomic_store_n(inside, WH_CALLERS_TOGETHER, __ATOMIC_SEQ_CST);
	write_line("stuck");
	while (hear(word, sizeof(word)) && !*word)
		;
	__atomic_store_n(inside, WH_CALLERS_NONE, __ATOMIC_SEQ_CST);
	write_line("moves");
}

static void claim(long long bytes)
{
	__atomic_fetch_add(&client.session->limits.account->device[0].memory, (uint64_t)bytes,
			   __ATOMIC_RELAXED);
	write_line("claims");
}

static struct {
	void *at;
	size_t size;
} filled;

static void fill(size_t size)
{
	filled.at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	filled.size = size;
	write_line(filled.at == MAP_FAILED ? "no memory" : "filled");
}

static void empty(void)
{
	munmap(filled.at, filled.size);
	write_line("emptied");
}

static void obey(const char *word)
{
	if (!strcmp(word, "check"))
		check();
	else if (!strncmp(word, "claim ", 6))
		claim(strtoll(word + 6, NULL, 0));
	else if (!strncmp(word, "fill ", 5))
		fill(strtoull(word + 5, NULL, 0));
	else if (!strcmp(word, "empty"))
		empty();
	else if (!strcmp(word, "stuck"))
		be_stuck();
}

static __s64 take_call(__u64 slot)
{
	const struct wh_world *w = (void *)WH_WORLD_VA;
	static uint32_t never;
	char word[64] = "";

	/* Only slot 0's thread plays the client. */
	while (slot)
		raw(SYS_futex, (unsigned long)&never, FUTEX_WAIT_PRIVATE, 0, 0);
	client.session = (struct wh_session *)w->session;
	/* No CPUID says so here. */
	client.session->callers.in_vm = true;
	snprintf(client.path, sizeof(client.path), "%s.%u", getenv("FAKE_CLIENT"), opt.window);
	start_cuda();
	while (strcmp(word, "end") && hear(word, sizeof(word)))
		obey(word);
	return WH_EGONE;
}
