// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that cuSOLVER's functions on matrices in host memory go right through
 * the stub, over a library that follows the matrices. Arrays arrive and come back whole,
 * however long they are. The steps of the low level use the matrix that was analysed. An
 * invalid matrix never arrives.
 */
#include <cusolverRf.h>
#include <cusolverSp.h>
#include <cusolverSp_LOWLEVEL_PREVIEW.h>

#include "lib_test.h"

#define BAD	CUSOLVER_STATUS_INVALID_VALUE

static cusolverSpHandle_t sparse;
static cusparseMatDescr_t zero, one;

/*
 * The matrix of the tests, whose indexes start at 0, and at 1 in start1 and col1:
 *
 *	1 2 .
 *	. 3 .
 *	4 . 5
 */
#define N	3
#define NNZ	5
static const int start[N + 1] = { 0, 2, 3, 5 }, col[NNZ] = { 0, 1, 1, 0, 2 };
static const int start1[N + 1] = { 1, 3, 4, 6 }, col1[NNZ] = { 1, 2, 2, 1, 3 };
static const double value[NNZ] = { 1, 2, 3, 4, 5 }, b[N] = { 1, 10, 100 };

static int is_product(const double *x)
{
	return x[0] == 21 && x[1] == 30 && x[2] == 504;
}

/* --- In one call ------------------------------------------------------------------------- */

static void test_orders(void)
{
	int64_t options[40];
	int p[N] = { 9, 9, 9 }, found = 9, i;

	ok_eq(cusolverSpXcsrissymHost(sparse, N, NNZ, zero, start, start + 1, col, &found), 0,
	      "symmetry_is_asked_for");
	told("matdescr 1|issym sparse=1 stream=0|3 rows, 5: 0 to 5, last column 2, base 0",
	     "with_beginnings_and_ends");
	ok_eq(found, 1, "and_answered");
	ok_eq(cusolverSpXcsrsymrcmHost(sparse, N, NNZ, one, start1, col1, p), 0,
	      "indices_may_begin_with_one");
	told("matdescr 2|symrcm sparse=1 stream=0|3 rows, 5 of 1 to 6, base 1", "and_arrive_so");
	ok(p[0] == 2 && p[1] == 1 && p[2] == 0, "permutation_comes_back");
	ok(!cusolverSpXcsrsymmdqHost(sparse, N, NNZ, zero, start, col, p) && p[2] == 2 &&
	   !cusolverSpXcsrsymamdHost(sparse, N, NNZ, zero, start, col, p) && p[2] == 0,
	   "of_other_orders_too");
	news();
	ok_eq(cusolverSpXcsrmetisndHost(sparse, N, NNZ, zero, start, col, NULL, p), 0,
	      "metis_needs_no_options");
	told("options NULL|symamd sparse=1 stream=0|3 rows, 5 of 0 to 5, base 0", "and_gets_none");
	for (i = 0; i < 40; i++)
		options[i] = -1;
	ok_eq(cusolverSpXcsrmetisndHost(sparse, N, NNZ, zero, start, col, options, p), 0,
	      "default_ones_pass");
	news();
	options[17] = 1;
	ok_eq(cusolverSpXcsrmetisndHost(sparse, N, NNZ, zero, start, col, options, p),
	      CUSOLVER_STATUS_NOT_SUPPORTED, "others_are_not_supported");
	told("", "and_do_not_arrive");
	ok(!cusolverSpDcsrzfdHost(sparse, N, NNZ, zero, value, start, col, p, &found) &&
	   found == 5 && p[0] == 2, "diagonal_without_zeros_is_looked_for");
	news();
}

static void test_permutation(void)
{
	int s[N + 1], c[NNZ], map[NNZ] = { 0, 1, 2, 3, 4 }, p[N] = { 2, 0, 1 }, q[N] = { 1, 0, 2 };
	size_t size = 0;
	char work[1];

	memcpy(s, start1, sizeof(s));
	memcpy(c, col1, sizeof(c));
	ok(!cusolverSpXcsrperm_bufferSizeHost(sparse, N, N, NNZ, one, s, c, p, q, &size) &&
	   size == 176, "size_of_a_workspace_comes_back");
	news();
	/* The program's workspace may be small, because nothing of it is used. */
	ok_eq(cusolverSpXcsrpermHost(sparse, N, N, NNZ, one, s, c, p, q, map, work), 0,
	      "matrix_is_permuted");
	told("perm size sparse=1 stream=0|perm sparse=1 stream=0", "in_a_workspace_of_the_workers");
	ok(s[0] == 1 && s[1] == 3 && s[2] == 5 && s[3] == 6 && c[0] == 2 && c[1] == 3 &&
	   c[2] == 1 && c[3] == 2 && c[4] == 1, "row_pointers_and_columns_come_back");
	ok(map[0] == 3 && map[1] == 4 && map[2] == 1 && map[3] == 0 && map[4] == 2,
	   "and_where_each_element_was");
	p[0] = 1;
	ok_eq(cusolverSpXcsrpermHost(sparse, N, N, NNZ, one, s, c, p, q, map, work), BAD,
	      "what_is_no_permutation_is_refused");
	told("", "before_the_library_sees_it");
}

static void test_solvers(void)
{
	cuDoubleComplex z[NNZ] = { { 0, 0 } }, low = { 10, 0 }, high = { 0, 100 };
	double x[N] = { 0 }, norm = 0;
	int singularity = 9, rank = 9, p[N], eigs = 0;

	ok(!cusolverSpDcsrlsvluHost(sparse, N, NNZ, zero, value, start, col, b, 0.5, 1, x,
				    &singularity) && is_product(x) && singularity == -1,
	   "system_is_solved_by_lu");
	told("lsvlu sparse=1 stream=0|tol=0.5 reorder=1|3 rows, 5 of 0 to 5, base 0", "as_told");
	memset(x, 0, sizeof(x));
	ok(!cusolverSpDcsrlsvqrHost(sparse, N, NNZ, one, value, start1, col1, b, 0.5, 1, x,
				    &singularity) && is_product(x), "and_by_qr");
	memset(x, 0, sizeof(x));
	ok(!cusolverSpDcsrlsvcholHost(sparse, N, NNZ, zero, value, start, col, b, 0.5, 1, x,
				      &singularity) && is_product(x), "and_by_cholesky");
	/* The matrix has three rows and two columns. */
	ok(!cusolverSpDcsrlsqvqrHost(sparse, N, 2, 4, zero, value, (const int[]){ 0, 2, 3, 4 },
				     col, b, 0.25, &rank, x, p, &norm) && rank == 2 &&
	   x[1] == 101 && p[1] == 1 && norm == 0.5, "least_squares_have_fewer_columns");
	ok(!cusolverSpDcsreigvsiHost(sparse, N, NNZ, zero, value, start, col, 0.5, b, 7, 0.1, &norm,
				     x) && norm == 7.5 && is_product(x), "an_eigenvalue_is_found");
	z[NNZ - 1].y = 1;
	ok(!cusolverSpZcsreigsHost(sparse, N, NNZ, zero, z, start, col, low, high, &eigs) &&
	   eigs == 111, "and_counted_among_complex_ones");
	ok_eq(cusolverSpScsrlsvluHost(sparse, N, NNZ, zero, (float *)z, start, col, (float *)z, 0,
				      0, (float *)x, &rank), CUSOLVER_STATUS_NOT_SUPPORTED,
	      "what_the_library_lacks_is_not_supported");
	news();
}

/* --- What is none ---------------------------------------------------------------------------- */

static int order(int n, int nnz, cusparseMatDescr_t d, const int *s, const int *c)
{
	int p[N];

	return cusolverSpXcsrsymrcmHost(sparse, n, nnz, d, s, c, p);
}

static void test_refused(void)
{
	const int falls[] = { 0, 3, 2, 5 }, late[] = { 1, 2, 3, 5 }, early[] = { 0, 2, 3, 4 };
	const int twice[] = { 0, 0, 1, 0, 2 }, far[] = { 0, 1, 1, 0, 3 };
	const int below[] = { 0, 1, 1, 0, -1 };
	int p[N];

	ok_eq(order(N, NNZ, zero, falls, col), BAD, "row_that_ends_before_it_begins");
	ok_eq(order(N, NNZ, zero, late, col), BAD, "rows_that_do_not_begin_at_the_base");
	ok_eq(order(N, NNZ, zero, early, col), BAD, "rows_that_do_not_end_with_the_elements");
	ok_eq(order(N, NNZ, one, start, col), BAD, "and_what_is_right_for_another_base");
	ok_eq(order(N, NNZ, zero, start, far), BAD, "column_behind_the_last_one");
	ok_eq(order(N, NNZ, zero, start, below), BAD, "column_before_the_first_one");
	ok_eq(order(N, NNZ, zero, start, twice), BAD, "column_that_is_twice_in_a_row");
	ok_eq(order(-1, NNZ, zero, start, col), BAD, "negative_number_of_rows");
	ok_eq(order(N, -5, zero, start, col), BAD, "negative_number_of_elements");
	ok_eq(order(N, NNZ, NULL, start, col), BAD, "no_descriptor");
	ok_eq(order(N, NNZ, zero, NULL, col), BAD, "no_row_pointers");
	ok_eq(cusolverSpXcsrsymrcmHost(sparse, N, NNZ, zero, start, col, NULL), BAD,
	      "no_place_for_the_answer");
	ok_eq(cusolverSpXcsrissymHost(sparse, N, NNZ, zero, start, falls + 1, col, p), BAD,
	      "rows_that_have_elements_in_common");
	told("", "nothing_of_that_arrives");
}

/* --- In steps ------------------------------------------------------------------------ */

static void test_lu(void)
{
	int l = 0, u = 0, at = 9, p[N], q[N], sl[N + 1], su[N + 1], cl[NNZ], cu[NNZ + 1];
	double vl[NNZ], vu[NNZ + 1], x[N] = { 0 };
	int other[NNZ] = { 0, 2, 1, 0, 2 };
	size_t internal = 0, work = 0;
	csrluInfoHost_t info;
	char buffer[1];

	ok_eq(cusolverSpCreateCsrluInfoHost(&info), 0, "information_of_lu_is_made");
	ok_eq(cusolverSpDcsrluFactorHost(sparse, N, NNZ, zero, value, start, col, info, 1, buffer),
	      BAD, "which_is_of_no_matrix_yet");
	ok_eq(cusolverSpXcsrluAnalysisHost(sparse, N, NNZ, zero, start, col, info), 0,
	      "matrix_is_analysed");
	told("csrlu analysis sparse=1 stream=0|3 rows, 5 of 0 to 5, base 0", "by_the_library");
	ok_eq(cusolverSpXcsrluAnalysisHost(sparse, N, NNZ, zero, start, col, info), BAD, "once");
	ok_eq(cusolverSpDcsrluFactorHost(sparse, N, NNZ, zero, value, start, col, info, 1, buffer),
	      BAD, "it_is_not_factored_before_its_size_is_known");
	ok(!cusolverSpDcsrluBufferInfoHost(sparse, N, NNZ, zero, value, start, col, info, &internal,
					   &work) && internal == NNZ && work == 16 * N,
	   "sizes_come_back");
	ok_eq(cusolverSpDcsrluFactorHost(sparse, N, NNZ, zero, value, start, other, info, 1,
					 buffer), BAD, "matrix_with_another_pattern_is_refused");
	ok_eq(cusolverSpDcsrluFactorHost(sparse, N, NNZ, one, value, start1, col1, info, 1, buffer),
	      BAD, "and_with_another_base");
	ok_eq(cusolverSpDcsrluSolveHost(sparse, N, b, x, info, buffer), BAD,
	      "nothing_is_solved_before_it_is_factored");
	ok_eq(cusolverSpXcsrluNnzHost(sparse, &l, &u, info), BAD, "and_no_factors_are_counted");
	told("", "none_of_these_arrived");
	ok_eq(cusolverSpDcsrluFactorHost(sparse, N, NNZ, zero, value, start, col, info, 1, buffer),
	      0, "right_one_is_factored");
	ok(!cusolverSpDcsrluZeroPivotHost(sparse, info, 0.1, &at) && at == N, "pivot_is_asked_for");
	ok(!cusolverSpDcsrluSolveHost(sparse, N, b, x, info, buffer) && is_product(x),
	   "system_is_solved_by_what_was_analysed");
	told("factor|solve, workspace kept", "in_a_workspace_that_stays");
	ok_eq(cusolverSpDcsrluSolveHost(sparse, N - 1, b, x, info, buffer), BAD,
	      "vector_of_another_length_is_refused");
	ok_eq(cusolverSpScsrluSolveHost(sparse, N, (float *)b, (float *)x, info, buffer),
	      CUSOLVER_STATUS_NOT_SUPPORTED, "and_another_type");
	ok(!cusolverSpXcsrluNnzHost(sparse, &l, &u, info) && l == NNZ && u == NNZ + 1,
	   "factors_are_counted");
	ok(!cusolverSpDcsrluExtractHost(sparse, p, q, zero, vl, sl, cl, zero, vu, su, cu, info,
					buffer) && p[0] == 2 && q[0] == 0, "factors_are_extracted");
	ok(!memcmp(sl, start, sizeof(sl)) && !memcmp(cl, col, sizeof(cl)) &&
	   !memcmp(vl, value, sizeof(vl)), "the_lower_one");
	ok(su[N] == NNZ + 1 && cu[NNZ] == N && vu[NNZ] == 77, "and_the_upper_one");
	ok_eq(cusolverSpDcsrluExtractHost(sparse, p, q, zero, vl, sl, NULL, zero, vu, su, cu, info,
					  buffer), BAD, "each_array_has_to_be_there");
	news();
	ok_eq(cusolverSpDestroyCsrluInfoHost(info), 0, "information_ends");
	told("destroy csrlu", "in_the_library_as_well");
	ok_eq(cusolverSpXcsrluNnzHost(sparse, &l, &u, info), CUSOLVER_STATUS_NOT_INITIALIZED,
	      "and_is_none_any_more");
}

static void test_qr(void)
{
	double x[N] = { 0 }, rhs[N], v[NNZ];
	size_t internal, work;
	csrqrInfoHost_t info;
	char buffer[1];
	int at = 0;

	memcpy(rhs, b, sizeof(rhs));
	memcpy(v, value, sizeof(v));
	cusolverSpCreateCsrqrInfoHost(&info);
	ok(!cusolverSpXcsrqrAnalysisHost(sparse, N, N, NNZ, zero, start, col, info) &&
	   !cusolverSpDcsrqrBufferInfoHost(sparse, N, N, NNZ, zero, v, start, col, info, &internal,
					   &work), "qr_is_analysed");
	ok_eq(cusolverSpDcsrqrFactorHost(sparse, N, N, NNZ, NULL, NULL, info, buffer), BAD,
	      "it_has_no_values_yet");
	news();
	ok_eq(cusolverSpDcsrqrSetupHost(sparse, N, N, NNZ, zero, v, start, col, 0.5, info), 0,
	      "it_gets_them");
	memset(v, 0, sizeof(v));
	ok_eq(cusolverSpDcsrqrFactorHost(sparse, N, N, NNZ, NULL, NULL, info, buffer), 0,
	      "it_is_factored_without_vectors");
	told("setup mu=0.5|no b, no x|factor", "as_told");
	ok_eq(cusolverSpDcsrqrFactorHost(sparse, N, N, NNZ + 1, NULL, NULL, info, buffer), BAD,
	      "other_sizes_are_refused");
	ok(!cusolverSpDcsrqrZeroPivotHost(sparse, info, 0.1, &at) && at == N, "it_is_regular");
	ok(!cusolverSpDcsrqrSolveHost(sparse, N, N, rhs, x, info, buffer) && is_product(x),
	   "it_solves_by_the_values_that_it_was_given");
	ok(!rhs[0] && !rhs[2], "and_may_use_up_the_right_side");
	ok_eq(cusolverSpDcsrqrSetupHost(sparse, N, N, NNZ, zero, value, start, col, 0, info), 0,
	      "it_gets_others");
	ok_eq(cusolverSpDcsrqrSolveHost(sparse, N, N, rhs, x, info, buffer), BAD,
	      "with_which_it_has_to_be_factored_again");
	cusolverSpDestroyCsrqrInfoHost(info);
	news();
}

static void test_cholesky(void)
{
	csrcholInfoHost_t info;
	size_t internal, work;
	double x[N] = { 0 };
	char buffer[1];
	int at = 0;

	cusolverSpCreateCsrcholInfoHost(&info);
	ok(!cusolverSpXcsrcholAnalysisHost(sparse, N, NNZ, one, start1, col1, info) &&
	   !cusolverSpDcsrcholBufferInfoHost(sparse, N, NNZ, one, value, start1, col1, info,
					     &internal, &work) &&
	   !cusolverSpDcsrcholFactorHost(sparse, N, NNZ, one, value, start1, col1, info, buffer) &&
	   !cusolverSpDcsrcholZeroPivotHost(sparse, info, 0.1, &at) && at == N &&
	   !cusolverSpDcsrcholSolveHost(sparse, N, b, x, info, buffer) && is_product(x),
	   "cholesky_goes_all_its_steps");
	cusolverSpDestroyCsrcholInfoHost(info);
	news();
}

/* --- Factors for cusolverRf ----------------------------------------------------------------- */

static void test_refactorization(void)
{
	/* A with its columns 0 and 1 exchanged is L times U. */
	int sa[] = { 0, 2, 3, 5 }, ca[] = { 0, 1, 0, 1, 2 }, sl[] = { 0, 1, 2, 4 };
	int cl[] = { 0, 1, 0, 2 }, su[] = { 0, 2, 3, 4 }, cu[] = { 0, 1, 1, 2 };
	int p[] = { 0, 1, 2 }, q[] = { 1, 0, 2 }, keep[] = { 0, 1, 2 };
	double va[] = { 1, 2, 3, 4, 5 }, vl[] = { 1, 1, 6, 1 }, vu[] = { 1, 2, 3, 7 };
	cusolverRfHandle_t handle;

	cusolverRfCreate(&handle);
	news();
	ok_eq(cusolverRfSetupHost(N, 5, sa, ca, va, 4, sl, cl, vl, 4, su, cu, vu, p, q, handle), 0,
	      "factors_are_set_up_from_host_memory");
	told("setup refactor=2 stream=0|n=3 A 0..5 2 5 L 0..4 2 1 U 0..4 2 7 p=2 q=2", "as_told");
	ok_eq(cusolverRfSetupHost(N, 5, sa, ca, va, 4, sl, cl, vl, 4, su, cu, vu, p, keep, handle),
	      BAD, "element_that_has_no_place_in_them_is_refused");
	ok_eq(cusolverRfSetupHost(N, 5, sa, ca, va, 4, su, cu, vu, 4, sl, cl, vl, p, q, handle),
	      BAD, "factors_that_are_no_triangles");
	q[2] = 3;
	ok_eq(cusolverRfSetupHost(N, 5, sa, ca, va, 4, sl, cl, vl, 4, su, cu, vu, p, q, handle),
	      BAD, "and_what_is_no_permutation");
	told("", "and_do_not_arrive");
	cusolverRfDestroy(handle);
	news();
}

/* --- Long ones ----------------------------------------------------------------------- */

static int solve_long(int n, int *s, int *c, double *v, double *x)
{
	int i, singularity = 0;

	for (i = 0; i < n; i++) {
		s[i] = i;
		c[i] = n - 1 - i;
		v[i] = 2;
		x[i] = i;
	}
	s[n] = n;
	return cusolverSpDcsrlsvluHost(sparse, n, n, zero, v, s, c, x, 0, 0, x, &singularity);
}

static void test_long(void)
{
	const int n = 500000, most = 1 << 27;
	int *s = malloc((n + 1) * sizeof(*s)), *c = malloc(n * sizeof(*c)), i, round, p;
	double *v = malloc(n * sizeof(*v)), *x = malloc(n * sizeof(*x));
	void *pinned;
	int good = 1;

	for (round = 0; round < 20; round++) {
		good &= !solve_long(n, s, c, v, x);
		for (i = 0; i < n; i++)
			good &= x[i] == 2.0 * (n - 1 - i);
	}
	ok(good, "matrices_of_500000_elements_are_solved_again_and_again");
	/* Pinned memory takes all of the data area, but for pieces that are too short. */
	for (i = 0; i < 64; i++)
		good &= !cuMemAllocHost(&pinned, i < 32 ? 30 << 20 : 1 << 20);
	ok(good && !solve_long(n, s, c, v, x) && x[0] == 2.0 * (n - 1),
	   "and_where_the_data_area_is_full");
	c[n - 1] = n;
	ok_eq(cusolverSpXcsrsymrcmHost(sparse, n, n, zero, s, c, s), BAD,
	      "and_their_last_column_is_looked_at");
	news();
	ok_eq(cusolverSpXcsrsymrcmHost(sparse, most, most, zero, s, c, &p),
	      CUSOLVER_STATUS_ALLOC_FAILED, "longer_ones_than_a_request_may_be_are_refused");
	told("", "by_the_client");
	free(s);
	free(c);
	free(v);
	free(x);
}

int main(void)
{
	tap_plan(91);
	cusolverSpCreate(&sparse);
	cusparseCreateMatDescr(&zero);
	cusparseCreateMatDescr(&one);
	cusparseSetMatIndexBase(one, CUSPARSE_INDEX_BASE_ONE);
	news();
	test_orders();
	test_permutation();
	test_solvers();
	test_refused();
	test_lu();
	test_qr();
	test_cholesky();
	test_refactorization();
	test_long();
	return tap_exit();
}
