// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that softgpu's stand-in for cuSPARSE multiplies, converts and solves, and
 * refuses what it lacks. Results are compared with the same of dense matrices on the host. It needs
 * nvcc at build time, no hardware.
 */
#include <cusparse.h>
#include <math.h>
#include <stdio.h>

#include "numbers.h"
#include "tap.h"

#define M	40
#define N	33
#define K	7
#define MOST	(M * M)	/* elements of the largest matrix */
#define OP_N	CUSPARSE_OPERATION_NON_TRANSPOSE
#define OP_T	CUSPARSE_OPERATION_TRANSPOSE
#define OP_C	CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE

/* A matrix by its dense values and as a sparse one, with what the host wrote of that. */
struct matrix {
	int rows, cols, nnz;
	num dense[MOST], values[MOST];
	int row[MOST], column[MOST], offsets[M + 2];
};

static cusparseHandle_t h;
static CUdeviceptr offsets, indices, values, b_at, c_at, buffer, other[3];
static struct matrix a, second;
static num b[MOST], c[MOST], got[MOST], want[MOST];
static const cudaDataType types[TYPES] = { CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F,
					   CUDA_R_16F, CUDA_R_16BF };
static double scalars[2][2];

#define AT(p)	((void *)(uintptr_t)(p))

static cudaDataType sums_of(int t)
{
	return t >= HALF ? CUDA_R_32F : types[t];
}

/* Scalar @i as the type computes. */
static void *scalar(int t, int i, num v)
{
	float *f = (float *)scalars[i];

	if (t == D || t == Z) {
		scalars[i][0] = creal(v);
		scalars[i][1] = cimag(v);
	} else {
		f[0] = creal(v);
		f[1] = cimag(v);
	}
	return scalars[i];
}

/* A random matrix with every fifth element; the third row is empty. Rows and columns ascend. */
static void make(int t, struct matrix *m, int rows, int cols)
{
	memset(m, 0, sizeof(*m));
	m->rows = rows;
	m->cols = cols;
	for (int i = 0; i < rows; i++) {
		m->offsets[i] = m->nnz;
		for (int j = 0; j < cols; j++) {
			if ((i * 3 + j * 7) % 5 || i == 2)
				continue;
			/* None is zero, and a float holds each. */
			m->values[m->nnz] = m->dense[i * cols + j] =
				(float complex)(random_of(t) + 1.5);
			m->row[m->nnz] = i;
			m->column[m->nnz++] = j;
		}
	}
	m->offsets[rows] = m->nnz;
}

/* Copies indices in the width and with the base that is asked for. */
static void put_indices(CUdeviceptr to, const int *from, int n, int wide, int base)
{
	static int64_t longs[MOST + 2];
	static int ints[MOST + 2];

	for (int i = 0; i < n; i++) {
		longs[i] = from[i] + base;
		ints[i] = from[i] + base;
	}
	cuMemcpyHtoD(to, wide ? (void *)longs : ints, n * (wide ? 8 : 4));
}

static int by_columns(const void *p, const void *q)
{
	int i = *(const int *)p, j = *(const int *)q;

	return a.column[i] != a.column[j] ? a.column[i] - a.column[j] : i - j;
}

/* Puts the matrix a on the device and describes it in a format. */
static cusparseSpMatDescr_t describe(int t, int format, int wide, int base)
{
	cusparseIndexType_t it = wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
	cusparseSpMatDescr_t m;
	int order[MOST], row[MOST], starts[N + 2];
	num v[MOST];

	if (format != CUSPARSE_FORMAT_CSC) {
		put_indices(indices, a.column, a.nnz, wide, base);
		number_put(t, values, a.values, a.nnz);
	}
	if (format == CUSPARSE_FORMAT_CSR) {
		put_indices(offsets, a.offsets, a.rows + 1, wide, base);
		cusparseCreateCsr(&m, a.rows, a.cols, a.nnz, AT(offsets), AT(indices), AT(values),
				  it, it, base, types[t]);
		return m;
	}
	if (format == CUSPARSE_FORMAT_COO) {
		put_indices(offsets, a.row, a.nnz, wide, base);
		cusparseCreateCoo(&m, a.rows, a.cols, a.nnz, AT(offsets), AT(indices), AT(values),
				  it, base, types[t]);
		return m;
	}
	memset(starts, 0, sizeof(starts));
	for (int e = 0; e < a.nnz; e++) {
		order[e] = e;
		starts[a.column[e] + 1]++;
	}
	for (int j = 0; j < a.cols; j++)
		starts[j + 1] += starts[j];
	qsort(order, a.nnz, sizeof(*order), by_columns);
	for (int e = 0; e < a.nnz; e++) {
		row[e] = a.row[order[e]];
		v[e] = a.values[order[e]];
	}
	put_indices(indices, row, a.nnz, wide, base);
	put_indices(offsets, starts, a.cols + 1, wide, base);
	number_put(t, values, v, a.nnz);
	cusparseCreateCsc(&m, a.rows, a.cols, a.nnz, AT(offsets), AT(indices), AT(values), it, it,
			  base, types[t]);
	return m;
}

static int same(int t, CUdeviceptr at, int n)
{
	number_get(t, at, got, n);
	for (int i = 0; i < n; i++)
		if (!(cabs(got[i] - want[i]) <= tolerance(t) * fmax(1, cabs(want[i])))) {
			diag("element %d: expected %g%+gi, got %g%+gi", i, creal(want[i]),
			     cimag(want[i]), creal(got[i]), cimag(got[i]));
			return 0;
		}
	return 1;
}

static num op_at(int op, int i, int j)
{
	num v = op == OP_N ? a.dense[i * a.cols + j] : a.dense[j * a.cols + i];

	return op == OP_C ? conj(v) : v;
}

static void fill(int t, num *to)
{
	for (int i = 0; i < MOST; i++)
		to[i] = random_of(t);
}

/* y = alpha op(A) x + beta y, with a format, index width and base. */
static int vector_product(int t, int format, int wide, int base, int op)
{
	int rows = op == OP_N ? M : N, cols = op == OP_N ? N : M, good;
	num alpha = t == C || t == Z ? CMPLX(1.5, -0.5) : 1.5, beta = -2;
	cusparseSpMatDescr_t m;
	cusparseDnVecDescr_t x, y;
	size_t size = 0;

	make(t, &a, M, N);
	m = describe(t, format, wide, base);
	fill(t, b);
	fill(t, c);
	number_put(t, b_at, b, cols);
	number_put(t, c_at, c, rows);
	cusparseCreateDnVec(&x, cols, AT(b_at), types[t]);
	cusparseCreateDnVec(&y, rows, AT(c_at), types[t]);
	good = !cusparseSpMV_bufferSize(h, op, scalar(t, 0, alpha), m, x, scalar(t, 1, beta), y,
					sums_of(t), CUSPARSE_SPMV_ALG_DEFAULT, &size) &&
	       size < 1 << 20 &&
	       !cusparseSpMV(h, op, scalar(t, 0, alpha), m, x, scalar(t, 1, beta), y, sums_of(t),
			     CUSPARSE_SPMV_ALG_DEFAULT, AT(buffer));
	for (int i = 0; i < rows; i++) {
		want[i] = beta * c[i];
		for (int k = 0; k < cols; k++)
			want[i] += alpha * op_at(op, i, k) * b[k];
	}
	cusparseDestroyDnVec(x);
	cusparseDestroyDnVec(y);
	cusparseDestroySpMat(m);
	return good && same(t, c_at, rows);
}

static void vectors(int t)
{
	int adjoint = t == C || t == Z ? OP_C : OP_T;

	ok(vector_product(t, CUSPARSE_FORMAT_CSR, 0, 0, OP_N), named(t, "csr_times_a_vector"));
	ok(vector_product(t, CUSPARSE_FORMAT_CSR, 1, 1, adjoint),
	   named(t, "turned_csr_with_long_indices_from_one_times_a_vector"));
	ok(vector_product(t, CUSPARSE_FORMAT_CSC, 0, 1, OP_N), named(t, "csc_times_a_vector"));
	ok(vector_product(t, CUSPARSE_FORMAT_CSC, 0, 0, OP_T),
	   named(t, "turned_csc_times_a_vector"));
	ok(vector_product(t, CUSPARSE_FORMAT_COO, 0, 0, OP_N), named(t, "coo_times_a_vector"));
	ok(vector_product(t, CUSPARSE_FORMAT_COO, 1, 0, adjoint),
	   named(t, "turned_coo_times_a_vector"));
}

/* C = op(A) op(B) with beta zero, over a C that holds no numbers. */
static int matrix_product(int t, int format, int op_b, int by_row)
{
	cusparseSpMatDescr_t m;
	cusparseDnMatDescr_t x, y;
	int rows = op_b == OP_N ? N : K, cols = op_b == OP_N ? K : N, ld = by_row ? cols : rows,
		good;
	cusparseOrder_t order = by_row ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;

	make(t, &a, M, N);
	m = describe(t, format, 0, 0);
	fill(t, b);
	number_put(t, b_at, b, N * K);
	for (int i = 0; i < M * K; i++)
		c[i] = NAN;
	number_put(t, c_at, c, M * K);
	cusparseCreateDnMat(&x, rows, cols, ld, AT(b_at), types[t], order);
	cusparseCreateDnMat(&y, M, K, by_row ? K : M, AT(c_at), types[t], order);
	good = !cusparseSpMM(h, OP_N, op_b, scalar(t, 0, 1), m, x, scalar(t, 1, 0), y, sums_of(t),
			     CUSPARSE_SPMM_ALG_DEFAULT, AT(buffer));
	for (int i = 0; i < M; i++)
		for (int j = 0; j < K; j++) {
			num sum = 0;

			for (int k = 0; k < N; k++) {
				int r = op_b == OP_N ? k : j, s = op_b == OP_N ? j : k;

				sum += a.dense[i * N + k] * b[by_row ? r * ld + s : r + s * ld];
			}
			want[by_row ? i * K + j : i + j * M] = sum;
		}
	cusparseDestroyDnMat(x);
	cusparseDestroyDnMat(y);
	cusparseDestroySpMat(m);
	return good && same(t, c_at, M * K);
}

static void matrices(int t)
{
	ok(matrix_product(t, CUSPARSE_FORMAT_CSR, OP_N, 0), named(t, "csr_times_a_matrix"));
	ok(matrix_product(t, CUSPARSE_FORMAT_CSR, OP_T, 1),
	   named(t, "csr_times_the_transpose_of_a_matrix_by_rows"));
	ok(matrix_product(t, CUSPARSE_FORMAT_COO, OP_N, 1), named(t, "coo_times_a_matrix_by_rows"));
	ok(matrix_product(t, CUSPARSE_FORMAT_CSC, OP_T, 0),
	   named(t, "csc_times_the_transpose_of_a_matrix"));
}

static void sampled(int t)
{
	cusparseSpMatDescr_t m;
	cusparseDnMatDescr_t x, y;
	int good;

	make(t, &a, M, N);
	m = describe(t, CUSPARSE_FORMAT_CSR, 0, 0);
	fill(t, b);
	fill(t, c);
	number_put(t, b_at, b, M * K);
	number_put(t, c_at, c, N * K);
	cusparseCreateDnMat(&x, M, K, K, AT(b_at), types[t], CUSPARSE_ORDER_ROW);
	cusparseCreateDnMat(&y, N, K, N, AT(c_at), types[t], CUSPARSE_ORDER_COL);
	good = !cusparseSDDMM(h, OP_N, OP_T, scalar(t, 0, 2), x, y, scalar(t, 1, -1), m, sums_of(t),
			      CUSPARSE_SDDMM_ALG_DEFAULT, NULL);
	for (int e = 0; e < a.nnz; e++) {
		want[e] = -a.values[e];
		for (int k = 0; k < K; k++)
			want[e] += 2 * b[a.row[e] * K + k] * c[a.column[e] + k * N];
	}
	ok(good && same(t, values, a.nnz), named(t, "sampled_product_is_at_the_entries_alone"));
	cusparseDestroyDnMat(x);
	cusparseDestroyDnMat(y);
	cusparseDestroySpMat(m);
}

/* From sparse to dense by rows and back into a new matrix of the format. */
static int there_and_back(int t, int format)
{
	cusparseSpMatDescr_t m, back;
	cusparseDnMatDescr_t d;
	int64_t rows, cols, nnz;
	int good;

	make(t, &a, M, N);
	m = describe(t, format, 0, 1);
	for (int i = 0; i < MOST; i++)
		c[i] = NAN;
	number_put(t, c_at, c, M * N);
	cusparseCreateDnMat(&d, M, N, N, AT(c_at), types[t], CUSPARSE_ORDER_ROW);
	memcpy(want, a.dense, sizeof(want));
	good = !cusparseSparseToDense(h, m, d, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, NULL) &&
	       same(t, c_at, M * N);
	if (format == CUSPARSE_FORMAT_COO)
		cusparseCreateCoo(&back, M, N, 0, NULL, NULL, NULL, CUSPARSE_INDEX_32I, 0,
				  types[t]);
	else if (format == CUSPARSE_FORMAT_CSR)
		cusparseCreateCsr(&back, M, N, 0, AT(other[0]), NULL, NULL, CUSPARSE_INDEX_32I,
				  CUSPARSE_INDEX_32I, 0, types[t]);
	else
		cusparseCreateCsc(&back, M, N, 0, AT(other[0]), NULL, NULL, CUSPARSE_INDEX_32I,
				  CUSPARSE_INDEX_32I, 0, types[t]);
	good &= !cusparseDenseToSparse_analysis(h, d, back, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT,
						AT(buffer));
	cusparseSpMatGetSize(back, &rows, &cols, &nnz);
	good &= nnz == a.nnz;
	if (format == CUSPARSE_FORMAT_COO)
		cusparseCooSetPointers(back, AT(other[0]), AT(other[1]), AT(other[2]));
	else if (format == CUSPARSE_FORMAT_CSR)
		cusparseCsrSetPointers(back, AT(other[0]), AT(other[1]), AT(other[2]));
	else
		cusparseCscSetPointers(back, AT(other[0]), AT(other[1]), AT(other[2]));
	good &= !cusparseDenseToSparse_convert(h, d, back, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT,
					       AT(buffer));
	number_put(t, c_at, c, M * N);
	good &= !cusparseSparseToDense(h, back, d, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, NULL);
	cusparseDestroySpMat(m);
	cusparseDestroySpMat(back);
	cusparseDestroyDnMat(d);
	return good && same(t, c_at, M * N);
}

static void conversions(int t)
{
	ok(there_and_back(t, CUSPARSE_FORMAT_CSR), named(t, "csr_becomes_dense_and_comes_back"));
	ok(there_and_back(t, CUSPARSE_FORMAT_CSC), named(t, "csc_becomes_dense_and_comes_back"));
	ok(there_and_back(t, CUSPARSE_FORMAT_COO), named(t, "coo_becomes_dense_and_comes_back"));
}

/* The product of two sparse matrices, in the steps that the documentation gives. */
static void sparse_product(int t)
{
	cusparseSpMatDescr_t m, n, p;
	cusparseSpGEMMDescr_t d;
	cusparseDnMatDescr_t dense;
	size_t size1 = 0, size2 = 0;
	int64_t rows, cols, nnz;
	CUdeviceptr work[2];
	int good, count = 0;

	make(t, &second, N, M);
	cusparseCreateCsr(&n, N, M, second.nnz, AT(other[0]), AT(other[1]), AT(other[2]),
			  CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, 0, types[t]);
	put_indices(other[0], second.offsets, N + 1, 0, 0);
	put_indices(other[1], second.column, second.nnz, 0, 0);
	number_put(t, other[2], second.values, second.nnz);
	make(t, &a, M, N);
	m = describe(t, CUSPARSE_FORMAT_CSR, 0, 1);
	cusparseCreateCsr(&p, M, M, 0, NULL, NULL, NULL, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, 0,
			  types[t]);
	cusparseSpGEMM_createDescr(&d);
#define PRODUCT h, OP_N, OP_N, scalar(t, 0, 2), m, n, scalar(t, 1, 0), p, sums_of(t), \
	CUSPARSE_SPGEMM_DEFAULT, d
	good = !cusparseSpGEMM_workEstimation(PRODUCT, &size1, NULL) && !cuMemAlloc(&work[0],
										    size1) &&
	       !cusparseSpGEMM_workEstimation(PRODUCT, &size1, AT(work[0])) &&
	       !cusparseSpGEMM_compute(PRODUCT, &size2, NULL) && !cuMemAlloc(&work[1], size2) &&
	       !cusparseSpGEMM_compute(PRODUCT, &size2, AT(work[1])) &&
	       !cusparseSpMatGetSize(p, &rows, &cols, &nnz);
	for (int i = 0; i < M; i++)
		for (int j = 0; j < M; j++) {
			int met = 0;

			want[i * M + j] = 0;
			for (int k = 0; k < N; k++) {
				want[i * M + j] += 2 * a.dense[i * N + k] * second.dense[k * M + j];
				met |= a.dense[i * N + k] != 0 && second.dense[k * M + j] != 0;
			}
			count += met;
		}
	ok_eq(good ? nnz : -1, count, named(t, "sparse_product_has_each_entry_once"));
	good &= !cusparseCsrSetPointers(p, AT(offsets), AT(b_at), AT(c_at)) &&
		!cusparseSpGEMM_copy(PRODUCT);
	cusparseCreateDnMat(&dense, M, M, M, AT(buffer), types[t], CUSPARSE_ORDER_ROW);
	ok(good && !cusparseSparseToDense(h, p, dense, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, NULL) &&
	   same(t, buffer, M * M), named(t, "sparse_product_is_that_of_dense_ones"));
#undef PRODUCT
	cusparseDestroyDnMat(dense);
	cusparseSpGEMM_destroyDescr(d);
	cusparseDestroySpMat(m);
	cusparseDestroySpMat(n);
	cusparseDestroySpMat(p);
	cuMemFree(work[0]);
	cuMemFree(work[1]);
}

/* op(triangle of A) x = alpha b. Entries of the other triangle are there and must not count. */
static int triangle_solved(int t, int upper, int unit, int op, int columns)
{
	cusparseFillMode_t fill_mode = upper ? CUSPARSE_FILL_MODE_UPPER : CUSPARSE_FILL_MODE_LOWER;
	cusparseDiagType_t diagonal = unit ? CUSPARSE_DIAG_TYPE_UNIT : CUSPARSE_DIAG_TYPE_NON_UNIT;
	cusparseSpMatDescr_t m;
	cusparseDnMatDescr_t x, y;
	cusparseDnVecDescr_t vx, vy;
	cusparseSpSVDescr_t sv;
	cusparseSpSMDescr_t sm;
	int good;

	memset(&a, 0, sizeof(a));
	a.rows = a.cols = N;
	for (int i = 0; i < N; i++) {
		a.offsets[i] = a.nnz;
		for (int j = 0; j < N; j++) {
			if ((i * 3 + j * 7) % 5 && i != j)
				continue;
			a.values[a.nnz] = a.dense[i * N + j] = random_of(t) + (i == j ? 4 : 0);
			a.column[a.nnz++] = j;
		}
	}
	a.offsets[N] = a.nnz;
	m = describe(t, CUSPARSE_FORMAT_CSR, 0, 0);
	cusparseSpMatSetAttribute(m, CUSPARSE_SPMAT_FILL_MODE, &fill_mode, sizeof(fill_mode));
	cusparseSpMatSetAttribute(m, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof(diagonal));
	fill(t, b);
	number_put(t, b_at, b, N * columns);
	cusparseCreateDnMat(&x, N, columns, N, AT(b_at), types[t], CUSPARSE_ORDER_COL);
	cusparseCreateDnMat(&y, N, columns, N, AT(c_at), types[t], CUSPARSE_ORDER_COL);
	cusparseCreateDnVec(&vx, N, AT(b_at), types[t]);
	cusparseCreateDnVec(&vy, N, AT(c_at), types[t]);
	cusparseSpSV_createDescr(&sv);
	cusparseSpSM_createDescr(&sm);
	if (columns == 1)
		good = !cusparseSpSV_analysis(h, op, scalar(t, 0, 2), m, vx, vy, types[t],
					      CUSPARSE_SPSV_ALG_DEFAULT, sv, AT(buffer)) &&
		       !cusparseSpSV_solve(h, op, scalar(t, 0, 2), m, vx, vy, types[t],
					   CUSPARSE_SPSV_ALG_DEFAULT, sv);
	else
		good = !cusparseSpSM_analysis(h, op, OP_N, scalar(t, 0, 2), m, x, y, types[t],
					      CUSPARSE_SPSM_ALG_DEFAULT, sm, AT(buffer)) &&
		       !cusparseSpSM_solve(h, op, OP_N, scalar(t, 0, 2), m, x, y, types[t],
					   CUSPARSE_SPSM_ALG_DEFAULT, sm);
	cusparseSpSV_destroyDescr(sv);
	cusparseSpSM_destroyDescr(sm);
	cusparseDestroyDnMat(x);
	cusparseDestroyDnMat(y);
	cusparseDestroyDnVec(vx);
	cusparseDestroyDnVec(vy);
	cusparseDestroySpMat(m);
	/* The triangle times the solution is the right side again. */
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			if (i == j ? unit : (j > i) != upper)
				a.dense[i * N + j] = i == j;
	number_get(t, c_at, c, N * columns);
	for (int j = 0; good && j < columns; j++)
		for (int i = 0; i < N; i++) {
			num sum = 0;

			for (int k = 0; k < N; k++)
				sum += op_at(op, i, k) * c[k + j * N];
			good &= cabs(sum - 2 * b[i + j * N]) < tolerance(t) * N *
				fmax(1, cabs(c[i + j * N]));
		}
	return good;
}

static void solutions(int t)
{
	ok(triangle_solved(t, 0, 0, OP_N, 1), named(t, "lower_triangle_is_solved"));
	ok(triangle_solved(t, 1, 0, OP_N, 1), named(t, "upper_triangle_is_solved"));
	ok(triangle_solved(t, 1, 1, OP_T, 1), named(t, "transpose_of_a_unit_triangle_is_solved"));
	ok(triangle_solved(t, 0, 0, t == C || t == Z ? OP_C : OP_T, 5),
	   named(t, "adjoint_of_a_triangle_is_solved_for_several_columns"));
}

/* Indices between formats, in the old interface. */
static void indices_only(void)
{
	int rows[MOST], starts[M + 2], good = 1;
	num v[MOST];
	size_t size;

	make(F, &a, M, N);
	put_indices(offsets, a.row, a.nnz, 0, 1);
	cusparseXcoo2csr(h, AT(offsets), a.nnz, M, AT(other[0]), CUSPARSE_INDEX_BASE_ONE);
	cuMemcpyDtoH(starts, other[0], (M + 1) * sizeof(int));
	for (int i = 0; i <= M; i++)
		good &= starts[i] == a.offsets[i] + 1;
	ok(good, "rows_of_coo_become_offsets");
	cusparseXcsr2coo(h, AT(other[0]), a.nnz, M, AT(other[1]), CUSPARSE_INDEX_BASE_ONE);
	cuMemcpyDtoH(rows, other[1], a.nnz * sizeof(int));
	good = 1;
	for (int e = 0; e < a.nnz; e++)
		good &= rows[e] == a.row[e] + 1;
	ok(good, "offsets_become_rows_of_coo");

	cusparseDestroySpMat(describe(F, CUSPARSE_FORMAT_CSR, 0, 0));
	good = !cusparseCsr2cscEx2_bufferSize(h, M, N, a.nnz, AT(values), AT(offsets), AT(indices),
					      AT(other[2]), AT(other[0]), AT(other[1]), CUDA_R_32F,
					      CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO,
					      CUSPARSE_CSR2CSC_ALG1, &size) &&
	       !cusparseCsr2cscEx2(h, M, N, a.nnz, AT(values), AT(offsets), AT(indices),
				   AT(other[2]),
				   AT(other[0]), AT(other[1]), CUDA_R_32F, CUSPARSE_ACTION_NUMERIC,
				   CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, AT(buffer));
	cuMemcpyDtoH(starts, other[0], (N + 1) * sizeof(int));
	cuMemcpyDtoH(rows, other[1], a.nnz * sizeof(int));
	number_get(F, other[2], v, a.nnz);
	good &= starts[N] == a.nnz;
	for (int j = 0; j < N; j++)
		for (int e = starts[j]; good && e < starts[j + 1]; e++)
			good &= v[e] == a.dense[rows[e] * N + j] &&
				(e == starts[j] || rows[e] > rows[e - 1]);
	ok(good, "csr_becomes_csc_with_rows_in_order");
}

static void refusals(void)
{
	cusparseSpMatDescr_t m;
	cusparseDnVecDescr_t x, y;

	make(F, &a, M, N);
	m = describe(F, CUSPARSE_FORMAT_CSR, 0, 0);
	cusparseCreateDnVec(&x, N, AT(b_at), CUDA_R_32F);
	cusparseCreateDnVec(&y, M - 1, AT(c_at), CUDA_R_32F);
#define SPMV(y, compute) cusparseSpMV(h, OP_N, scalar(F, 0, 1), m, x, scalar(F, 1, 0), y, compute, \
				      CUSPARSE_SPMV_ALG_DEFAULT, AT(buffer))
	ok_eq(SPMV(y, CUDA_R_32F), CUSPARSE_STATUS_INVALID_VALUE,
	      "vector_that_is_too_short_is_refused");
	cusparseDestroyDnVec(y);
	cusparseCreateDnVec(&y, M, AT(c_at), CUDA_R_64F);
	ok_eq(SPMV(y, CUDA_R_64F), CUSPARSE_STATUS_NOT_SUPPORTED,
	      "product_of_several_types_is_refused");
	cusparseDestroyDnVec(y);
	ok_eq(cusparseCreateIdentityPermutation(h, 3, AT(offsets)), CUSPARSE_STATUS_NOT_SUPPORTED,
	      "function_that_is_not_there_says_so");
	ok(!strcmp(cusparseGetErrorName(CUSPARSE_STATUS_NOT_SUPPORTED),
		   "CUSPARSE_STATUS_NOT_SUPPORTED"),
	   "status_has_its_name");
	cusparseDestroyDnVec(x);
	cusparseDestroySpMat(m);
}

/* Both matrices of a batch, at a distance of their own each. */
static void batch(void)
{
	cusparseSpMatDescr_t m;
	cusparseDnMatDescr_t x, y;
	int good;

	make(D, &a, M, N);
	m = describe(D, CUSPARSE_FORMAT_CSR, 0, 0);
	fill(D, b);
	number_put(D, b_at, b, 2 * N * 3);
	cusparseCreateDnMat(&x, N, 3, N, AT(b_at), CUDA_R_64F, CUSPARSE_ORDER_COL);
	cusparseCreateDnMat(&y, M, 3, M, AT(c_at), CUDA_R_64F, CUSPARSE_ORDER_COL);
	cusparseDnMatSetStridedBatch(x, 2, N * 3);
	cusparseDnMatSetStridedBatch(y, 2, M * 3);
	good = !cusparseSpMM(h, OP_N, OP_N, scalar(D, 0, 1), m, x, scalar(D, 1, 0), y, CUDA_R_64F,
			     CUSPARSE_SPMM_ALG_DEFAULT, AT(buffer));
	for (int j = 0; j < 6; j++)
		for (int i = 0; i < M; i++) {
			want[i + j * M] = 0;
			for (int k = 0; k < N; k++)
				want[i + j * M] += a.dense[i * N + k] * b[k + j * N];
		}
	ok(good && same(D, c_at, M * 6), "batch_has_one_sparse_matrix_for_all");
	cusparseDestroyDnMat(x);
	cusparseDestroyDnMat(y);
	cusparseDestroySpMat(m);
}

/* Scalars may be on the device. */
static void device_scalars(void)
{
	cusparseSpMatDescr_t m;
	cusparseDnVecDescr_t x, y;
	double s[2] = { 3, 0 };
	int good;

	make(D, &a, M, N);
	m = describe(D, CUSPARSE_FORMAT_COO, 0, 0);
	fill(D, b);
	number_put(D, b_at, b, N);
	cuMemcpyHtoD(other[0], s, sizeof(s));
	cusparseCreateDnVec(&x, N, AT(b_at), CUDA_R_64F);
	cusparseCreateDnVec(&y, M, AT(c_at), CUDA_R_64F);
	cusparseSetPointerMode(h, CUSPARSE_POINTER_MODE_DEVICE);
	good = !cusparseSpMV(h, OP_N, AT(other[0]), m, x, AT(other[0] + 8), y, CUDA_R_64F,
			     CUSPARSE_SPMV_ALG_DEFAULT, AT(buffer));
	cusparseSetPointerMode(h, CUSPARSE_POINTER_MODE_HOST);
	for (int i = 0; i < M; i++) {
		want[i] = 0;
		for (int k = 0; k < N; k++)
			want[i] += 3 * a.dense[i * N + k] * b[k];
	}
	ok(good && same(D, c_at, M), "scalars_of_the_device_count");
	cusparseDestroyDnVec(x);
	cusparseDestroyDnVec(y);
	cusparseDestroySpMat(m);
}

int main(void)
{
	CUdeviceptr *all[] = { &offsets, &indices, &values, &b_at, &c_at, &other[0], &other[1],
			       &other[2] };
	CUcontext ctx;

	tap_plan(TYPES * (6 + 4 + 1 + 3 + 2) + 4 * 4 + 3 + 1 + 1 + 4);
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) ||
	    cusparseCreate(&h)) {
		diag("no device, or no handle");
		return 1;
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		cuMemAlloc(all[i], (MOST + M * M) * sizeof(num));
	cuMemAlloc(&buffer, 1 << 20);
	for (int t = 0; t < TYPES; t++) {
		vectors(t);
		matrices(t);
		sampled(t);
		conversions(t);
		sparse_product(t);
		if (t < HALF)
			solutions(t);
	}
	indices_only();
	batch();
	device_scalars();
	refusals();
	cusparseDestroy(h);
	return tap_exit();
}
