/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other process of ipc_test: the same program, executed anew, which does what it is
 * told over two pipes and answers with what CUDA said.
 */
#ifndef WORMHOLE_TESTS_SHM_IPC_PEER_H
#define WORMHOLE_TESTS_SHM_IPC_PEER_H

#include <cuda.h>
#include <stdint.h>
#include <sys/types.h>

enum peer_op {
	PEER_ALLOC,		/* size -> address */
	PEER_FREE,		/* address */
	PEER_EXPORT,		/* address -> handle */
	PEER_OPEN,		/* handle, value: flags -> address */
	PEER_CLOSE,		/* address */
	PEER_READ,		/* a word at the address -> value */
	PEER_WRITE,		/* value to it */
	PEER_ADD,		/* a kernel adds value to size words */
	PEER_RANGE,		/* of an address -> its start and size */
	PEER_TYPE,		/* memory type of an address -> value */
	PEER_EVENT_NEW,		/* -> event, handle */
	PEER_EVENT_OPEN,	/* handle -> event */
	PEER_EVENT_EXPORT,	/* event -> handle */
	PEER_EVENT_RECORD,
	PEER_EVENT_WAIT,	/* the default stream waits, then this process does */
	PEER_EVENT_QUERY,
	PEER_EVENT_END,
	PEER_SYNC,
};

struct peer_call {
	enum peer_op op;
	uint32_t value;
	uint64_t address, size;
	CUevent event;
	unsigned char handle[64];
};

struct peer_answer {
	CUresult result;
	uint32_t value;
	uint64_t address, size;
	CUevent event;
	unsigned char handle[64];
};

struct peer {
	pid_t pid;
	int to, from;
};

void peer_start(struct peer *p);
struct peer_answer peer_call(struct peer *p, const struct peer_call *call);
/* The peer ends by itself, or is killed; both functions wait for its end. */
void peer_end(struct peer *p);
void peer_kill(struct peer *p);
/* Makes the same calls here, in the process itself. */
struct peer_answer peer_do(const struct peer_call *call);
/* main calls this; in a peer it never returns. */
void peer_main(int argc, char **argv);

#endif
