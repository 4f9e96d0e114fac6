/* SPDX-License-Identifier: Apache-2.0 */
/* Physical memory, which cuMemMap() puts at reserved addresses. */
#ifndef WORMHOLE_SOFTGPU_VMM_H
#define WORMHOLE_SOFTGPU_VMM_H

#include "driver.h"

struct sgpu_phys {
	struct sgpu_obj obj;
	uint64_t size;
	uint64_t block;		/* address in the arena, to count; 0: another process's memory */
	uint64_t file;		/* its name in the books if it is shared; 0: it is not */
	unsigned int handles, maps;	/* it lives as long as one of them is left */
	int fd;
	char *copy;		/* its contents while the process is checkpointed; else NULL */
	CUmemAllocationProp prop;
};

#endif
