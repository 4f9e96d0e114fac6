// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises cublasLt as its header documents it. Descriptors and layouts are
 * values with the documented defaults and refuse a wrong size. Products with their
 * epilogues, pointer modes, orders and batches are right to the bit where the numbers are
 * exact. A handle of cuBLAS works like a handle of cublasLt. It runs over softgpu's
 * stand-in.
 *
 * 	cublaslt requests N	N products, each described anew; for cublaslt_requests_test.sh
 */
#include <cublas_v2.h>

#include "cublaslt.h"

static cublasLtHandle_t handle;
static struct operands o;

/* --- Products and what they should be ---------------------------------------------------- */

static void fill(double *v)
{
	int i;

	for (i = 0; i < MOST; i++)
		v[i] = noise();
}

static double want(const struct product *p, int z, int i, int j)
{
	const int at = p->order == CUBLASLT_ORDER_ROW ? i * c_ld(p) + j : i + j * c_ld(p);
	const double alpha = p->mode >= CUBLASLT_POINTER_MODE_DEVICE_VECTOR ? i + 1 : p->alpha;
	double v = 0;
	int l;

	for (l = 0; l < p->k; l++)
		v += o.a[z * a_apart(p) + (p->ta ? l + i * ld(p->k) : i + l * ld(p->m))] *
		     o.b[z * b_apart(p) + (p->tb ? j + l * ld(p->n) : l + j * ld(p->k))];
	v = alpha * v + p->beta * o.c[z * c_apart(p) + at];
	if (p->epilogue & CUBLASLT_EPILOGUE_BIAS)
		v += o.bias[i];
	if (p->epilogue & CUBLASLT_EPILOGUE_RELU)
		v = v < 0 ? 0 : v;
	if (p->epilogue & CUBLASLT_EPILOGUE_GELU)
		v = v / 2 * (1 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
	return v;
}

/* Puts the scalars where the mode wants them: alpha and beta, or one for each row. */
static void put_scalars(const struct product *p, void **alpha, void **beta)
{
	static double host[2], rows[64];
	int i;

	to_type(p->scale, (double[2]){ p->alpha, p->beta }, host, 2);
	*alpha = host;
	*beta = (uint8_t *)host + size_of(p->scale);
	for (i = 0; i < 64; i++)
		rows[i] = i + 1;
	if (p->mode == CUBLASLT_POINTER_MODE_HOST)
		return;
	o.scalars = p->mode == CUBLASLT_POINTER_MODE_DEVICE ?
		device(host, 2 * size_of(p->scale)) : send(p->scale, rows, 64);
	*alpha = (void *)o.scalars;
	if (p->mode == CUBLASLT_POINTER_MODE_DEVICE)
		*beta = (uint8_t *)*alpha + size_of(p->scale);
}

static cublasStatus_t run(cublasLtHandle_t h, const struct product *p, struct made *m)
{
	void *alpha, *beta;

	put_scalars(p, &alpha, &beta);
	return cublasLtMatmul(h, m->desc, alpha, (void *)o.da, m->a, (void *)o.db, m->b, beta,
			      (void *)o.dc, m->c, (void *)o.dc, m->c, &m->found.algo, NULL, 0,
			      NULL);
}

static void prepare(const struct product *p)
{
	fill(o.a);
	fill(o.b);
	fill(o.c);
	fill(o.bias);
	o.da = send(p->type, o.a, a_apart(p) * p->batch);
	o.db = send(p->type, o.b, b_apart(p) * p->batch);
	o.dc = send(p->out, o.c, c_apart(p) * p->batch);
	o.dbias = send(p->out, o.bias, p->m);
}

static void leave(void)
{
	cuMemFree(o.da);
	cuMemFree(o.db);
	cuMemFree(o.dc);
	cuMemFree(o.dbias);
	cuMemFree(o.scalars);
	o.scalars = 0;
}

static int compare(const struct product *p)
{
	const double few = p->out == CUDA_R_16F || p->out == CUDA_R_16BF ? 0.01 : 1e-5;
	static uint8_t bytes[MOST * 8];
	int i, j, z, bad = 0;

	cuMemcpyDtoH(bytes, o.dc, c_apart(p) * p->batch * size_of(p->out));
	from_type(p->out, bytes, o.got, c_apart(p) * p->batch);
	for (z = 0; z < p->batch; z++)
		for (j = 0; j < p->n; j++)
			for (i = 0; i < p->m; i++) {
				const int at = z * c_apart(p) + (p->order == CUBLASLT_ORDER_ROW ?
					       i * c_ld(p) + j : i + j * c_ld(p));
				const double w = want(p, z, i, j);

				if (fabs(o.got[at] - w) > few * (1 + fabs(w)) && !bad++)
					diag("(%d, %d) of %d: expected %g, got %g", i, j, z, w, o.got[at]);
			}
	return !bad;
}

static void product(struct product p, const char *name)
{
	struct made m;
	cublasStatus_t st;

	p.batch = p.batch ? p.batch : 1;
	prepare(&p);
	describe(&p, &m, p.epilogue & CUBLASLT_EPILOGUE_BIAS ? o.dbias : 0);
	st = heuristic(handle, &m);
	if (!st)
		st = run(handle, &p, &m);
	ok(!st && compare(&p), name);
	if (st)
		diag("%s", cublasLtGetStatusName(st));
	undo(&m);
	leave();
}

static void test_products(void)
{
	product((struct product){ F32, .m = 7, .n = 5, .k = 9, .alpha = 1 }, "product_of_floats");
	product((struct product){ F32, .m = 7, .n = 5, .k = 9, .alpha = 2, .beta = -1,
				  .ta = CUBLAS_OP_T, .tb = CUBLAS_OP_T },
		"transposed_with_both_scalars");
	product((struct product){ .type = CUDA_R_64F,
				  .out = CUDA_R_64F,
				  .compute = CUBLAS_COMPUTE_64F,
				  .scale = CUDA_R_64F,
				  .m = 6,
				  .n = 6,
				  .k = 3,
				  .alpha = 0.5,
				  .beta = 2 },
		"product_of_doubles");
	product((struct product){ FLOATS(16F, 16F), .m = 8, .n = 4, .k = 8,
				  .alpha = 1 }, "product_of_halves_is_computed_in_floats");
	product((struct product){ FLOATS(16BF, 16BF), .m = 8, .n = 4, .k = 8,
				  .alpha = 1 }, "product_of_bfloats_is_computed_in_floats");
	product((struct product){ FLOATS(16BF, 32F), .m = 8, .n = 4, .k = 8, .alpha = 1 },
		"bfloats_may_give_floats");
	product((struct product){ F32, .m = 4, .n = 3, .k = 5, .alpha = 1, .beta = 1, .batch = 3 },
		"each_product_of_a_batch");
	product((struct product){ F32, .m = 4, .n = 6, .k = 5, .alpha = 1,
				  .order = CUBLASLT_ORDER_ROW },
		"result_in_row_order");
	product((struct product){ F32, .m = 7, .n = 5, .k = 9, .alpha = 2, .beta = -1,
				  .ta = CUBLAS_OP_T, .epilogue = CUBLASLT_EPILOGUE_RELU_BIAS,
				  .older = true }, "described_in_the_struct_of_an_older_library");
}

static void test_epilogues(void)
{
	product((struct product){ F32, .m = 7, .n = 5, .k = 3, .alpha = 1,
				  .epilogue = CUBLASLT_EPILOGUE_BIAS }, "bias_is_added_to_each_column");
	product((struct product){ F32, .m = 7, .n = 5, .k = 3, .alpha = 1,
				  .epilogue = CUBLASLT_EPILOGUE_RELU_BIAS }, "bias_then_relu");
	product((struct product){ FLOATS(16BF, 16BF), .m = 8, .n = 5, .k = 4,
				  .alpha = 1, .epilogue = CUBLASLT_EPILOGUE_GELU_BIAS }, "bias_then_gelu");
}

static void test_pointer_modes(void)
{
	product((struct product){ F32, .m = 5, .n = 5, .k = 5, .alpha = 3, .beta = 2,
				  .mode = CUBLASLT_POINTER_MODE_DEVICE }, "scalars_on_the_device");
	product((struct product){ F32, .m = 5, .n = 5, .k = 5, .beta = 0,
				  .mode = CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO },
		"an_alpha_for_each_row_and_no_beta");
	product((struct product){ F32, .m = 5, .n = 5, .k = 5, .beta = 2,
				  .mode = CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST },
		"an_alpha_for_each_row_and_one_beta_of_the_host");
}

/* --- Descriptors ----------------------------------------------------------------------- */

#define IS(descriptor, kind, name, type, value) ({ \
	type got_ = 0; \
	size_t n_ = 0; \
	!cublasLt##kind##GetAttribute(descriptor, name, &got_, sizeof(got_), &n_) && \
		n_ == sizeof(got_) && got_ == (type)(value); })

static void test_defaults(void)
{
	cublasLtMatmulPreferenceOpaque_t pref;
	cublasLtMatrixLayoutOpaque_t l;
	cublasLtMatmulDescOpaque_t d, copy;

	cublasLtMatmulDescInit(&d, CUBLAS_COMPUTE_32F, CUDA_R_32F);
	memcpy(&copy, &d, sizeof(copy));
	memset(&d, 0xff, sizeof(d));
	ok(IS(&copy, MatmulDesc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, int32_t, CUBLAS_COMPUTE_32F) &&
		   IS(&copy, MatmulDesc, CUBLASLT_MATMUL_DESC_FILL_MODE, int32_t,
		      CUBLAS_FILL_MODE_FULL) &&
		   IS(&copy, MatmulDesc, CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t,
		      CUBLASLT_EPILOGUE_DEFAULT) &&
		   IS(&copy, MatmulDesc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, int32_t, -1) &&
		   IS(&copy, MatmulDesc, CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t, 0) &&
		   IS(&copy, MatmulDesc, CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, uint64_t, 0),
	   "descriptor_copied_as_bytes_has_the_documented_defaults");
	cublasLtMatrixLayoutInit(&l, CUDA_R_16F, 3, 4, 5);
	ok(IS(&l, MatrixLayout, CUBLASLT_MATRIX_LAYOUT_ROWS, uint64_t, 3) &&
	   IS(&l, MatrixLayout, CUBLASLT_MATRIX_LAYOUT_LD, int64_t, 5) &&
	   IS(&l, MatrixLayout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t, 1) &&
	   IS(&l, MatrixLayout, CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t, CUBLASLT_ORDER_COL),
	   "layout_has_what_it_was_made_of_and_the_defaults");
	cublasLtMatmulPreferenceInit(&pref);
	ok(IS(&pref, MatmulPreference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, uint32_t, 256) &&
	   IS(&pref, MatmulPreference, CUBLASLT_MATMUL_PREF_IMPL_MASK, uint64_t, UINT64_MAX) &&
	   IS(&pref, MatmulPreference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t, 0),
	   "preference_has_the_documented_defaults");
	ok_eq(cublasLtMatmulDescInit_internal(&d, 8, CUBLAS_COMPUTE_32F, CUDA_R_32F),
	      CUBLAS_STATUS_ALLOC_FAILED, "too_little_room_is_refused");
}

/* What an older library's header declares must do for its programs, and lacks what is newer. */
static void test_older_struct(void)
{
	uint64_t words[OLDER_WORDS + 1] = { [OLDER_WORDS] = 7 }, where = 256;
	cublasLtMatmulDesc_t d = (void *)words;
	int32_t mode = 1;

	ok(!cublasLtMatmulDescInit_internal(d, OLDER_WORDS * sizeof(uint64_t), CUBLAS_COMPUTE_32F,
					    CUDA_R_32F) &&
	   IS(d, MatmulDesc, CUBLASLT_MATMUL_DESC_SCALE_TYPE, int32_t, CUDA_R_32F) &&
	   !cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER,
					   &where, sizeof(where)) &&
	   IS(d, MatmulDesc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, uint64_t, 256),
	   "struct_of_an_older_library_has_its_attributes");
	ok(cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &mode,
					  sizeof(mode)) == CUBLAS_STATUS_INVALID_VALUE &&
	   cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, &where,
					  sizeof(where)) == CUBLAS_STATUS_INVALID_VALUE &&
	   words[OLDER_WORDS] == 7, "and_no_newer_ones");
}

static void test_attributes(void)
{
	const int32_t n = 4;
	const int64_t wide = 4;
	cublasLtMatrixLayoutOpaque_t l;
	int32_t got = 0;
	size_t size = 0;

	cublasLtMatrixLayoutInit(&l, CUDA_R_32F, 2, 2, 2);
#define SETS(attr, buf, bytes) \
	cublasLtMatrixLayoutSetAttribute(&l, (cublasLtMatrixLayoutAttribute_t)(attr), buf, bytes)
#define GETS(attr, buf, bytes, w) \
	cublasLtMatrixLayoutGetAttribute(&l, (cublasLtMatrixLayoutAttribute_t)(attr), buf, bytes, w)
	ok_eq(SETS(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &wide, sizeof(wide)),
	      CUBLAS_STATUS_INVALID_VALUE, "value_of_another_size_is_refused");
	ok_eq(SETS(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, NULL, sizeof(n)),
	      CUBLAS_STATUS_INVALID_VALUE, "no_value_is_refused");
	ok_eq(SETS(77, &n, sizeof(n)), CUBLAS_STATUS_INVALID_VALUE, "unknown_attribute_is_refused");
	ok(!SETS(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &n, sizeof(n)) &&
	   !GETS(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &got, sizeof(got), NULL) && got == n,
	   "what_was_set_is_got");
	ok(!GETS(CUBLASLT_MATRIX_LAYOUT_LD, NULL, 0, &size) && size == sizeof(int64_t),
	   "asked_with_no_room_it_tells_the_size");
	ok(GETS(CUBLASLT_MATRIX_LAYOUT_LD, NULL, 0, NULL) == CUBLAS_STATUS_INVALID_VALUE &&
	   GETS(CUBLASLT_MATRIX_LAYOUT_LD, &got, sizeof(got), NULL) == CUBLAS_STATUS_INVALID_VALUE,
	   "asked_wrongly_it_refuses");
	memset(&l, 0, sizeof(l));
	ok_eq(SETS(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &n, sizeof(n)), CUBLAS_STATUS_INVALID_VALUE,
	      "layout_that_was_never_made_is_refused");
}

/* --- Algorithms -------------------------------------------------------------------------- */

static void test_algorithms(void)
{
	const struct product p = { F32, .m = 8, .n = 8, .k = 8, .alpha = 1, .batch = 1 };
	const uint32_t search = CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID,
		       tile = CUBLASLT_MATMUL_TILE_16x16;
	static cublasLtMatmulHeuristicResult_t many[10000];
	cublasLtMatmulHeuristicResult_t result;
	uint32_t tiles[100] = { 0 }, got = 0;
	cublasLtMatmulAlgo_t algo;
	int ids[4] = { 0 }, n = 0;
	size_t size = 0;
	struct made m;

	describe(&p, &m, 0);
	ok(!heuristic(handle, &m) && !m.found.state && m.found.wavesCount == 1,
	   "heuristic_gives_an_algorithm");
	ok(!cublasLtMatmulAlgoGetIds(handle, p.compute, p.scale, p.type, p.type, p.out, p.out, 4,
				     ids, &n) &&
		   n == 1 &&
		   !cublasLtMatmulAlgoInit(handle, p.compute, p.scale, p.type, p.type, p.out, p.out,
					   ids[0], &algo) &&
		   !memcmp(&algo, &m.found.algo, sizeof(algo)),
	   "algorithm_is_made_of_an_id");
	memset(&result, 0x5a, sizeof(result));
	ok(!cublasLtMatmulAlgoCheck(handle, m.desc, m.a, m.b, m.c, m.c, &algo, &result) &&
		   !result.state && ((uint8_t *)&result.algo)[0] == 0x5a,
	   "check_leaves_the_algorithm_of_its_result_alone");
	ok(!cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile,
						 sizeof(tile)) &&
		   !cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &got,
							 sizeof(got), &size) &&
		   got == tile && size == sizeof(got),
	   "setting_of_an_algorithm_is_kept_in_it");
	ok(!cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_TILE_IDS, NULL, 0, &size) &&
	   size == 8 && !cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_TILE_IDS, tiles,
							    sizeof(tiles), &size) &&
	   size == 8 && tiles[1] == CUBLASLT_MATMUL_TILE_16x16, "list_of_capabilities_comes_whole");
	n = 0;
	ok(!cublasLtMatmulAlgoGetHeuristic(handle, m.desc, m.a, m.b, m.c, m.c, m.pref, 10000, many,
					   &n) &&
		   n == 1 && !memcmp(&many[0].algo, &m.found.algo, sizeof(algo)),
	   "more_may_be_asked_for_than_there_are");
	cublasLtMatmulPreferenceSetAttribute(m.pref, CUBLASLT_MATMUL_PREF_SEARCH_MODE, &search,
					     sizeof(search));
	ok(!heuristic(handle, &m), "search_among_given_algorithms_brings_them");
	memset(&m.found, 0, sizeof(m.found));
	ok_eq(heuristic(handle, &m), CUBLAS_STATUS_INVALID_VALUE, "and_not_those_of_the_last_search");
	undo(&m);
}

/* --- Handles, refusals -------------------------------------------------------------------- */

static void test_handles(void)
{
	struct product p = { F32, .m = 4, .n = 4, .k = 4, .alpha = 1, .batch = 1 };
	cublasLtHandle_t gone = NULL;
	cublasHandle_t blas = NULL;
	struct made m;

	prepare(&p);
	describe(&p, &m, 0);
	cublasCreate_v2(&blas);
	ok(!heuristic((cublasLtHandle_t)blas, &m) && !run((cublasLtHandle_t)blas, &p, &m) &&
		   compare(&p),
	   "handle_of_cublas_does_as_well");
	cublasDestroy_v2(blas);
	ok_eq(run((cublasLtHandle_t)blas, &p, &m), CUBLAS_STATUS_NOT_INITIALIZED,
	      "and_no_longer_when_it_is_destroyed");
	cublasLtCreate(&gone);
	cublasLtDestroy(gone);
	ok_eq(run(gone, &p, &m), CUBLAS_STATUS_NOT_INITIALIZED, "destroyed_handle_is_refused");
	ok_eq(cublasLtDestroy(gone), CUBLAS_STATUS_NOT_INITIALIZED, "and_is_not_destroyed_twice");
	undo(&m);
	leave();
}

static void test_refusals(void)
{
	struct product p = { F32, .m = 8, .n = 8, .k = 8, .alpha = 1, .batch = 1 };
	const uint64_t rows = 4096;
	CUdeviceptr right;
	struct made m;

	prepare(&p);
	describe(&p, &m, 0);
	heuristic(handle, &m);
	right = o.da;
	o.da = (uintptr_t)&p;
	ok_eq(run(handle, &p, &m), CUBLAS_STATUS_INVALID_VALUE, "matrix_in_pageable_memory_is_refused");
	o.da = right;
	SET(&m, BIAS_POINTER, (uint64_t)(uintptr_t)&p);
	ok_eq(run(handle, &p, &m), CUBLAS_STATUS_INVALID_VALUE, "and_so_is_a_bias_there");
	SET(&m, BIAS_POINTER, (uint64_t)0);
	SET(&m, EPILOGUE, CUBLASLT_EPILOGUE_DGELU);
	ok_eq(run(handle, &p, &m), CUBLAS_STATUS_NOT_SUPPORTED, "what_the_library_refuses_is_refused");
	SET(&m, EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
	ok_eq(run(handle, &p, &m), CUBLAS_STATUS_SUCCESS, "after_refusals_products_go_on");
	cublasLtMatrixLayoutSetAttribute(m.b, CUBLASLT_MATRIX_LAYOUT_COLS, &rows, sizeof(rows));
	cublasLtMatrixLayoutSetAttribute(m.c, CUBLASLT_MATRIX_LAYOUT_COLS, &rows, sizeof(rows));
	ok_eq(run(handle, &p, &m), CUBLAS_STATUS_INVALID_VALUE, "matrix_past_its_memory_is_refused");
	undo(&m);
	leave();
	ok(cublasLtLoggerSetLevel(1) == CUBLAS_STATUS_NOT_SUPPORTED, "the_librarys_log_is_refused");
}

static void test_transform(void)
{
	const float two = 2, none = 0;
	const int32_t turned = CUBLAS_OP_T;
	cublasLtMatrixTransformDesc_t d;
	cublasLtMatrixLayout_t a, c;
	float in[6] = { 1, 2, 3, 4, 5, 6 }, out[6] = { 0 };
	/*
	 * This matrix is less aligned than the matrix before; a product like the one before would
	 * be posted.
	 */
	float pageable[8] __attribute__((aligned(256))) = { 0 };
	CUdeviceptr da = device(in, sizeof(in)), dc = device(out, sizeof(out));
	cublasStatus_t st;

	cublasLtMatrixTransformDescCreate(&d, CUDA_R_32F);
	cublasLtMatrixTransformDescSetAttribute(d, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, &turned,
						sizeof(turned));
	cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, 2, 3, 2);
	cublasLtMatrixLayoutCreate(&c, CUDA_R_32F, 3, 2, 3);
	st = cublasLtMatrixTransform(handle, d, &two, (void *)da, a, &none, NULL, NULL, (void *)dc,
				     c, NULL);
	cuMemcpyDtoH(out, dc, sizeof(out));
	ok(!st && out[0] == 2 && out[1] == 6 && out[3] == 4 && out[5] == 12, "matrix_is_scaled_and_turned");
	st = cublasLtMatrixTransform(handle, d, &two, pageable + 1, a, &none, NULL, NULL,
				     (void *)dc, c, NULL);
	ok_eq(st, CUBLAS_STATUS_INVALID_VALUE, "and_not_out_of_pageable_memory");
	cublasLtMatrixTransformDescDestroy(d);
	cublasLtMatrixLayoutDestroy(a);
	cublasLtMatrixLayoutDestroy(c);
	cuMemFree(da);
	cuMemFree(dc);
}

static void test_library(void)
{
	size_t capacity = 0;
	int major = 0;

	ok(cublasLtGetVersion() == CUBLAS_VERSION && !cublasLtGetProperty(MAJOR_VERSION, &major) &&
	   major == CUBLAS_VER_MAJOR, "version_is_the_workers");
	ok(!strcmp(cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED"),
	   "statuses_have_names");
	ok(!cublasLtHeuristicsCacheSetCapacity(77) &&
		   !cublasLtHeuristicsCacheGetCapacity(&capacity) && capacity == 77,
	   "capacity_of_the_librarys_cache_is_set");
}

/* --- Requests ------------------------------------------------------------------------------ */

static int requests(int n)
{
	const struct product p = { F32, .m = 8, .n = 8, .k = 8, .alpha = 1, .batch = 1,
				   .epilogue = CUBLASLT_EPILOGUE_BIAS };
	struct made m;
	int bad = 0;

	prepare(&p);
	for (; n; n--) {
		describe(&p, &m, o.dbias + n % 2 * 256);
		bad += heuristic(handle, &m) || run(handle, &p, &m);
		undo(&m);
	}
	leave();
	return bad;
}

int main(int argc, char **argv)
{
	if (cublasLtCreate(&handle)) {
		printf("Bail out! no handle\n");
		return 1;
	}
	if (argc == 3)
		return requests(atoi(argv[2]));
	tap_plan(52);
	test_library();
	test_defaults();
	test_older_struct();
	test_attributes();
	test_products();
	test_epilogues();
	test_pointer_modes();
	test_algorithms();
	test_handles();
	test_transform();
	test_refusals();
	ok_eq(cublasLtDestroy(handle), CUBLAS_STATUS_SUCCESS, "handle_is_destroyed");
	return tap_exit();
}
