// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that cuSPARSE calls go right through the stub, over a library that
 * writes down what it is told. State and matrix descriptors make no call and travel with
 * the next one. Scalars have the size of their type and are where the pointer mode says.
 * Invalid descriptors do not reach the library.
 */
typedef struct {
	unsigned short x;
} __half;
#include <cusparse.h>
#include <sys/mman.h>

#include "lib_test.h"

/* The header declares these for C++ only. */
cusparseStatus_t cusparseHpruneDense2csr(cusparseHandle_t handle, int m, int n, const __half *A,
					 int lda, const __half *threshold,
					 const cusparseMatDescr_t descrC, __half *values,
					 const int *rows, int *cols, void *buffer);

static cusparseHandle_t handle;
static cusparseSpMatDescr_t mat;
static cusparseDnVecDescr_t vec;
/* The test reserves these addresses of the device, because the worker lets no others pass. */
#define DEVICE	0x300000000000ULL
static void *const X = (void *)(DEVICE + 0x12340), *const Y = (void *)(DEVICE + 0x56780);
static void *const Z = (void *)(DEVICE + 0x9abc0);

static cusparseStatus_t spmv(const void *alpha, const void *beta, cudaDataType type)
{
	return cusparseSpMV(handle, CUSPARSE_OPERATION_TRANSPOSE, alpha, mat, vec, beta, vec, type,
			    CUSPARSE_SPMV_CSR_ALG2, Z);
}

#define SPMV(state, alpha, beta, type) "spmv handle=1 " state "|op=1 alpha=" alpha " beta=" beta \
	" type=" type " alg=3 nnz=5 x=4 y=4 buffer=0x30000009abc0"

/* --- The library and its handle ------------------------------------------------------ */

static void test_library(void)
{
	int value = 0;

	ok(!strcmp(cusparseGetErrorString(CUSPARSE_STATUS_INSUFFICIENT_RESOURCES),
		   "insufficient resources"), "status_has_its_text");
	ok(!strcmp(cusparseGetErrorName(CUSPARSE_STATUS_ZERO_PIVOT), "CUSPARSE_STATUS_ZERO_PIVOT"),
	   "and_its_name");
	ok(!strcmp(cusparseGetErrorName((cusparseStatus_t)4711), "unrecognized error code"),
	   "unknown_status_says_so");
	cusparseGetProperty(MINOR_VERSION, &value);
	cusparseGetProperty(MINOR_VERSION, &value);
	ok_eq(value, 41, "property_is_the_workers");
	told("property 1", "and_asked_for_once");
	cusparseGetVersion(handle, &value);
	cusparseGetVersion(handle, &value);
	ok_eq(value, 12699, "version_is_the_workers");
	told("version handle=1 stream=0 mode=host", "and_asked_for_once_too");
	ok_eq(cusparseLoggerSetLevel(5), CUSPARSE_STATUS_NOT_SUPPORTED, "log_is_refused");
}

static void test_handles(void)
{
	struct { uint64_t words[16]; } zeros = { { 0 } };
	cusparsePointerMode_t mode;
	cusparseHandle_t gone;
	CUdeviceptr device;
	cudaStream_t got;
	CUstream own;
	float one = 1, two = 2;

	ok_eq(cusparseCreate(&handle), 0, "create_needs_no_call_before_it");
	told("create 1", "one_library_handle_is_made");
	cusparseCreate(&gone);
	ok_eq(cusparseDestroy(gone), 0, "destroy_succeeds");
	told("create 2|destroy 2", "and_reaches_the_library");
	ok_eq(cusparseDestroy(gone), CUSPARSE_STATUS_INVALID_VALUE, "destroyed_handle_is_refused");
	ok_eq(cusparseSetStream((cusparseHandle_t)&zeros, NULL), CUSPARSE_STATUS_INVALID_VALUE,
	      "memory_that_is_no_handle_is_refused");
	ok_eq(cusparseDestroy(NULL), 0, "destroying_NULL_is_nothing_as_natively");
	ok(!cuMemAddressReserve(&device, 2 << 20, 0, DEVICE, 0) && device == DEVICE,
	   "addresses_are_reserved");
	cusparseCreateCsr(&mat, 4, 4, 5, X, Y, Z, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_64I,
			  CUSPARSE_INDEX_BASE_ONE, CUDA_R_32F);
	told("csr 4x4 nnz=5 0x300000012340 0x300000056780 0x30000009abc0 types=2,3,0 base=1",
	     "matrix_is_described_to_the_library");
	cusparseCreateDnVec(&vec, 4, Y, CUDA_R_32F);
	cuStreamCreate(&own, 0);
	news();
	ok_eq(cusparseSetStream(handle, own), 0, "stream_is_taken");
	ok_eq(cusparseSetPointerMode(handle, 2), CUSPARSE_STATUS_INVALID_VALUE,
	      "third_pointer_mode_is_refused");
	told("", "setting_state_makes_no_call");
	cusparseGetStream(handle, &got);
	cusparseGetPointerMode(handle, &mode);
	ok(got == own && mode == CUSPARSE_POINTER_MODE_HOST, "state_is_given_back");
	ok_eq(spmv(&one, &two, CUDA_R_32F), 0, "product_succeeds");
	told("set_stream own|" SPMV("stream=own mode=host", "1", "2", "0"),
	     "stream_travels_with_the_next_call");
	cusparseSetStream(handle, NULL);
	spmv(&one, NULL, CUDA_R_32F);
	told("set_stream 0|" SPMV("stream=0 mode=host", "1", "-1", "0"),
	     "default_stream_does_too_and_NULL_stays_NULL");
}

/* --- Scalars --------------------------------------------------------------------------- */

/* Returns a number whose bytes are the last ones before memory that is not mapped. */
static void *at_the_end(const void *value, size_t size)
{
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);

	mprotect(page + 4096, 4096, PROT_NONE);
	return memcpy(page + 4096 - size, value, size);
}

static void test_scalars(void)
{
	cuDoubleComplex z[2] = { { 1.5, -2 }, { 3, 4 } }, result = { 0, 0 };
	struct { float value, behind; } narrow = { 0, 77 };
	CUdeviceptr dalpha, dbeta, dresult;
	float alpha = 3, beta = 0.25, back = 0;
	double wide = 2.5;
	size_t size = 0;
	__half h = { 0x3c55 };

	spmv(at_the_end(&alpha, 4), at_the_end(&beta, 4), CUDA_R_32F);
	told(SPMV("stream=0 mode=host", "3", "0.25", "0"), "float_is_read_as_a_float");
	spmv(at_the_end(&wide, 8), at_the_end(&wide, 8), CUDA_R_64F);
	told(SPMV("stream=0 mode=host", "2.5", "2.5", "1"), "double_as_a_double");
	cusparseZgemvi(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, 2, 3, &z[0], X, 2, 1, Y, Z, &z[1],
		       Y, CUSPARSE_INDEX_BASE_ZERO, NULL);
	told("gemvi handle=1 stream=0 mode=host|op=0 2x3 alpha=1.5-2i beta=3+4i",
	     "complex_ones_by_the_functions_letter");
	cusparseHpruneDense2csr(handle, 1, 1, X, 1, at_the_end(&h, 2), NULL, Y, Z, Z, NULL);
	told("prune handle=1 stream=0 mode=host|threshold=3c55", "halves_are_two_bytes");
	cusparseSpVV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, NULL, vec, &result, CUDA_C_64F,
		     NULL);
	ok(result.x == 6.5 && result.y == 7.5, "result_comes_back");
	cusparseSpVV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, NULL, vec, &narrow, CUDA_R_32F,
		     NULL);
	ok(narrow.value == 3.5 && narrow.behind == 77, "and_is_as_long_as_its_type");
	news();
	cusparseAxpby(handle, at_the_end(&alpha, 4), NULL, at_the_end(&beta, 4), vec);
	told("get dnvec|axpby handle=1 stream=0 mode=host|alpha=3 beta=0.25",
	     "without_a_type_the_vector_is_asked");
	cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, mat, vec, &beta,
				vec, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &size);
	ok_eq(size, (1UL << 33) + 5, "size_comes_back_in_host_memory");
	news();

	dalpha = device(&alpha, 4);
	dbeta = device(&beta, 4);
	dresult = device(NULL, 4);
	cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_DEVICE);
	spmv((void *)dalpha, (void *)dbeta, CUDA_R_32F);
	told("set_mode device|" SPMV("stream=0 mode=device", "3", "0.25", "0"),
	     "in_device_mode_addresses_travel");
	cusparseSpVV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, NULL, vec, (void *)dresult,
		     CUDA_R_32F, NULL);
	cuMemcpyDtoH(&back, dresult, 4);
	ok(back == 3.5, "result_is_in_device_memory_then");
	cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, (void *)dalpha, mat, vec,
				(void *)dbeta, vec, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &size);
	ok_eq(size, (1UL << 33) + 5, "sizes_are_not");
	news();
	cusparseAxpby(handle, (void *)dalpha, NULL, (void *)dbeta, vec);
	told("axpby handle=1 stream=0 mode=device|alpha=3 beta=0.25", "nobody_asks_for_a_type_then");
	ok_eq(spmv(&alpha, &beta, CUDA_R_32F), CUSPARSE_STATUS_INVALID_VALUE,
	      "address_of_the_programs_own_is_refused");
	told("", "before_the_library_sees_it");
	cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_HOST);
}

/* --- Descriptors ------------------------------------------------------------------------ */

static void test_descriptors(void)
{
	int fill = CUSPARSE_FILL_MODE_UPPER, got = -1;
	int64_t rows = 0, cols = 0, nnz = 0;
	void *offsets, *columns, *values;
	cusparseIndexType_t otype, ctype;
	cusparseConstSpMatDescr_t constant;
	cusparseSpGEMMDescr_t gemm;
	cusparseIndexBase_t base;
	cudaDataType type;
	size_t size = 9;
	float one = 1;

	cusparseCsrGet(mat, &rows, &cols, &nnz, &offsets, &columns, &values, &otype, &ctype, &base,
		       &type);
	ok(rows == 4 && cols == 4 && nnz == 5 && offsets == X && columns == Y && values == Z &&
	   otype == CUSPARSE_INDEX_64I && ctype == CUSPARSE_INDEX_32I && base == 1 && type == 0,
	   "what_a_matrix_is_comes_back");
	cusparseSpMatSetAttribute(mat, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof(fill));
	told("set attribute 0 size=4 value=1", "attribute_is_as_long_as_it_says");
	cusparseSpMatGetAttribute(mat, CUSPARSE_SPMAT_FILL_MODE, &got, sizeof(got));
	ok_eq(got, CUSPARSE_FILL_MODE_UPPER, "and_comes_back");
	cusparseCreateConstCsr(&constant, 4, 4, 5, X, Y, Z, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
			       CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
	news();
	cusparseSpMV(handle, CUSPARSE_OPERATION_TRANSPOSE, &one, constant, vec, &one, vec,
		     CUDA_R_32F, CUSPARSE_SPMV_CSR_ALG2, Z);
	told(SPMV("stream=0 mode=host", "1", "1", "0"), "constant_descriptor_is_one_too");
	cusparseSpGEMM_createDescr(&gemm);
	news();
	cusparseSpGEMM_workEstimation(handle, 0, 0, &one, mat, mat, &one, mat, CUDA_R_32F, 0, gemm,
				      &size, NULL);
	ok_eq(size, 4711, "size_is_asked_for_without_a_buffer");
	told("estimate descr=own size=9 buffer=(nil)", "and_goes_there_as_it_was");
	cusparseSpGEMM_workEstimation(handle, 0, 0, &one, mat, mat, &one, mat, CUDA_R_32F, 0, gemm,
				      &size, X);
	told("estimate descr=own size=4711 buffer=0x300000012340", "with_a_buffer_it_is_given");
	size = 1;
	ok_eq(cusparseSpGEMM_workEstimation(handle, 0, 0, &one, mat, mat, &one, mat, CUDA_R_32F, 0,
					    gemm, &size, X),
	      CUSPARSE_STATUS_INSUFFICIENT_RESOURCES, "buffer_that_is_too_small_is_the_librarys");
	news();
	ok_eq(cusparseSpGEMM_destroyDescr(gemm), 0, "description_is_destroyed");
	told("destroy spgemm descr", "in_the_library");
	ok_eq(cusparseSpGEMM_destroyDescr(gemm), CUSPARSE_STATUS_INVALID_VALUE, "and_only_once");
	ok_eq(cusparseDestroySpMat(constant), 0, "constant_matrix_is_destroyed");
	news();
	ok_eq(cusparseSpMV(handle, 0, &one, constant, vec, &one, vec, CUDA_R_32F, 0, Z),
	      CUSPARSE_STATUS_INVALID_VALUE, "released_descriptor_is_refused");
	ok_eq(cusparseSpMV(handle, 0, &one, (cusparseSpMatDescr_t)vec, vec, &one, vec, CUDA_R_32F,
			   0, Z), CUSPARSE_STATUS_INVALID_VALUE, "descriptor_of_another_kind_is_refused");
	told("", "neither_reaches_the_library");
	ok_eq(cusparseSpMV(handle, 0, &one, NULL, vec, &one, vec, CUDA_R_32F, 0, Z),
	      CUSPARSE_STATUS_INVALID_VALUE, "NULL_is_the_librarys_to_judge");
	ok(strstr(news(), "nnz=-1 x=4") != NULL, "which_sees_it");
	ok_eq(cusparseDestroySpMat(NULL), 0, "and_so_it_is_when_it_is_destroyed");
}

/* --- Vectors, which nothing changes but what sets them ------------------------------------ */

static const void *values_of(cusparseConstDnVecDescr_t v)
{
	const void *values = NULL;
	cudaDataType type;
	int64_t size;

	cusparseConstDnVecGet(v, &size, &values, &type);
	return values;
}

static void test_vectors(void)
{
	cusparseDnVecDescr_t a, b, wrong;
	float one = 1;
	int i, refused = 0;

	cusparseCreateDnVec(&a, 8, X, CUDA_R_32F);
	news();
	ok(!cusparseDestroyDnVec(a) && !cusparseCreateDnVec(&a, 8, X, CUDA_R_32F) &&
	   !cusparseCreateDnVec(&b, 8, X, CUDA_R_32F) && a != b, "vectors_like_an_earlier_one_are_made");
	told("", "without_a_call");
	ok(!cusparseDnVecSetValues(b, Y) && values_of(a) == X && values_of(b) == Y,
	   "one_may_be_set_and_the_other_stays");
	ok(!cusparseDnVecSetValues(b, &one) && values_of(b) == &one && values_of(a) == X,
	   "also_to_what_is_no_memory_of_the_devices");
	for (i = 0; i < 2; i++)
		refused += cusparseCreateDnVec(&wrong, -1, X, CUDA_R_32F) ==
			   CUSPARSE_STATUS_INVALID_VALUE;
	ok_eq(refused, 2, "bad_size_is_refused_each_time");
	ok(!cusparseDestroyDnVec(b) && values_of(a) == X &&
	   cusparseDestroyDnVec(b) == CUSPARSE_STATUS_INVALID_VALUE, "each_ends_once_and_alone");
	cusparseDestroyDnVec(a);
}

/* --- Memory that is freed under a descriptor ----------------------------------------------- */

#define BAD	CUSPARSE_STATUS_INVALID_VALUE

/*
 * Is the product of `mat` and `vec` refused each time, without a call to the library? A
 * posted product is refused when the program waits for the device.
 */
static int refused(void)
{
	const float one = 1;
	int n = 0, i;

	news();
	for (i = 0; i < 2; i++)
		n += spmv(&one, &one, CUDA_R_32F) == BAD || cuCtxSynchronize() != CUDA_SUCCESS;
	return n == 2 && !strstr(news(), "spmv");
}

static int succeeds(void)
{
	const float one = 1;

	news();
	return !spmv(&one, &one, CUDA_R_32F) && strstr(news(), "spmv");
}

static int with(cusparseDnVecDescr_t other, int (*product)(void))
{
	cusparseDnVecDescr_t was = vec;
	int n;

	vec = other;
	n = product();
	vec = was;
	return n;
}

static void test_freed_vectors(void)
{
	CUdeviceptr gone = device(NULL, 4096), there = device(NULL, 4096), again;
	cusparseDnVecDescr_t alike, other;

	cusparseCreateDnVec(&vec, 9, (void *)gone, CUDA_R_32F);
	cusparseCreateDnVec(&alike, 9, (void *)gone, CUDA_R_32F);
	ok(succeeds() && values_of(alike) == (void *)gone, "vector_is_multiplied_while_its_memory_is_there");
	cuMemFree(gone);
	ok(refused(), "and_refused_when_that_was_freed");
	ok(!cusparseCreateDnVec(&other, 10, (void *)gone, CUDA_R_32F) && with(other, refused) &&
	   values_of(other) == (void *)gone && !cusparseDestroyDnVec(other), "so_is_one_that_is_made_then");
	again = device(NULL, 4096);
	ok(again == gone && !cusparseCreateDnVec(&other, 10, (void *)gone, CUDA_R_32F) &&
	   with(other, succeeds) && !cusparseDestroyDnVec(other) && !cuMemFree(again), "but_none_that_is_made_when_there_is_memory_again");
	ok(!cusparseDnVecSetValues(vec, (void *)there) && succeeds(), "with_other_memory_it_is_one_again");
	ok(!cusparseDnVecSetValues(alike, Y) && values_of(alike) == Y &&
	   !cusparseDestroyDnVec(alike), "so_is_one_that_was_like_it");
	cuMemFree(there);
	ok(refused() && !cusparseDestroyDnVec(vec), "until_that_is_freed_as_well");
}

/* Frees one of the three arrays of a matrix. */
static void test_freed_matrix(int which)
{
	void *array[3] = { X, Y, Z };
	CUdeviceptr gone = device(NULL, 4096);
	char name[64];
	int good;

	array[which] = (void *)gone;
	good = !cusparseCreateCsr(&mat, 4, 4, 5, array[0], array[1], array[2], CUSPARSE_INDEX_32I,
				  CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ONE, CUDA_R_32F) &&
	       succeeds();
	cuMemFree(gone);
	good &= refused();
	if (which == 2)
		good &= !cusparseSpMatSetValues(mat, Z);
	else
		good &= !cusparseCsrSetPointers(mat, X, Y, Z);
	snprintf(name, sizeof(name), "matrix_without_its_array_%d_is_none", which);
	ok(good && succeeds() && !cusparseDestroySpMat(mat), name);
}

/* Asks for sizes as JAX does: they do not depend on what is at an address. */
static void test_sizes(void)
{
	cusparseDnVecDescr_t was = vec;
	cusparseSpMatDescr_t before = mat;
	const float one = 1;
	int nothing = 0;
	char host[32];
	size_t size = 0;
	int made;

	news();
	made = !cusparseCreateCsr(&mat, 4, 4, 5, &nothing, &nothing, &nothing, CUSPARSE_INDEX_32I,
				  CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F) &&
	       !cusparseCreateDnVec(&vec, 4, &nothing, CUDA_R_32F);
	ok(made &&
	   !cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, mat, vec, &one,
				    vec, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &size) &&
	   size == (1UL << 33) + 5, "descriptors_of_any_address_say_sizes");
	snprintf(host, sizeof(host), "%p", (void *)&nothing);
	ok(!strstr(news(), host), "the_library_gets_another_one");
	ok(values_of(vec) == &nothing, "the_program_its_own");
	ok(refused(), "what_reads_them_is_refused");
	ok(!cusparseDnVecSetValues(vec, X) && !cusparseCsrSetPointers(mat, X, Y, Z) && succeeds(),
	   "until_they_have_memory_of_the_devices");
	cusparseDestroyDnVec(vec);
	cusparseDestroySpMat(mat);
	vec = was;
	mat = before;
}

static void test_freed(void)
{
	int i;

	cusparseCreateCsr(&mat, 4, 4, 5, X, Y, Z, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_64I,
			  CUSPARSE_INDEX_BASE_ONE, CUDA_R_32F);
	test_freed_vectors();
	cusparseDestroySpMat(mat);
	cusparseCreateDnVec(&vec, 4, X, CUDA_R_32F);
	for (i = 0; i < 3; i++)
		test_freed_matrix(i);
	cusparseDestroyDnVec(vec);
}

/* For cusparse_requests_test.sh: makes @n products, each with descriptors of its own. */
static int requests(int n)
{
	cusparseDnVecDescr_t x, y;
	float one = 1;
	size_t size;
	int bad;

	bad = cusparseCreate(&handle) ||
	      cuMemAddressReserve(&(CUdeviceptr) { 0 }, 2 << 20, 0, DEVICE, 0);
	for (; n; n--) {
		bad |= cusparseCreateCsr(&mat, 4, 4, 5, X, Y, Z, CUSPARSE_INDEX_32I,
					 CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ONE, CUDA_R_32F) ||
		       cusparseCreateDnVec(&x, 4, X, CUDA_R_32F) ||
		       cusparseCreateDnVec(&y, 4, Y, CUDA_R_32F);
		vec = x;
		bad |= cusparseSpMV_bufferSize(handle, 0, &one, mat, x, &one, y, CUDA_R_32F, 0,
					       &size) ||
		       spmv(&one, &one, CUDA_R_32F) || cusparseDestroySpMat(mat) ||
		       cusparseDestroyDnVec(x) || cusparseDestroyDnVec(y);
	}
	return bad;
}

/* --- The old interface -------------------------------------------------------------------- */

static int geam(cusparseMatDescr_t a, cusparseMatDescr_t b, cusparseMatDescr_t c, int *nnz)
{
	return cusparseXcsrgeam2Nnz(handle, 2, 3, a, 4, X, Y, b, 5, X, Y, c, Z, nnz, X);
}

#define GEAM "geam nnz handle=1 stream=0 mode=host|2x3 nnz=4,5 0x300000012340 0x300000056780 " \
	"0x300000012340 0x300000056780 0x30000009abc0 0x300000012340|"

static void test_old_descriptors(void)
{
	cusparseMatDescr_t a, b, gone;
	int nnz = 0;

	ok(!cusparseCreateMatDescr(&a) && !cusparseCreateMatDescr(&b), "descriptors_are_made");
	ok(!cusparseSetMatType(a, CUSPARSE_MATRIX_TYPE_TRIANGULAR) &&
	   !cusparseSetMatFillMode(a, CUSPARSE_FILL_MODE_UPPER) &&
	   !cusparseSetMatDiagType(a, CUSPARSE_DIAG_TYPE_UNIT) &&
	   !cusparseSetMatIndexBase(a, CUSPARSE_INDEX_BASE_ONE), "and_set");
	ok(cusparseGetMatType(a) == 3 && cusparseGetMatFillMode(a) == 1 &&
	   cusparseGetMatDiagType(a) == 1 && cusparseGetMatIndexBase(a) == 1 &&
	   cusparseGetMatType(b) == 0, "and_asked");
	ok_eq(cusparseSetMatType(a, 4), CUSPARSE_STATUS_INVALID_VALUE, "fifth_type_is_refused");
	ok_eq(cusparseSetMatIndexBase(NULL, 0), CUSPARSE_STATUS_NOT_INITIALIZED,
	      "NULL_is_not_initialized_as_natively");
	told("", "none_of_that_makes_a_call");
	ok_eq(geam(a, b, NULL, &nnz), 0, "call_with_them_succeeds");
	told("set_mode host|matdescr 1|matdescr 2|" GEAM "A descr#1 type=3 fill=1 diag=1 base=1|"
	     "B descr#2 type=0 fill=0 diag=0 base=0|C NULL#0 type=0 fill=0 diag=0 base=0",
	     "what_was_set_travels_with_it");
	ok_eq(nnz, 77, "count_comes_back");
	cusparseSetMatDiagType(b, CUSPARSE_DIAG_TYPE_UNIT);
	cusparseCreateMatDescr(&gone);
	geam(b, gone, b, &nnz);
	told("matdescr 3|" GEAM "A descr#3 type=0 fill=0 diag=1 base=0|"
	     "B descr#2 type=0 fill=0 diag=0 base=0|C descr#3 type=0 fill=0 diag=1 base=0",
	     "library_has_one_for_each_value");
	ok_eq(cusparseDestroyMatDescr(gone), 0, "descriptor_is_destroyed");
	ok_eq(geam(a, gone, a, &nnz), CUSPARSE_STATUS_INVALID_VALUE, "then_it_is_refused");
	ok_eq(geam(a, (cusparseMatDescr_t)handle, a, &nnz), CUSPARSE_STATUS_INVALID_VALUE,
	      "and_so_is_a_handle");
	told("", "nothing_of_that_reaches_the_library");
	ok_eq(cusparseDestroyMatDescr(NULL), 0, "destroying_NULL_is_fine_as_natively");
}

static void test_old_outputs(void)
{
	csrilu02Info_t info;
	double tol = 1e-3;
	float boost = 0.5;
	int position = 0;

	cusparseCreateCsrilu02Info(&info);
	ok_eq(cusparseXcsrilu02_zeroPivot(handle, info, &position), CUSPARSE_STATUS_ZERO_PIVOT,
	      "pivot_of_zero_is_said");
	ok_eq(position, 31, "with_its_position");
	told("pivot handle=1 stream=0 mode=host", "by_the_library");
	cusparseScsrilu02_numericBoost(handle, info, 1, &tol, &boost);
	told("boost handle=1 stream=0 mode=host|enable=1 tol=0.001 boost=0.5",
	     "numbers_without_const_go_there");
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return requests(atoi(argv[2]));
	tap_plan(96);
	test_handles();
	test_library();
	test_scalars();
	test_old_descriptors();
	test_old_outputs();
	test_descriptors();
	test_vectors();
	test_freed();
	test_sizes();
	return tap_exit();
}
