// SPDX-License-Identifier: Apache-2.0
/*
 * Prints size and offset of every member of wormhole_abi.h and window.h, every gap between
 * members, and every number. layout.ref is the expected output: a difference is a change of
 * the ABI, and needs a new WH_ABI_VERSION.
 */
#include <linux/kvm.h>
#include <stddef.h>
#include <stdio.h>

#include "window.h"

/* The offset after the last printed member. */
static size_t end;

static void gap(size_t to)
{
	if (to != end)
		printf("\t%-24s %5zu %5zu\n", "(gap)", end, to - end);
}

static void member(const char *name, size_t offset, size_t size)
{
	gap(offset);
	printf("\t%-24s %5zu %5zu\n", name, offset, size);
	end = offset + size;
}

static void total(size_t size)
{
	gap(size);
	end = 0;
}

int main(void)
{
#define STRUCT(s)	printf("struct %-24s %8zu\n", #s, sizeof(struct s));
#define MEMBER(s, m)	member(#m, offsetof(struct s, m), sizeof(((struct s *)0)->m));
#define END(s)		total(sizeof(struct s));
#define NUMBER(n)	printf("%-24s 0x%llx\n", #n, (unsigned long long)n);
#include "members.h"
	return 0;
}
