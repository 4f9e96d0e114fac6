// SPDX-License-Identifier: Apache-2.0
/*
 * The per-thread last error, error names and texts, and the message of an unsupported call. The
 * library is silent unless WORMHOLE_LOG is set, or the program is about to crash for a reason
 * that it cannot tell.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cudart.h"

__thread struct rt_thread rt_self;

/* The format begins with the level. Uses one write, so that lines of several threads do not mix. */
static void print_line(const char *fmt, va_list ap)
{
	static const char begin[] = "wormhole: ";
	char line[512];
	int n;

	memcpy(line, begin, sizeof(begin));
	n = vsnprintf(line + sizeof(begin) - 1, sizeof(line) - sizeof(begin), fmt, ap);
	if (n < 0)
		return;
	n += sizeof(begin) - 1;
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		return;
}

void rt_log(const char *fmt, ...)
{
	const char *level = getenv("WORMHOLE_LOG");
	va_list ap;

	if (!level || !*level || *level == '0')
		return;
	va_start(ap, fmt);
	print_line(fmt, ap);
	va_end(ap);
}

void rt_complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_line(fmt, ap);
	va_end(ap);
}

cudaError_t rt_refuse(const char *name, atomic_flag *said)
{
	if (!atomic_flag_test_and_set(said))
		rt_log("warn: libcudart: %s is not supported", name);
	return rt_ret(cudaErrorNotSupported);
}

/* Answers as a newer runtime does over a driver of this version. */
cudaError_t rt_newer(const char *name, const char *version, atomic_flag *said)
{
	if (!atomic_flag_test_and_set(said))
		rt_log("warn: libcudart: %s came with CUDA %s, and this runtime is of CUDA %d.%d: "
		       "the program has to do without it, or be built for CUDA %d.%d", name, version,
		       RT_MAJOR, RT_MINOR, RT_MAJOR, RT_MINOR);
	return rt_ret(cudaErrorCallRequiresNewerDriver);
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t err = rt_self.last;

	rt_self.last = cudaSuccess;
	return err;
}

cudaError_t cudaPeekAtLastError(void)
{
	return rt_self.last;
}

const char *cudaGetErrorName(cudaError_t error)
{
	return rt_error_name(error);
}

const char *cudaGetErrorString(cudaError_t error)
{
	return rt_error_text(error);
}
