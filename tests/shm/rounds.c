// SPDX-License-Identifier: Apache-2.0
/*
 * Makes steps of one kind, for rounds_test.sh, which counts requests.
 *
 * usage: rounds KIND STEPS
 */
#include "driver_test.h"

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry add(.param .u64 p)\n{\n.reg .u64 %a; .reg .u32 %v;\n"
	"ld.param.u64 %a, [p]; ld.global.u32 %v, [%a]; add.u32 %v, %v, 1; st.global.u32 [%a], %v; ret;\n}\n";

#define BYTES	18432

static CUfunction add;
static CUstream stream;
static CUdeviceptr dev;
static uint32_t host[BYTES / 4], back[BYTES / 4], wrong;

static CUresult launch(CUstream s)
{
	void *args[] = { &dev };

	return cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, s, args, NULL);
}

/* What a test of a small layer does: data in, forward, backward, the result. */
static void layer(uint32_t i)
{
	host[0] = i;
	wrong += cuMemcpyHtoD(dev, host, BYTES) || launch(NULL) || launch(NULL) ||
		 cuMemcpyDtoH(back, dev, BYTES) || back[0] != i + 2;
}

/* A value that a program asks for: into pageable memory, and a wait. */
static void value(uint32_t i)
{
	(void)i;
	wrong += launch(stream) || cuMemcpyDtoHAsync(back, dev, 4, stream) ||
		 cuStreamSynchronize(stream);
}

static void waits(uint32_t i)
{
	(void)i;
	wrong += launch(stream) || cuStreamSynchronize(stream) || cuStreamSynchronize(stream);
}

static void copied(uint32_t i)
{
	host[0] = i;
	wrong += cuStreamSynchronize(NULL) || cuMemcpyHtoD(dev, host, BYTES) ||
		 cuStreamSynchronize(NULL);
}

/* A look at the time: an event that the program keeps for a step. */
static void event(uint32_t i)
{
	CUevent e;

	(void)i;
	wrong += cuEventCreate(&e, CU_EVENT_DEFAULT) || cuEventRecord(e, stream) ||
		 cuEventDestroy(e);
}

static const struct kind {
	const char *name;
	void (*step)(uint32_t i);
} kinds[] = {
	{ "layer", layer }, { "apart", layer }, { "value", value }, { "waits", waits },
	{ "shared", layer }, { "copied", copied }, { "event", event },
};

#define KINDS	(sizeof(kinds) / sizeof(*kinds))

int main(int argc, char **argv)
{
	const struct kind *k = kinds;
	uint32_t i, steps = argc > 2 ? atoi(argv[2]) : 0;
	CUipcMemHandle handle;
	CUstream other;
	CUmodule m;

	while (k < kinds + KINDS && (argc < 2 || strcmp(k->name, argv[1])))
		k++;
	begin();
	if (k == kinds + KINDS || cuModuleLoadData(&m, ptx) || cuModuleGetFunction(&add, m, "add") ||
	    cuMemAlloc(&dev, BYTES) || cuStreamCreate(&stream, 0))
		return 2;
	if (!strcmp(k->name, "apart") && cuStreamCreate(&other, CU_STREAM_NON_BLOCKING))
		return 2;
	if (!strcmp(k->name, "shared") && cuIpcGetMemHandle(&handle, dev))
		return 2;
	for (i = 0; i < steps; i++)
		k->step(i);
	return wrong != 0;
}
