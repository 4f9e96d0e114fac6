// SPDX-License-Identifier: Apache-2.0
/*
 * A library that the others know nothing about. It is loaded before the program's own
 * libraries (LD_PRELOAD, initialised first), so its destructor runs after theirs.
 */
#include <cuda.h>
#include <stdio.h>

static CUresult (*call)(void);
static int (*end_handle)(void);

void ending_later(CUresult (*f)(void), int (*g)(void))
{
	call = f;
	end_handle = g;
}

__attribute__((destructor)) static void end(void)
{
	if (!call)
		return;
	printf("later %d\nhandle %d\n", call(), end_handle());
	fflush(stdout);
}
