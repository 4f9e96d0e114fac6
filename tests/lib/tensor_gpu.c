// SPDX-License-Identifier: Apache-2.0
/*
 * cuTENSOR at work: contractions, elementwise operations, permutations and reductions of several
 * types, with and without a workspace, a preference and the plan cache. Each is a step
 * (steps_gpu.h), which is compared with sums on the CPU. Elements are multiples of 1/4, so that
 * sums are exact in any order. It needs a GPU.
 */
#include <complex.h>
#include <cutensor.h>
#include <stdbool.h>

#include "steps_gpu.h"

typedef complex double number;
#define MODES	8

/* A mode is a letter. Its extent and its index are the same for all tensors. */
static int64_t extent_of['z' + 1];
static int64_t index_of['z' + 1];

static cutensorHandle_t handle;
static cutensorPlanPreference_t usual;
static CUstream stream;

struct tensor {
	cutensorTensorDescriptor_t desc;
	const char *letter;
	uint32_t modes;
	int32_t mode[MODES];
	int64_t stride[MODES];
	cudaDataType_t type;
	size_t elements;
	CUdeviceptr at;
	number *value;		/* what is there, in the CPU's memory */
};

/* --- Elements ---------------------------------------------------------------------------- */

static size_t size_of(cudaDataType_t type)
{
	return type == CUDA_R_16F ? 2 : type == CUDA_R_32F ? 4 : type == CUDA_C_64F ? 16 : 8;
}

static bool is_complex(cudaDataType_t type)
{
	return type == CUDA_C_32F || type == CUDA_C_64F;
}

static void put(void *array, cudaDataType_t type, size_t i, number v)
{
	switch (type) {
	case CUDA_R_16F:
		((_Float16 *)array)[i] = (_Float16)creal(v);
		break;
	case CUDA_R_32F:
		((float *)array)[i] = (float)creal(v);
		break;
	case CUDA_R_64F:
		((double *)array)[i] = creal(v);
		break;
	case CUDA_C_32F:
		((complex float *)array)[i] = (complex float)v;
		break;
	default:
		((number *)array)[i] = v;
	}
}

static number get(const void *array, cudaDataType_t type, size_t i)
{
	switch (type) {
	case CUDA_R_16F:
		return (double)((const _Float16 *)array)[i];
	case CUDA_R_32F:
		return ((const float *)array)[i];
	case CUDA_R_64F:
		return ((const double *)array)[i];
	case CUDA_C_32F:
		return ((const complex float *)array)[i];
	default:
		return ((const number *)array)[i];
	}
}

static double quarters(size_t i, unsigned int seed)
{
	return ((double)(((i + seed) * 2654435761u >> 7) % 7) - 3) / 4;
}

/* --- Tensors ------------------------------------------------------------------------------- */

static void fill(struct tensor *t, unsigned int seed)
{
	void *array = calloc(t->elements, size_of(t->type));
	size_t i;

	for (i = 0; i < t->elements; i++) {
		t->value[i] = quarters(i, seed);
		if (is_complex(t->type))
			t->value[i] += I * quarters(i, seed + 77);
		put(array, t->type, i, t->value[i]);
	}
	give(t->at, array, t->elements * size_of(t->type));
	free(array);
}

/* A tensor with gaps has strides; the library knows those of one without. */
static struct tensor tensor(const char *letter, cudaDataType_t type, int gap, unsigned int seed)
{
	struct tensor t = { .letter = letter, .modes = strlen(letter), .type = type };
	int64_t extent[MODES] = { 0 };
	uint32_t i;
	int res;

	t.elements = 1;
	for (i = 0; i < t.modes; i++) {
		t.mode[i] = letter[i];
		extent[i] = extent_of[(int)letter[i]];
		t.stride[i] = t.elements;
		t.elements *= extent[i] + (i ? 0 : gap);
	}
	t.value = calloc(t.elements, sizeof(*t.value));
	t.at = room(t.elements * size_of(type));
	fill(&t, seed);
	res = cutensorCreateTensorDescriptor(handle, &t.desc, t.modes, extent,
					     gap ? t.stride : NULL, type, 128);
	if (res)
		printf("tensor %s of type %d: status %d |\n", letter, type, res);
	return t;
}

static void end(struct tensor *t)
{
	if (t->desc)
		cutensorDestroyTensorDescriptor(t->desc);
	cuMemFree(t->at);
	free(t->value);
}

static number *here(const struct tensor *t)
{
	int64_t at = 0;
	uint32_t i;

	for (i = 0; i < t->modes; i++)
		at += index_of[t->mode[i]] * t->stride[i];
	return &t->value[at];
}

/* Goes to the next index of these modes. False: it is the first one again. */
static bool next(const char *letters)
{
	for (; *letters; letters++) {
		if (++index_of[(int)*letters] < extent_of[(int)*letters])
			return true;
		index_of[(int)*letters] = 0;
	}
	return false;
}

static void compare(const char *name, int status, const struct tensor *t, double most)
{
	size_t size = t->elements * size_of(t->type), i;
	void *array = calloc(1, size);
	double off = 0, d;

	take(name, array, t->at, size);
	for (i = 0; i < t->elements; i++) {
		d = cabs(get(array, t->type, i) - t->value[i]);
		off = d <= off ? off : d;	/* also what is no number */
	}
	step(name, status, off, most, array, size);
	free(array);
}

/* --- Plans --------------------------------------------------------------------------------- */

static cutensorPlan_t plan;
static CUdeviceptr work;
static uint64_t work_size;
static cudaDataType_t scale;
static int tries;		/* of a contraction that is tuned */

static const void *factor(number v)
{
	static number room_for[4];
	static int last;
	void *p = &room_for[last++ % 4];

	put(p, scale, 0, v);
	return p;
}

/* Makes the plan of an operation, which ends here. Prints what the library says of both. */
static int make_plan(const char *name, int status, cutensorOperationDescriptor_t op,
		     cutensorPlanPreference_t pref)
{
	uint64_t estimate = 0;
	float flops = 0, moved = 0;

	plan = NULL;
	work = 0;
	work_size = 0;
	scale = 0;
	if (status) {
		printf("%s: %d (not described) |\n", name, status);
		return status;
	}
	status = cutensorOperationDescriptorGetAttribute(handle, op,
							 CUTENSOR_OPERATION_DESCRIPTOR_SCALAR_TYPE,
							 &scale, sizeof(scale));
	status |= cutensorOperationDescriptorGetAttribute(handle, op,
							  CUTENSOR_OPERATION_DESCRIPTOR_FLOPS,
							  &flops, sizeof(flops)) << 8;
	status |= cutensorOperationDescriptorGetAttribute(handle, op,
							  CUTENSOR_OPERATION_DESCRIPTOR_MOVED_BYTES,
							  &moved, sizeof(moved)) << 16;
	printf("%s, described: %d scale=%d flops=%g moved=%g |\n", name, status, scale, flops, moved);
	status = cutensorEstimateWorkspaceSize(handle, op, pref, CUTENSOR_WORKSPACE_DEFAULT,
					       &estimate);
	if (!status)
		status = cutensorCreatePlan(handle, &plan, op, pref, estimate);
	if (!status)
		status = cutensorPlanGetAttribute(handle, plan, CUTENSOR_PLAN_REQUIRED_WORKSPACE,
						  &work_size, sizeof(work_size));
	cutensorDestroyOperationDescriptor(op);
	/* Which kernel is the best one, is a matter of time. */
	if (tries)
		printf("%s, planned: %d |\n", name, status);
	else
		printf("%s, planned: %d work=%llu of %llu |\n", name, status,
		       (unsigned long long)work_size, (unsigned long long)estimate);
	if (!status && work_size)
		work = room(work_size);
	return status;
}

/* Waits, because the plan and its workspace end. */
static void end_plan(void)
{
	cuCtxSynchronize();
	if (plan)
		cutensorDestroyPlan(plan);
	if (work)
		cuMemFree(work);
}

#define OF(t)		(t).desc, (t).mode, CUTENSOR_OP_IDENTITY
#define INTO(t)		(t).desc, (t).mode
#define AT(t)		((void *)(t).at)
#define WORK		(void *)work, work_size, (cudaStream_t)stream

/* --- Contractions -------------------------------------------------------------------------- */

/* The sum over the letters that D has not, of products of A, B and, where there is one, C. */
static void contract_here(const struct tensor *a, const struct tensor *b, const struct tensor *c,
			  struct tensor *d, const char *over, number alpha, number beta)
{
	number all;

	do {
		all = 0;
		do
			all += *here(a) * *here(b) * (c ? *here(c) : 1);
		while (next(over));
		*here(d) = alpha * all + beta * *here(d);
	} while (next(d->letter));
}

/* C[mn] = alpha * A[kml] * B[lnk] + beta * C */
static void contract(const char *name, cudaDataType_t type, cutensorComputeDescriptor_t compute,
		     int gap, cutensorPlanPreference_t pref)
{
	struct tensor a = tensor("kml", type, gap, 1), b = tensor("lnk", type, 0, 2);
	struct tensor c = tensor("mn", type, gap, 3);
	number alpha = is_complex(type) ? 1.5 - 0.5 * I : 1.5, beta = -2;
	cutensorOperationDescriptor_t op = NULL;
	int res;

	res = cutensorCreateContraction(handle, &op, OF(a), OF(b), OF(c), INTO(c), compute);
	res = make_plan(name, res, op, pref);
	if (!res) {
		res = cutensorContract(handle, plan, factor(alpha), AT(a), AT(b), factor(beta),
				       AT(c), AT(c), WORK);
		contract_here(&a, &b, NULL, &c, "kl", alpha, beta);
		/* Halves of sums like these are within a half's last place. */
		compare(name, res, &c, type == CUDA_R_16F ? 0.0625 : 0);
	}
	end_plan();
	end(&a);
	end(&b);
	end(&c);
}

static void contractions(void)
{
	extent_of['k'] = 16;
	extent_of['l'] = 12;
	extent_of['m'] = 40;
	extent_of['n'] = 24;
	contract("contraction of floats", CUDA_R_32F, CUTENSOR_COMPUTE_DESC_32F, 0, usual);
	contract("contraction by TF32", CUDA_R_32F, CUTENSOR_COMPUTE_DESC_TF32, 0, usual);
	contract("contraction of doubles", CUDA_R_64F, CUTENSOR_COMPUTE_DESC_64F, 0, usual);
	contract("contraction of halves", CUDA_R_16F, CUTENSOR_COMPUTE_DESC_32F, 0, usual);
	contract("contraction of complex doubles", CUDA_C_64F, CUTENSOR_COMPUTE_DESC_64F, 0, usual);
	contract("contraction with gaps", CUDA_R_32F, CUTENSOR_COMPUTE_DESC_32F, 3, usual);
	extent_of['k'] = 1 << 10;
	extent_of['l'] = extent_of['m'] = extent_of['n'] = 8;
	contract("contraction that is long", CUDA_R_32F, CUTENSOR_COMPUTE_DESC_32F, 0, usual);
}

/* E[mn] = alpha * A[mk] * B[kl] * C[ln] + beta * E */
static void contract_three(void)
{
	const char *name = "contraction of three";
	struct tensor a, b, c, e;
	cutensorOperationDescriptor_t op = NULL;
	int res;

	extent_of['k'] = extent_of['l'] = 8;
	extent_of['m'] = 40;
	extent_of['n'] = 24;
	a = tensor("mk", CUDA_R_64F, 0, 4);
	b = tensor("kl", CUDA_R_64F, 0, 5);
	c = tensor("ln", CUDA_R_64F, 0, 6);
	e = tensor("mn", CUDA_R_64F, 0, 7);
	res = cutensorCreateContractionTrinary(handle, &op, OF(a), OF(b), OF(c), OF(e), INTO(e),
					       CUTENSOR_COMPUTE_DESC_64F);
	res = make_plan(name, res, op, usual);
	if (!res) {
		res = cutensorContractTrinary(handle, plan, factor(0.5), AT(a), AT(b), AT(c),
					      factor(3), AT(e), AT(e), WORK);
		contract_here(&a, &b, &c, &e, "kl", 0.5, 3);
		compare(name, res, &e, 0);
	}
	end_plan();
	end(&a);
	end(&b);
	end(&c);
	end(&e);
}

/* --- Elementwise --------------------------------------------------------------------------- */

/* D[abc] = alpha * A[ca] + gamma * C[abc] */
static void binary(const char *name, cudaDataType_t type, cutensorComputeDescriptor_t compute)
{
	struct tensor a = tensor("ca", type, 0, 8), c = tensor("abc", type, 0, 9);
	cutensorOperationDescriptor_t op = NULL;
	int res;

	res = cutensorCreateElementwiseBinary(handle, &op, OF(a), OF(c), INTO(c), CUTENSOR_OP_ADD,
					      compute);
	res = make_plan(name, res, op, usual);
	if (!res) {
		res = cutensorElementwiseBinaryExecute(handle, plan, factor(2.5), AT(a), factor(-1),
						       AT(c), AT(c), (cudaStream_t)stream);
		do
			*here(&c) = 2.5 * *here(&a) - *here(&c);
		while (next("abc"));
		compare(name, res, &c, 0);
	}
	end_plan();
	end(&a);
	end(&c);
}

/* D[abc] = max(alpha * A[a] * beta * exp(B[cb]), gamma * C[abc]) */
static void trinary(const char *name, cudaDataType_t type, cutensorComputeDescriptor_t compute)
{
	struct tensor a = tensor("a", type, 0, 10), b = tensor("cb", type, 0, 11);
	struct tensor c = tensor("abc", type, 0, 12), d = tensor("abc", type, 0, 13);
	cutensorOperationDescriptor_t op = NULL;
	int res;

	res = cutensorCreateElementwiseTrinary(handle, &op, OF(a), b.desc, b.mode, CUTENSOR_OP_EXP,
					       OF(c), INTO(d), CUTENSOR_OP_MUL, CUTENSOR_OP_MAX,
					       compute);
	res = make_plan(name, res, op, usual);
	if (!res) {
		res = cutensorElementwiseTrinaryExecute(handle, plan, factor(2), AT(a), factor(0.5),
							AT(b), factor(0.25), AT(c), AT(d),
							(cudaStream_t)stream);
		do
			*here(&d) = fmax(creal(*here(&a)) * exp(creal(*here(&b))),
					 creal(*here(&c)) * 0.25);
		while (next("abc"));
		compare(name, res, &d, type == CUDA_R_64F ? 1e-12 : 1e-5);
	}
	end_plan();
	end(&a);
	end(&b);
	end(&c);
	end(&d);
}

/* B[cba] = alpha * A[abc] */
static void permute(const char *name, cudaDataType_t type, cudaDataType_t to, int gap,
		    cutensorComputeDescriptor_t compute)
{
	struct tensor a = tensor("abc", type, gap, 14), b = tensor("cba", to, 0, 15);
	cutensorOperationDescriptor_t op = NULL;
	int res;

	res = cutensorCreatePermutation(handle, &op, OF(a), INTO(b), compute);
	res = make_plan(name, res, op, usual);
	if (!res) {
		res = cutensorPermute(handle, plan, factor(0.5), AT(a), AT(b),
				      (cudaStream_t)stream);
		do
			*here(&b) = 0.5 * *here(&a);
		while (next("abc"));
		compare(name, res, &b, 0);
	}
	end_plan();
	end(&a);
	end(&b);
}

/*
 * B[ab] = A[ab], with a row before and two behind. B's extents are A's, and its strides leave room
 * for the rows.
 */
static void pad(const char *name)
{
	enum { BEFORE = 1, BEHIND = 2 };
	const uint32_t before[2] = { BEFORE }, behind[2] = { BEHIND };
	struct tensor a = tensor("ab", CUDA_R_32F, 0, 18);
	struct tensor b = tensor("ab", CUDA_R_32F, BEFORE + BEHIND, 19);
	cutensorOperationDescriptor_t op = NULL;
	const float value = 2.5;
	size_t i;
	int res;

	res = cutensorCreatePermutation(handle, &op, OF(a), INTO(b), CUTENSOR_COMPUTE_DESC_32F);
	if (!res)
		res = cutensorOperationDescriptorSetAttribute(handle, op,
				CUTENSOR_OPERATION_DESCRIPTOR_PADDING_LEFT, before, sizeof(before));
	if (!res)
		res = cutensorOperationDescriptorSetAttribute(handle, op,
				CUTENSOR_OPERATION_DESCRIPTOR_PADDING_RIGHT, behind,
				sizeof(behind));
	if (!res)
		res = cutensorOperationDescriptorSetAttribute(handle, op,
				CUTENSOR_OPERATION_DESCRIPTOR_PADDING_VALUE, &value, sizeof(value));
	res = make_plan(name, res, op, usual);
	if (!res) {
		res = cutensorPermute(handle, plan, factor(1), AT(a), AT(b), (cudaStream_t)stream);
		for (i = 0; i < b.elements; i++)
			b.value[i] = value;
		do
			here(&b)[BEFORE] = *here(&a);
		while (next("ab"));
		compare(name, res, &b, 0);
	}
	end_plan();
	end(&a);
	end(&b);
}

static void elementwise(void)
{
	extent_of['a'] = 33;
	extent_of['b'] = 7;
	extent_of['c'] = 20;
	binary("addition of floats", CUDA_R_32F, CUTENSOR_COMPUTE_DESC_32F);
	binary("addition of doubles", CUDA_R_64F, CUTENSOR_COMPUTE_DESC_64F);
	binary("addition of complex floats", CUDA_C_32F, CUTENSOR_COMPUTE_DESC_32F);
	trinary("three tensors of floats", CUDA_R_32F, CUTENSOR_COMPUTE_DESC_32F);
	trinary("three tensors of doubles", CUDA_R_64F, CUTENSOR_COMPUTE_DESC_64F);
	permute("permutation of floats", CUDA_R_32F, CUDA_R_32F, 0, CUTENSOR_COMPUTE_DESC_32F);
	permute("permutation of doubles", CUDA_R_64F, CUDA_R_64F, 0, CUTENSOR_COMPUTE_DESC_64F);
	permute("permutation with gaps", CUDA_R_32F, CUDA_R_32F, 5, CUTENSOR_COMPUTE_DESC_32F);
	permute("permutation into halves", CUDA_R_32F, CUDA_R_16F, 0, CUTENSOR_COMPUTE_DESC_32F);
	pad("permutation with padding");
}

/* --- Reductions ---------------------------------------------------------------------------- */

/* C[...] = alpha * (all of A[abc] that are not C's, by add or max) + beta * C */
static void reduce(const char *name, cudaDataType_t type, cutensorComputeDescriptor_t compute,
		   const char *into, const char *over, cutensorOperator_t how)
{
	struct tensor a = tensor("abc", type, 0, 16), c = tensor(into, type, 0, 17);
	cutensorOperationDescriptor_t op = NULL;
	number all;
	int res;

	res = cutensorCreateReduction(handle, &op, OF(a), OF(c), INTO(c), how, compute);
	res = make_plan(name, res, op, usual);
	if (!res) {
		res = cutensorReduce(handle, plan, factor(1.5), AT(a), factor(2), AT(c), AT(c),
				     WORK);
		do {
			all = how == CUTENSOR_OP_MAX ? -INFINITY : 0;
			do
				all = how == CUTENSOR_OP_MAX ? fmax(creal(all), creal(*here(&a))) :
							       all + *here(&a);
			while (next(over));
			*here(&c) = 1.5 * all + 2 * *here(&c);
		} while (next(into));
		compare(name, res, &c, 0);
	}
	end_plan();
	end(&a);
	end(&c);
}

static void reductions(void)
{
	extent_of['a'] = 64;
	extent_of['b'] = 50;
	extent_of['c'] = 40;
	reduce("sums of floats", CUDA_R_32F, CUTENSOR_COMPUTE_DESC_32F, "b", "ac",
	       CUTENSOR_OP_ADD);
	reduce("sums of doubles", CUDA_R_64F, CUTENSOR_COMPUTE_DESC_64F, "cb", "a",
	       CUTENSOR_OP_ADD);
	reduce("maxima of doubles", CUDA_R_64F, CUTENSOR_COMPUTE_DESC_64F, "a", "bc",
	       CUTENSOR_OP_MAX);
	reduce("sum of all floats", CUDA_R_32F, CUTENSOR_COMPUTE_DESC_32F, "", "abc",
	       CUTENSOR_OP_ADD);
}

/* --- Preferences --------------------------------------------------------------------------- */

static void prefer(const char *name, cutensorAlgo_t algo, cutensorJitMode_t jit)
{
	cutensorPlanPreference_t pref = NULL;
	int res = cutensorCreatePlanPreference(handle, &pref, algo, jit);

	if (!res)
		contract(name, CUDA_R_32F, CUTENSOR_COMPUTE_DESC_32F, 0, pref);
	else
		said(name, res);
	if (pref)
		cutensorDestroyPlanPreference(pref);
}

static int set(cutensorPlanPreference_t pref, cutensorPlanPreferenceAttribute_t what, int32_t value)
{
	return cutensorPlanPreferenceSetAttribute(handle, pref, what, &value, sizeof(value));
}

/* The library tries another kernel each time, and then takes the best one from its cache. */
static void tune(void)
{
	cutensorPlanPreference_t pref = NULL;
	int32_t got = -1;
	char name[64];
	int res;

	res = cutensorCreatePlanPreference(handle, &pref, CUTENSOR_ALGO_DEFAULT,
					   CUTENSOR_JIT_MODE_NONE);
	if (!res)
		res = set(pref, CUTENSOR_PLAN_PREFERENCE_AUTOTUNE_MODE,
			  CUTENSOR_AUTOTUNE_MODE_INCREMENTAL);
	if (!res)
		res = set(pref, CUTENSOR_PLAN_PREFERENCE_CACHE_MODE, CUTENSOR_CACHE_MODE_PEDANTIC);
	if (!res)
		res = set(pref, CUTENSOR_PLAN_PREFERENCE_INCREMENTAL_COUNT, 3);
	said("preference is set", res);
	if (!res) {
		res = cutensorPlanPreferenceGetAttribute(handle, pref,
							 CUTENSOR_PLAN_PREFERENCE_INCREMENTAL_COUNT,
							 &got, sizeof(got));
		printf("preference is got: %d %d |\n", res, got);
	}
	for (tries = 1; tries <= 5 && !res; tries++) {
		snprintf(name, sizeof(name), "contraction that is tuned, %d", tries);
		contract(name, CUDA_R_64F, CUTENSOR_COMPUTE_DESC_64F, 0, pref);
	}
	tries = 0;
	if (pref)
		cutensorDestroyPlanPreference(pref);
}

static void preferences(void)
{
	extent_of['k'] = 16;
	extent_of['l'] = 12;
	extent_of['m'] = 40;
	extent_of['n'] = 24;
	prefer("contraction by GETT", CUTENSOR_ALGO_GETT, CUTENSOR_JIT_MODE_NONE);
	prefer("contraction by TTGT", CUTENSOR_ALGO_TTGT, CUTENSOR_JIT_MODE_NONE);
	prefer("contraction by patience", CUTENSOR_ALGO_DEFAULT_PATIENT, CUTENSOR_JIT_MODE_NONE);
	prefer("contraction by a compiled kernel", CUTENSOR_ALGO_DEFAULT,
	       CUTENSOR_JIT_MODE_DEFAULT);
	said("plan cache", cutensorHandleResizePlanCache(handle, 64));
	tune();
}

int main(void)
{
	int res;

	use_device(0);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	printf("version: 0 %zu %zu |\n", cutensorGetVersion(), cutensorGetCudartVersion());
	res = cutensorCreate(&handle);
	said("handle", res);
	if (res)
		return 0;
	said("usual preference", cutensorCreatePlanPreference(handle, &usual, CUTENSOR_ALGO_DEFAULT,
							      CUTENSOR_JIT_MODE_NONE));
	contractions();
	contract_three();
	elementwise();
	reductions();
	preferences();
	cuStreamSynchronize(stream);
	said("end of the preference", cutensorDestroyPlanPreference(usual));
	said("end", cutensorDestroy(handle));
	return 0;
}
