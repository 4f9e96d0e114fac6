// SPDX-License-Identifier: Apache-2.0
/*
 * Functions of a runtime of CUDA 12 that have to know its minor version: which it is, and which
 * form of a driver function a program of that version expects. libcudart.so.12 would answer as
 * the last one. For the others, all minor versions have the same answers.
 */
#include "preload.h"

enum {
	BEFORE_12 = RT_EXPORT_END_13 - 1,
#define NUMBER(name) OF_12_##name,
	RT_EXPORTS_12(NUMBER)
#undef NUMBER
};

/* A call of a stub is one of libcudart.so.12. */
#define OF_12(name, type) ((type)(uintptr_t)preload_stubs[OF_12_##name])

typedef int get_version(int *version);
typedef int get_entry(const char *symbol, void **func, unsigned int version,
		      unsigned long long flags, int *status);

/* Errors are those of the runtime, which keeps them as the last. */
static int tell_version(int version, int *to)
{
	int err = OF_12(cudaRuntimeGetVersion, get_version *)(to);

	if (!err)
		*to = version;
	return err;
}

#define MINORS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)
#define MINOR_COUNT 10

#define VERSION_OF(minor)						\
static int version_of_##minor(int *version)				\
{									\
	return tell_version(12000 + 10 * (minor), version);		\
}
MINORS(VERSION_OF)

#define ENTRY_OF(minor)							\
static int entry_of_##minor(const char *symbol, void **func, unsigned long long flags,	\
			    int *status)				\
{									\
	return OF_12(cudaGetDriverEntryPointByVersion, get_entry *)(symbol, func, \
			12000 + 10 * (minor), flags, status);		\
}									\
static int entry_ptsz_of_##minor(const char *symbol, void **func, unsigned long long flags, \
				 int *status)				\
{									\
	return OF_12(cudaGetDriverEntryPointByVersion_ptsz, get_entry *)(symbol, func, \
			12000 + 10 * (minor), flags, status);		\
}
MINORS(ENTRY_OF)

static const struct {
	get_version *version;
	int (*entry)(const char *symbol, void **func, unsigned long long flags, int *status);
	int (*entry_ptsz)(const char *symbol, void **func, unsigned long long flags, int *status);
} of_minor[MINOR_COUNT] = {
#define ROW(minor) { version_of_##minor, entry_of_##minor, entry_ptsz_of_##minor },
	MINORS(ROW)
#undef ROW
};

uintptr_t preload_minor(int version, int export)
{
	unsigned int minor = (version - 12000) / 10;

	if (minor >= MINOR_COUNT)
		return 0;
	switch (export) {
	case OF_12_cudaRuntimeGetVersion:
		return (uintptr_t)of_minor[minor].version;
	case OF_12_cudaGetDriverEntryPoint:
		return (uintptr_t)of_minor[minor].entry;
	case OF_12_cudaGetDriverEntryPoint_ptsz:
		return (uintptr_t)of_minor[minor].entry_ptsz;
	default:
		return 0;
	}
}
