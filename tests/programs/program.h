/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs here share this file: stop on an error, options as name=value, and results
 * in a form that can be compared bit for bit. Results go to stdout and are the same in
 * every run; what may differ (rates) goes to stderr.
 */
#ifndef WORMHOLE_PROGRAM_H
#define WORMHOLE_PROGRAM_H

#include <cstdint>
#include <cstring>
#include <ctime>
#include <vector>

#include "../../examples/check.h"

/* Checks calls of libraries whose first status, 0, is success. */
#define CHECK_STATUS(call) do {						\
	int err_ = (int)(call);						\
	if (err_) {							\
		fprintf(stderr, "%s:%d: %s: status %d\n", __FILE__,	\
			__LINE__, #call, err_);				\
		exit(2);						\
	}								\
} while (0)

#define CHECK_LAUNCH()	CHECK(cudaGetLastError())

/* Returns the value of `name=...` among the arguments, or the preset. */
static inline long option(int argc, char **argv, const char *name, long preset)
{
	size_t n = strlen(name);

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], name, n) && argv[i][n] == '=')
			return strtol(argv[i] + n + 1, NULL, 0);
	return preset;
}

/* Computes FNV-1a, 64 bit; h continues an earlier hash. */
static inline uint64_t hash_bytes(const void *p, size_t n, uint64_t h = 0xcbf29ce484222325ULL)
{
	const unsigned char *b = (const unsigned char *)p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * 0x100000001b3ULL;
	return h;
}

template <typename T>
static inline uint64_t hash_device(const T *dev, size_t n, uint64_t h = 0xcbf29ce484222325ULL)
{
	std::vector<T> host(n);

	CHECK(cudaMemcpy(host.data(), dev, n * sizeof(T), cudaMemcpyDeviceToHost));
	return hash_bytes(host.data(), n * sizeof(T), h);
}

static inline void print_hash(const char *what, uint64_t h)
{
	printf("%s %016llx\n", what, (unsigned long long)h);
}

static inline double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* A small generator of its own, which gives the same numbers with every C library. */
struct Random {
	uint64_t state;

	explicit Random(uint64_t seed) : state(seed * 2862933555777941757ULL + 3037000493ULL) { }
	uint32_t bits()
	{
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		return (uint32_t)(state >> 33);
	}
	/* Returns a number in [-1, 1). */
	float real() { return (float)bits() / 1073741824.0f - 1.0f; }
};

#endif
