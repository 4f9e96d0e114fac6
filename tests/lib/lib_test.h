/* SPDX-License-Identifier: Apache-2.0 */
/* The programs here share this file: device memory, and what the fake library wrote down. */
#ifndef WORMHOLE_TESTS_LIB_TEST_H
#define WORMHOLE_TESTS_LIB_TEST_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

/* Returns what came into $FAKE_LOG since the last look; lines are separated by '|'. */
static inline const char *news(void)
{
	static char text[8192];
	static long seen;
	size_t n = 0, i;
	FILE *f;

	cuStreamQuery(NULL);	/* now the posted calls are done */
	f = fopen(getenv("FAKE_LOG"), "r");
	if (f && !fseek(f, seen, SEEK_SET))
		n = fread(text, 1, sizeof(text) - 1, f);
	if (f)
		fclose(f);
	seen += n;
	text[n ? n - 1 : 0] = 0;
	for (i = 0; i < n; i++)
		if (text[i] == '\n')
			text[i] = '|';
	return text;
}

/* Checks that the library was told exactly this. */
static inline int told(const char *want, const char *name)
{
	const char *got = news();
	int same = ok(!strcmp(got, want), name);

	if (!same)
		diag("expected \"%s\", got \"%s\"", want, got);
	return same;
}

static inline CUdeviceptr device(const void *data, size_t size)
{
	CUdeviceptr p = 0;

	cuMemAlloc(&p, size);
	if (data)
		cuMemcpyHtoD(p, data, size);
	return p;
}

#endif
