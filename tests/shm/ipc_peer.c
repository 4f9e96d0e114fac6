// SPDX-License-Identifier: Apache-2.0
/* ipc_peer.h describes this program. */
#define _GNU_SOURCE
#include "ipc_peer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start.h"

static const char add[] =
	".version 7.0\n.target sm_52\n.address_size 64\n"
	".visible .entry add(.param .u64 p, .param .u32 v, .param .u32 n)\n{\n"
	".reg .pred %q;\n.reg .u32 %r<7>;\n.reg .u64 %d<4>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\nld.param.u32 %r2, [n];\n"
	"mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %tid.x;\n"
	"mad.lo.u32 %r3, %r3, %r4, %r5;\nsetp.ge.u32 %q, %r3, %r2;\n@%q bra end;\n"
	"mul.wide.u32 %d2, %r3, 4;\ncvta.to.global.u64 %d1, %d1;\nadd.u64 %d1, %d1, %d2;\n"
	"ld.global.u32 %r6, [%d1];\nadd.u32 %r6, %r6, %r1;\nst.global.u32 [%d1], %r6;\n"
	"end:\nret;\n}\n";

static CUresult run_add(CUdeviceptr p, uint32_t value, uint32_t n)
{
	static CUfunction f;
	void *params[] = { &p, &value, &n };
	CUresult res = CUDA_SUCCESS;
	CUmodule m;

	if (!f) {
		res = cuModuleLoadData(&m, add);
		if (res == CUDA_SUCCESS)
			res = cuModuleGetFunction(&f, m, "add");
	}
	if (res == CUDA_SUCCESS)
		res = cuLaunchKernel(f, (n + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, params, NULL);
	return res;
}

static CUresult new_event(struct peer_answer *a)
{
	CUresult res = cuEventCreate(&a->event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);

	return res ? res : cuIpcGetEventHandle((CUipcEventHandle *)a->handle, a->event);
}

static CUresult do_memory(const struct peer_call *c, struct peer_answer *a)
{
	CUdeviceptr start = 0, address = 0;
	CUipcMemHandle h;
	size_t size = 0;
	CUresult res;

	switch (c->op) {
	case PEER_ALLOC:
		res = cuMemAlloc(&address, c->size);
		break;
	case PEER_FREE:
		return cuMemFree(c->address);
	case PEER_EXPORT:
		return cuIpcGetMemHandle((CUipcMemHandle *)a->handle, c->address);
	case PEER_OPEN:
		memcpy(&h, c->handle, sizeof(h));
		res = cuIpcOpenMemHandle(&address, h, c->value);
		break;
	case PEER_RANGE:
		res = cuMemGetAddressRange(&start, &size, c->address);
		address = start;
		break;
	default:
		return CUDA_ERROR_UNKNOWN;
	}
	a->address = address;
	a->size = size;
	return res;
}

static CUresult do_event(const struct peer_call *c, struct peer_answer *a)
{
	CUipcEventHandle h;
	CUresult res;

	switch (c->op) {
	case PEER_EVENT_NEW:
		return new_event(a);
	case PEER_EVENT_OPEN:
		memcpy(&h, c->handle, sizeof(h));
		return cuIpcOpenEventHandle(&a->event, h);
	case PEER_EVENT_EXPORT:
		return cuIpcGetEventHandle((CUipcEventHandle *)a->handle, c->event);
	case PEER_EVENT_RECORD:
		return cuEventRecord(c->event, NULL);
	case PEER_EVENT_WAIT:
		res = cuStreamWaitEvent(NULL, c->event, 0);
		return res ? res : cuEventSynchronize(c->event);
	case PEER_EVENT_QUERY:
		return cuEventQuery(c->event);
	default:
		return cuEventDestroy(c->event);
	}
}

struct peer_answer peer_do(const struct peer_call *c)
{
	struct peer_answer a = { 0 };

	switch (c->op) {
	case PEER_CLOSE:
		a.result = cuIpcCloseMemHandle(c->address);
		break;
	case PEER_READ:
		a.result = cuMemcpyDtoH(&a.value, c->address, sizeof(a.value));
		break;
	case PEER_WRITE:
		a.result = cuMemcpyHtoD(c->address, &c->value, sizeof(c->value));
		break;
	case PEER_ADD:
		a.result = run_add(c->address, c->value, (uint32_t)c->size);
		break;
	case PEER_TYPE:
		a.result = cuPointerGetAttribute(&a.value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
						 c->address);
		break;
	case PEER_SYNC:
		a.result = cuCtxSynchronize();
		break;
	default:
		a.result = c->op >= PEER_EVENT_NEW ? do_event(c, &a) : do_memory(c, &a);
	}
	return a;
}

/* --- Two processes ---------------------------------------------------------------- */

/* Returns false at the end of the other side. */
static int receive(int fd, void *p, size_t n)
{
	char *at = p;
	ssize_t got;

	while (n) {
		got = read(fd, at, n);
		if (got <= 0)
			return 0;
		at += got;
		n -= (size_t)got;
	}
	return 1;
}

static void must_send(int fd, const void *p, size_t n)
{
	if (write(fd, p, n) == (ssize_t)n)
		return;
	printf("Bail out! the other process is gone\n");
	exit(1);
}

void peer_main(int argc, char **argv)
{
	struct peer_call call;
	struct peer_answer a;
	int from, to;

	alarm(120);
	signal(SIGPIPE, SIG_IGN);
	if (argc != 4 || strcmp(argv[1], "--peer")) {
		if (start_context() == CUDA_SUCCESS)
			return;
		printf("Bail out! CUDA does not start\n");
		exit(1);
	}
	from = atoi(argv[2]);
	to = atoi(argv[3]);
	if (start_context() != CUDA_SUCCESS)
		exit(1);
	while (receive(from, &call, sizeof(call))) {
		a = peer_do(&call);
		must_send(to, &a, sizeof(a));
	}
	exit(0);
}

/* The peer is executed anew, so it need not be started before CUDA is used here. */
void peer_start(struct peer *p)
{
	int down[2], up[2];
	char from[16], to[16];

	if (pipe2(down, 0) || pipe2(up, 0))
		exit(1);
	fflush(stdout);
	p->pid = fork();
	if (!p->pid) {
		close(down[1]);
		close(up[0]);
		snprintf(from, sizeof(from), "%d", down[0]);
		snprintf(to, sizeof(to), "%d", up[1]);
		execl("/proc/self/exe", "ipc-peer", "--peer", from, to, (char *)NULL);
		_exit(127);
	}
	close(down[0]);
	close(up[1]);
	p->to = down[1];
	p->from = up[0];
}

struct peer_answer peer_call(struct peer *p, const struct peer_call *call)
{
	struct peer_answer a = { .result = CUDA_ERROR_UNKNOWN };

	must_send(p->to, call, sizeof(*call));
	if (!receive(p->from, &a, sizeof(a)))
		printf("# the other process ended at operation %d\n", call->op);
	return a;
}

static void collect(struct peer *p)
{
	close(p->to);
	close(p->from);
	waitpid(p->pid, NULL, 0);
}

void peer_end(struct peer *p)
{
	collect(p);
}

void peer_kill(struct peer *p)
{
	kill(p->pid, SIGKILL);
	collect(p);
}
