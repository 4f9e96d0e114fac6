/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for blocks of pinned memory to a session in this process, and what is at an address. */
#ifndef WORMHOLE_TESTS_ATTACK_SESSION_BLOCK_H
#define WORMHOLE_TESTS_ATTACK_SESSION_BLOCK_H

#include "session_fixture.h"
#include "hostblock.h"

#include <errno.h>
#include <unistd.h>

#define PAGE	WH_PAGE_SIZE

static inline int32_t block(struct wh_session *s, uint32_t op, uint64_t addr, uint64_t size,
			    uint64_t to)
{
	struct wh_req_whHostBlock *q = request(s, WH_CALL_whHostBlock, sizeof(*q));

	return send(s, host_block(q, op, addr, size, to)) ? -1 : rsp(s)->result;
}

/* What the driver of a test reserves next, wherever it was asked to. */
static CUdeviceptr reserve_at;

static inline CUresult reserve(CUdeviceptr *p, size_t size, size_t align, CUdeviceptr hint,
			       unsigned long long flags)
{
	(void)size;
	(void)align;
	(void)hint;
	(void)flags;
	*p = reserve_at;
	return CUDA_SUCCESS;
}

static inline bool is_free(uint64_t addr)
{
	void *p = mmap((void *)addr, PAGE, PROT_READ,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	munmap(p, PAGE);
	return true;
}

/* The kernel reads there, because a read by this program would end it. */
static inline bool is_nothing(uint64_t addr)
{
	int pair[2];
	bool nothing;

	if (pipe(pair))
		return false;
	nothing = write(pair[1], (void *)addr, 1) < 0 && errno == EFAULT;
	close(pair[0]);
	close(pair[1]);
	return nothing;
}

#endif
