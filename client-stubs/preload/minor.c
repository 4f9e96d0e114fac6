// SPDX-License-Identifier: Apache-2.0
/*
 * Functions of a runtime of CUDA 11 or 12 that have to know its minor version: which it is, and
 * which form of a driver function a program of that version of 12 expects. The libraries would
 * answer as the last one. For the others, all minor versions have the same answers.
 */
#include "preload.h"

enum {
	BEFORE_12 = RT_EXPORT_END_13 - 1,
#define NUMBER(name) OF_12_##name,
	RT_EXPORTS_12(NUMBER)
#undef NUMBER
	BEFORE_11 = RT_EXPORT_END_12 - 1,
#define NUMBER(name) OF_11_##name,
	RT_EXPORTS_11(NUMBER)
#undef NUMBER
};

/* A call of a stub is one of libcudart.so.12, or of libcudart.so.11.0. */
#define CALL(export, type) ((type)(uintptr_t)preload_stubs[export])

typedef int get_version(int *version);
typedef int get_entry(const char *symbol, void **func, unsigned int version,
		      unsigned long long flags, int *status);

/* Errors are those of the runtime, which keeps them as the last. */
static int tell_version(int export, int version, int *to)
{
	int err = CALL(export, get_version *)(to);

	if (!err)
		*to = version;
	return err;
}

#define MINORS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)
#define MINOR_COUNT 10

#define VERSION_OF(minor)						\
static int version_of_##minor(int *version)				\
{									\
	return tell_version(OF_12_cudaRuntimeGetVersion, 12000 + 10 * (minor), version);	\
}									\
static int version_of_11_##minor(int *version)				\
{									\
	return tell_version(OF_11_cudaRuntimeGetVersion, 11000 + 10 * (minor), version);	\
}
MINORS(VERSION_OF)

#define ENTRY_OF(minor)							\
static int entry_of_##minor(const char *symbol, void **func, unsigned long long flags,	\
			    int *status)				\
{									\
	return CALL(OF_12_cudaGetDriverEntryPointByVersion, get_entry *)(symbol, func, \
			12000 + 10 * (minor), flags, status);		\
}									\
static int entry_ptsz_of_##minor(const char *symbol, void **func, unsigned long long flags, \
				 int *status)				\
{									\
	return CALL(OF_12_cudaGetDriverEntryPointByVersion_ptsz, get_entry *)(symbol, func, \
			12000 + 10 * (minor), flags, status);		\
}
MINORS(ENTRY_OF)

static const struct {
	get_version *version, *version_11;
	int (*entry)(const char *symbol, void **func, unsigned long long flags, int *status);
	int (*entry_ptsz)(const char *symbol, void **func, unsigned long long flags, int *status);
} of_minor[MINOR_COUNT] = {
#define ROW(minor) { version_of_##minor, version_of_11_##minor,		\
		     entry_of_##minor, entry_ptsz_of_##minor },
	MINORS(ROW)
#undef ROW
};

uintptr_t preload_minor(int version, int export)
{
	unsigned int minor = version % 1000 / 10;

	if (version >= 13000 || minor >= MINOR_COUNT)
		return 0;
	switch (export) {
	case OF_11_cudaRuntimeGetVersion:
		return (uintptr_t)of_minor[minor].version_11;
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
