// SPDX-License-Identifier: Apache-2.0
/* Conversions between formats, and products of sparse matrices, of the stand-in for cuSPARSE. */
#include "sparse.h"

#include <limits.h>
#include <stdlib.h>

#define ST	EXPORT cusparseStatus_t
#define OK	CUSPARSE_STATUS_SUCCESS
#define WRONG	CUSPARSE_STATUS_INVALID_VALUE
#define LACKS	CUSPARSE_STATUS_NOT_SUPPORTED
#define H	cusparseHandle_t h

SPARSE_KERNELS(to_dense);
SPARSE_KERNELS(clear);
SPARSE_KERNELS(count);
SPARSE_KERNELS(to_sparse);
SPARSE_KERNELS(multiply);
SPARSE_KERNELS(write_product);

#define INDEX_KERNEL(name) static struct standin_kernel name##_kernel = { #name, NULL }

INDEX_KERNEL(put_starts);
INDEX_KERNEL(count_products);
INDEX_KERNEL(coo2csr);
INDEX_KERNEL(csr2coo);
INDEX_KERNEL(count_columns);
INDEX_KERNEL(place_entries);
INDEX_KERNEL(order_entries);
INDEX_KERNEL(transpose);

/* --- Sparse to dense and back -------------------------------------------------------------- */

static cusparseStatus_t check_pair(cusparseHandle_t h, const struct cusparseSpMatDescr *s,
				   const struct cusparseDnMatDescr *d, enum sparse_type *t)
{
	cusparseStatus_t st = sparse_enter(h);

	if (st)
		return st;
	if (!s || !d || s->args.rows != d->args.rows || s->args.cols != d->args.cols ||
	    s->type != d->type)
		return WRONG;
	return sparse_type_of(s->type, t) ? OK : LACKS;
}

ST cusparseSparseToDense_bufferSize(H, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b,
				    cusparseSparseToDenseAlg_t algorithm, size_t *size)
{
	enum sparse_type t;
	cusparseStatus_t st = check_pair(h, a, b, &t);

	(void)algorithm;
	if (st)
		return st;
	if (!size)
		return WRONG;
	*size = 0;
	return OK;
}

ST cusparseSparseToDense(H, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b,
			 cusparseSparseToDenseAlg_t algorithm, void *buffer)
{
	enum sparse_type t;
	cusparseStatus_t st = check_pair(h, a, b, &t);

	(void)algorithm; (void)buffer;
	if (st)
		return st;
	st = sparse_launch(h, &clear_kernel[t], b->args.rows * b->args.cols, 1,
			   (void *[]){ &b->args });
	if (st || !a->args.nnz)
		return st;
	return sparse_launch(h, &to_dense_kernel[t], a->args.nnz, 1,
			     (void *[]){ (void *)&a->args, &b->args });
}

/* The lines that the format compresses; COO is made by rows. */
static int64_t lines_of(const struct cusparseSpMatDescr *s, int64_t *length)
{
	bool columns = s->args.format == FORMAT_CSC;

	*length = columns ? s->args.rows : s->args.cols;
	return columns ? s->args.cols : s->args.rows;
}

ST cusparseDenseToSparse_bufferSize(H, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b,
				    cusparseDenseToSparseAlg_t algorithm, size_t *size)
{
	enum sparse_type t;
	int64_t length;
	cusparseStatus_t st = check_pair(h, b, a, &t);

	(void)algorithm;
	if (st)
		return st;
	if (!size)
		return WRONG;
	*size = (lines_of(b, &length) + 1) * sizeof(int64_t);
	return OK;
}

/* Counts into the buffer, which the conversion finds there. The number of entries becomes known. */
ST cusparseDenseToSparse_analysis(H, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b,
				  cusparseDenseToSparseAlg_t algorithm, void *buffer)
{
	enum sparse_type t;
	int64_t length, lines, total;
	cusparseStatus_t st = check_pair(h, b, a, &t);
	int columns;

	(void)algorithm;
	if (st)
		return st;
	if (!buffer)
		return WRONG;
	lines = lines_of(b, &length);
	columns = b->args.format == FORMAT_CSC;
	st = sparse_launch(h, &count_kernel[t], lines, 1,
			   (void *[]){ (void *)&a->args, &columns, &lines, &length, &buffer });
	if (!st)
		st = sparse_starts(h, buffer, lines, &total);
	if (!st && b->args.format != FORMAT_COO)
		st = sparse_launch(h, &put_starts_kernel, lines + 1, 1,
				   (void *[]){ &b->args, &lines, &buffer });
	if (!st)
		b->args.nnz = total;
	return st;
}

ST cusparseDenseToSparse_convert(H, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b,
				 cusparseDenseToSparseAlg_t algorithm, void *buffer)
{
	enum sparse_type t;
	int64_t length, lines;
	cusparseStatus_t st = check_pair(h, b, a, &t);

	(void)algorithm;
	if (st)
		return st;
	if (!buffer)
		return WRONG;
	lines = lines_of(b, &length);
	return sparse_launch(h, &to_sparse_kernel[t], lines, 1,
			     (void *[]){ (void *)&a->args, &b->args, &lines, &length, &buffer });
}

/* --- Between CSR, CSC and COO ---------------------------------------------------------------- */

ST cusparseXcoo2csr(H, const int *rows, int nnz, int m, int *offsets, cusparseIndexBase_t base)
{
	cusparseStatus_t st = sparse_enter(h);
	int64_t entries = nnz, lines = m;
	int from = base;

	if (st)
		return st;
	if (nnz < 0 || m < 0 || (unsigned int)base > 1)
		return WRONG;
	return sparse_launch(h, &coo2csr_kernel, lines + 1, 1,
			     (void *[]){ &rows, &entries, &lines, &offsets, &from });
}

ST cusparseXcsr2coo(H, const int *offsets, int nnz, int m, int *rows, cusparseIndexBase_t base)
{
	struct sparse_args a = { .offsets = (void *)offsets, .rows = m, .nnz = nnz,
				 .format = FORMAT_CSR, .base = (int)base };
	cusparseStatus_t st = sparse_enter(h);

	if (st)
		return st;
	if (nnz < 0 || m < 0 || (unsigned int)base > 1)
		return WRONG;
	return nnz ? sparse_launch(h, &csr2coo_kernel, nnz, 1, (void *[]){ &a, &rows }) : OK;
}

static int bytes_of(cudaDataType t)
{
	switch (t) {
	case CUDA_R_8I:
	case CUDA_R_8U:
		return 1;
	case CUDA_R_16F:
	case CUDA_R_16BF:
		return 2;
	case CUDA_R_32F:
	case CUDA_R_32I:
		return 4;
	case CUDA_R_64F:
	case CUDA_C_32F:
		return 8;
	case CUDA_C_64F:
		return 16;
	default:
		standin_refuse("cusparseCsr2cscEx2 of this type");
		return 0;
	}
}

/* The buffer has where columns begin, twice, and the entries in the order of columns. */
ST cusparseCsr2cscEx2_bufferSize(H, int m, int n, int nnz, const void *values, const int *offsets,
				 const int *columns, void *to_values, int *to_offsets, int *to_rows,
				 cudaDataType type, cusparseAction_t action,
				 cusparseIndexBase_t base, cusparseCsr2CscAlg_t algorithm,
				 size_t *size)
{
	(void)values; (void)offsets; (void)columns; (void)to_values; (void)to_offsets;
	(void)to_rows; (void)type; (void)action; (void)base; (void)algorithm;
	if (!h)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (m < 0 || n < 0 || nnz < 0 || !size)
		return WRONG;
	*size = (2 * ((size_t)n + 1) + nnz) * sizeof(int64_t);
	return OK;
}

static cusparseStatus_t transpose(cusparseHandle_t h, struct sparse_args *a, struct sparse_args *to,
				  int bytes, int64_t *starts)
{
	int64_t lines = a->cols, *next = starts + lines + 1, *entries = next + lines + 1;
	cusparseStatus_t st = sparse_clear(h, starts, (lines + 1) * sizeof(*starts));

	if (!st && a->nnz)
		st = sparse_launch(h, &count_columns_kernel, a->nnz, 1, (void *[]){ a, &starts });
	if (!st)
		st = sparse_starts(h, starts, lines, NULL);
	if (!st)
		st = sparse_launch(h, &put_starts_kernel, lines + 1, 1,
				   (void *[]){ to, &lines, &starts });
	if (st || !a->nnz)
		return st;
	if (standin_drv.cuMemcpyDtoDAsync_v2((CUdeviceptr)(uintptr_t)next,
					     (CUdeviceptr)(uintptr_t)starts,
					     (lines + 1) * sizeof(*starts), h->stream))
		return CUSPARSE_STATUS_EXECUTION_FAILED;
	/* Entries whose column is none are not placed; zeros keep the last step in its arrays. */
	st = sparse_clear(h, entries, a->nnz * sizeof(*entries));
	if (!st)
		st = sparse_launch(h, &place_entries_kernel, a->nnz, 1,
				   (void *[]){ a, &next, &entries });
	if (!st)
		st = sparse_launch(h, &order_entries_kernel, lines, 1,
				   (void *[]){ &starts, &lines, &entries });
	return st ? st : sparse_launch(h, &transpose_kernel, a->nnz, 1,
				       (void *[]){ a, to, &entries, &bytes });
}

ST cusparseCsr2cscEx2(H, int m, int n, int nnz, const void *values, const int *offsets,
		      const int *columns, void *to_values, int *to_offsets, int *to_rows,
		      cudaDataType type, cusparseAction_t action, cusparseIndexBase_t base,
		      cusparseCsr2CscAlg_t algorithm, void *buffer)
{
	struct sparse_args a = { .offsets = (void *)offsets, .indices = (void *)columns,
				 .values = (void *)values, .rows = m, .cols = n, .nnz = nnz,
				 .format = FORMAT_CSR, .base = (int)base };
	struct sparse_args to = { .offsets = to_offsets, .indices = to_rows, .values = to_values,
				  .rows = m, .cols = n, .nnz = nnz, .format = FORMAT_CSC,
				  .base = (int)base };
	cusparseStatus_t st = sparse_enter(h);
	int bytes = 0;

	(void)algorithm;
	if (st)
		return st;
	if (m < 0 || n < 0 || nnz < 0 || (unsigned int)base > 1 || (unsigned int)action > 1 ||
	    !buffer)
		return WRONG;
	if (action == CUSPARSE_ACTION_NUMERIC && !(bytes = bytes_of(type)))
		return LACKS;
	return transpose(h, &a, &to, bytes, buffer);
}

/* --- SpGEMM ---------------------------------------------------------------------------- */

struct cusparseSpGEMMDescr {
	int64_t *starts;	/* on the device: where each row's products begin */
	int64_t products;
	void *room;		/* on the device: lengths of rows, columns, values */
	bool multiplied;
};

ST cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t *d)
{
	if (!d)
		return WRONG;
	*d = calloc(1, sizeof(**d));
	return *d ? OK : CUSPARSE_STATUS_ALLOC_FAILED;
}

ST cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t d)
{
	free(d);
	return OK;
}

ST cusparseSpGEMM_getNumProducts(cusparseSpGEMMDescr_t d, int64_t *products)
{
	if (!d || !products)
		return WRONG;
	*products = d->products;
	return OK;
}

#define FACTORS	H, cusparseOperation_t op_a, cusparseOperation_t op_b, const void *alpha, \
	cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, const void *beta, \
	cusparseSpMatDescr_t c, cudaDataType compute, cusparseSpGEMMAlg_t algorithm, \
	cusparseSpGEMMDescr_t d

static bool shapes_good(cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
			cusparseConstSpMatDescr_t c)
{
	return a->args.cols == b->args.rows && c->args.rows == a->args.rows &&
	       c->args.cols == b->args.cols;
}

static cusparseStatus_t check(FACTORS, enum sparse_type *t)
{
	cusparseStatus_t st = sparse_enter(h);

	(void)algorithm;
	if (st)
		return st;
	if (!a || !b || !c || !d || !alpha || !beta || !shapes_good(a, b, c))
		return WRONG;
	if (op_a != CUSPARSE_OPERATION_NON_TRANSPOSE || op_b != op_a || a->type != b->type ||
	    a->type != c->type || a->args.format != FORMAT_CSR || b->args.format != FORMAT_CSR ||
	    c->args.format != FORMAT_CSR) {
		standin_refuse("SpGEMM of a transpose, of another format, or of several types");
		return LACKS;
	}
	return sparse_types(a->type, compute, t) ? OK : LACKS;
}

#define CHECK()	check(h, op_a, op_b, alpha, a, b, beta, c, compute, algorithm, d, &t)

/* Called twice: without a buffer for its size, and with it to count products. */
ST cusparseSpGEMM_workEstimation(FACTORS, size_t *size, void *buffer)
{
	enum sparse_type t;
	cusparseStatus_t st = CHECK();
	int64_t products;

	if (st)
		return st;
	if (!size)
		return WRONG;
	if (!buffer) {
		*size = (a->args.rows + 1) * sizeof(int64_t);
		return OK;
	}
	if (*size < (a->args.rows + 1) * sizeof(int64_t))
		return CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
	st = sparse_launch(h, &count_products_kernel, a->args.rows, 1,
			   (void *[]){ (void *)&a->args, (void *)&b->args, &buffer });
	if (!st)
		st = sparse_starts(h, buffer, a->args.rows, &products);
	if (st)
		return st;
	d->starts = buffer;
	d->products = products;
	d->multiplied = false;
	return OK;
}

/* The parts of the second buffer. */
struct room {
	int64_t *ends, *columns;
	void *values;
};

static struct room room_in(void *buffer, int64_t rows, int64_t products)
{
	/* Values of double complex need 16 bytes, which an even number of words gives. */
	int64_t words = (rows + 1 + products + 1) / 2 * 2;
	int64_t *ends = buffer;

	return (struct room){ ends, ends + rows + 1, ends + words };
}

static size_t room_size(int64_t rows, int64_t products, enum sparse_type t)
{
	int64_t words = (rows + 1 + products + 1) / 2 * 2;

	return words * sizeof(int64_t) + products * sparse_sum_size(t);
}

/* Called twice: without a buffer for its size, and with it to multiply. */
ST cusparseSpGEMM_compute(FACTORS, size_t *size, void *buffer)
{
	enum sparse_type t;
	cusparseStatus_t st = CHECK();
	struct room room;
	int64_t nnz;

	if (st)
		return st;
	if (!size || !d->starts || d->products < 0 || d->products > INT64_MAX / 32)
		return WRONG;
	if (!buffer) {
		*size = room_size(a->args.rows, d->products, t);
		return OK;
	}
	if (*size < room_size(a->args.rows, d->products, t))
		return CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
	room = room_in(buffer, a->args.rows, d->products);
	st = sparse_launch(h, &multiply_kernel[t], a->args.rows, 1,
			   (void *[]){ (void *)&a->args, (void *)&b->args, &d->starts,
				       &room.columns, &room.values, &room.ends });
	if (!st)
		st = sparse_starts(h, room.ends, a->args.rows, &nnz);
	if (st)
		return st;
	d->room = buffer;
	d->multiplied = true;
	c->args.nnz = nnz;
	return OK;
}

/* Reads whether a scalar is zero, which in device mode waits for the stream. */
static cusparseStatus_t read_zero(cusparseHandle_t h, enum sparse_type t, const void *p, bool *zero)
{
	double v[2] = { 0, 0 };
	const char *bytes = (const char *)v;
	int i;

	if (h->pointers == CUSPARSE_POINTER_MODE_HOST)
		bytes = p;
	else if (standin_drv.cuMemcpyDtoHAsync_v2(v, (CUdeviceptr)(uintptr_t)p, sparse_sum_size(t),
						  h->stream) ||
		 standin_drv.cuStreamSynchronize(h->stream))
		return CUSPARSE_STATUS_EXECUTION_FAILED;
	*zero = true;
	for (i = 0; i < sparse_sum_size(t); i++)
		*zero &= !bytes[i];
	return OK;
}

ST cusparseSpGEMM_copy(FACTORS)
{
	enum sparse_type t;
	cusparseStatus_t st = CHECK();
	struct scalar s;
	struct room room;
	bool zero;

	if (st)
		return st;
	if (!d->multiplied)
		return WRONG;
	st = read_zero(h, t, beta, &zero);
	if (st)
		return st;
	if (!zero) {
		standin_refuse("SpGEMM that adds to a matrix");
		return LACKS;
	}
	room = room_in(d->room, a->args.rows, d->products);
	s = sparse_scalar(h, t, alpha);
	return sparse_launch(h, &write_product_kernel[t], c->args.rows, 1,
			     (void *[]){ &c->args, &d->starts, &room.columns, &room.values,
					 &room.ends, &s.value, &s.at });
}
