// SPDX-License-Identifier: Apache-2.0
/*
 * The numbers by which CUPTI calls functions: by their names, and for requests of libraries by the
 * number of the request.
 */
#include "cupti_stub.h"
#include "gen_call_names.h"

#include <stdlib.h>

struct named {
	uint32_t cbid;
	const char *name;
};

#define RUNTIME(number, name)	{ number, #name },
#define DRIVER(number, name)
#define NVTX(number, name)
static const struct named runtime[] = {
#include "gen_cupti_cbids.h"
};
#undef RUNTIME
#undef DRIVER
#define RUNTIME(number, name)
#define DRIVER(number, name)	{ number, #name },
static const struct named driver[] = {
#include "gen_cupti_cbids.h"
};

#undef DRIVER
#undef NVTX
#define DRIVER(number, name)
#define NVTX(number, name)	{ number, #name },
static const struct named nvtx[] = {
#include "gen_cupti_cbids.h"
};

#define COUNT(a)	(sizeof(a) / sizeof(*(a)))
#define CALLS		1024u	/* numbers of the driver's requests are below */

/* Our own requests, and the functions that send them. */
static const struct {
	const char *request, *function;
} ours[] = {
	{ "whLaunch", "cuLaunchKernel" },
	{ "whSmallIn", "cuMemcpyHtoDAsync_v2" },
	{ "whStageCopy", "cuMemcpyAsync" },
	{ "whWait", "cuStreamSynchronize" },
	{ "whHostFunc", "cuLaunchHostFunc" },
	{ "whEventCreate", "cuEventCreate" },
};

static struct named by_name[COUNT(runtime)];	/* without versions, sorted */
static uint16_t of_call[CALLS];
static bool staged[CALLS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int compare(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : (x->cbid > y->cbid) - (x->cbid < y->cbid);
}

/* Cuts the version off the end, as in cudaLaunchKernel_v7000. */
static const char *without_version(const char *name)
{
	const char *v = strrchr(name, '_');
	size_t n = v && v[1] == 'v' && strlen(v) >= 6 ? (size_t)(v - name) : strlen(name);

	return strndup(name, n);
}

static uint32_t find_driver(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(ours); i++)
		if (!strcmp(ours[i].request, name))
			name = ours[i].function;
	for (i = 0; i < COUNT(driver); i++)
		if (!strcmp(driver[i].name, name))
			return driver[i].cbid;
	return 0;
}

static void note_call(uint32_t call, const char *name)
{
	of_call[call] = find_driver(name);
	staged[call] = !strcmp(name, "whSmallIn") || !strcmp(name, "whStageCopy");
}

static void setup(void)
{
	size_t i;

	for (i = 0; i < COUNT(runtime); i++) {
		by_name[i] = runtime[i];
		by_name[i].name = without_version(runtime[i].name);
		if (!by_name[i].name)
			by_name[i].name = runtime[i].name;
	}
	qsort(by_name, COUNT(by_name), sizeof(*by_name), compare);
	for (i = 0; i < COUNT(gen_call_names); i++)
		if (gen_call_names[i].call < CALLS)
			note_call(gen_call_names[i].call, gen_call_names[i].name);
}

/*
 * Of several versions the newest one is CUDA 13's function, and the oldest one that of a runtime
 * with an older shape. What the compiler's code for <<<>>> calls, such as __cudaLaunchKernel, is
 * the function of that name.
 */
static uint32_t find_runtime(const char *name, bool oldest)
{
	size_t low = 0, high = COUNT(by_name), mid;

	if (!strncmp(name, "__", 2))
		name += 2;
	while (low < high) {
		mid = (low + high) / 2;
		if (strcmp(by_name[mid].name, name) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || strcmp(by_name[low - 1].name, name))
		return 0;
	while (oldest && low > 1 && !strcmp(by_name[low - 2].name, name))
		low--;
	return by_name[low - 1].cbid;
}

#define NONE	UINT32_MAX	/* in a function's memo */
#define NEWEST	13		/* the major whose shapes most functions have */

uint32_t cu_cbid_of(struct wh_api_function *f)
{
	uint32_t known = __atomic_load_n(&f->memo, __ATOMIC_RELAXED);

	if (!known) {
		pthread_once(&once, setup);
		known = f->api == WH_API_RUNTIME ? find_runtime(f->name, f->major < NEWEST) :
						   find_driver(f->name);
		__atomic_store_n(&f->memo, known ? known : NONE, __ATOMIC_RELAXED);
	}
	return known == NONE ? 0 : known;
}

uint32_t cu_driver_cbid(uint32_t call)
{
	pthread_once(&once, setup);
	return call < CALLS ? of_call[call] : 0;
}

bool cu_is_staged(uint32_t call)
{
	pthread_once(&once, setup);
	return call < CALLS && staged[call];
}

const char *cu_cbid_name(CUpti_CallbackDomain domain, uint32_t cbid)
{
	const struct named *t = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? runtime :
				domain == CUPTI_CB_DOMAIN_NVTX ? nvtx : driver;
	size_t n = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? COUNT(runtime) :
		   domain == CUPTI_CB_DOMAIN_NVTX ? COUNT(nvtx) : COUNT(driver), i;

	for (i = 0; i < n; i++)
		if (t[i].cbid == cbid)
			return t[i].name;
	return NULL;
}
