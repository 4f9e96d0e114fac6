/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of cusolver_unit_test.c that is a library which believes what it is told, and
 * follows it.
 */

struct cusparseMatDescr {
	int base;
};

static cusparseStatus_t make_descriptor(cusparseMatDescr_t *d)
{
	*d = calloc(1, sizeof(**d));
	return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t set_base(cusparseMatDescr_t d, cusparseIndexBase_t base)
{
	d->base = base;
	return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t quiet_descriptor(cusparseMatDescr_t d, int value)
{
	(void)d, (void)value;
	return CUSPARSE_STATUS_SUCCESS;
}

static cusolverStatus_t quiet(void)
{
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t make_handle(void **h)
{
	*h = calloc(1, 64);
	return CUSOLVER_STATUS_SUCCESS;
}

/* May the client still write there? */
static void look_where(const void *p)
{
	const uint8_t *at = p, *part = session->part;

	shared += at >= part && at < part + session->part_size;
}

/*
 * Follows the indexes of a matrix. Elements that a row has more than once would be
 * written behind the end.
 */
static void follow(int rows, int cols, int nnz, int base, const int *start, const int *col)
{
	int *seen = calloc(cols + 1, sizeof(*seen)), *list = malloc(nnz * sizeof(*list) + 1);
	int i, k, n = 0;

	reached++;
	look_where(start);
	look_where(col);
	for (i = 0; i < rows; i++)
		for (k = start[i] - base; k < start[i + 1] - base; k++) {
			seen[col[k] - base]++;
			list[n++] = k;
		}
	fuzz_sink = nnz ? list[nnz - 1] : 0;
	free(seen);
	free(list);
}

static cusolverStatus_t symrcm(cusolverSpHandle_t h, int n, int nnz, const cusparseMatDescr_t d,
			       const int *start, const int *col, int *p)
{
	(void)h;
	follow(n, n, nnz, d->base, start, col);
	memset(p, 1, n * sizeof(*p));
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t issym(cusolverSpHandle_t h, int m, int nnz, const cusparseMatDescr_t d,
			      const int *start, const int *end, const int *col, int *found)
{
	int *list = malloc(nnz * sizeof(*list) + 1), i, k, n = 0;

	(void)h;
	reached++;
	for (i = 0; i < m; i++)
		for (k = start[i] - d->base; k < end[i] - d->base; k++)
			list[n++] = start[col[k] - d->base];
	*found = n;
	free(list);
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t perm_size(cusolverSpHandle_t h, int m, int n, int nnz,
				  const cusparseMatDescr_t d, const int *start, const int *col,
				  const int *p, const int *q, size_t *size)
{
	(void)h, (void)d, (void)start, (void)col, (void)p, (void)q;
	*size = m + n + nnz;
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t perm(cusolverSpHandle_t h, int m, int n, int nnz,
			     const cusparseMatDescr_t d, int *start, int *col, const int *p,
			     const int *q, int *map, void *work)
{
	int i;

	(void)h;
	follow(m, n, nnz, d->base, start, col);
	for (i = 0; i < m; i++)
		fuzz_sink = start[p[i]];
	for (i = 0; i < n; i++)
		((char *)work)[q[i]] = 1;
	memset(work, 1, m + n + nnz);
	memset(start, 1, (m + 1) * sizeof(*start));
	memset(col, 1, nnz * sizeof(*col));
	memset(map, 1, nnz * sizeof(*map));
	return CUSOLVER_STATUS_SUCCESS;
}

/* An information keeps what it was given, and works by its analysis alone. */
struct csrluInfoHost {
	int n, nnz, base;
	const int *start, *col;
	size_t element;
};

static cusolverStatus_t create(csrluInfoHost_t *info)
{
	*info = calloc(1, sizeof(**info));
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t destroy(csrluInfoHost_t info)
{
	free(info);
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t analyse(cusolverSpHandle_t h, int n, int nnz, const cusparseMatDescr_t d,
				const int *start, const int *col, csrluInfoHost_t info)
{
	(void)h;
	follow(n, n, nnz, d->base, start, col);
	if (next() % 8 == 0)
		return CUSOLVER_STATUS_ALLOC_FAILED;
	*info = (struct csrluInfoHost) { n, nnz, d->base, start, col, 0 };
	return CUSOLVER_STATUS_SUCCESS;
}

static size_t work_of(const struct csrluInfoHost *i)
{
	return (i->n + 1) * i->element;
}

#define TYPED(t, type) \
static cusolverStatus_t size_##t(cusolverSpHandle_t h, int n, int nnz, \
		const cusparseMatDescr_t d, const type *value, const int *start, const int *col, \
		csrluInfoHost_t info, size_t *internal, size_t *work) \
{ \
	(void)h, (void)n, (void)d, (void)start, (void)col; \
	reached++; \
	touch(value, nnz * sizeof(*value)); \
	info->element = sizeof(type); \
	*internal = 0; \
	*work = work_of(info); \
	return CUSOLVER_STATUS_SUCCESS; \
} \
static cusolverStatus_t factor_##t(cusolverSpHandle_t h, int n, int nnz, \
		const cusparseMatDescr_t d, const type *value, const int *start, const int *col, \
		csrluInfoHost_t info, type threshold, void *work) \
{ \
	(void)h, (void)n, (void)nnz, (void)d, (void)start, (void)col, (void)threshold; \
	follow(info->n, info->n, info->nnz, info->base, info->start, info->col); \
	touch(value, info->nnz * sizeof(*value)); \
	memset(work, 1, (info->n + 1) * sizeof(type)); \
	return next() % 8 ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INTERNAL_ERROR; \
} \
static cusolverStatus_t solve_##t(cusolverSpHandle_t h, int n, const type *b, type *x, \
		csrluInfoHost_t info, void *work) \
{ \
	(void)h, (void)n; \
	reached++; \
	touch(b, info->n * sizeof(*b)); \
	memset(x, 1, info->n * sizeof(*x)); \
	memset(work, 1, (info->n + 1) * sizeof(type)); \
	return CUSOLVER_STATUS_SUCCESS; \
} \
static cusolverStatus_t extract_##t(cusolverSpHandle_t h, int *p, int *q, \
		const cusparseMatDescr_t dl, type *vl, int *sl, int *cl, \
		const cusparseMatDescr_t du, type *vu, int *su, int *cu, csrluInfoHost_t info, \
		void *work) \
{ \
	(void)h, (void)dl, (void)du, (void)work; \
	reached++; \
	memset(p, 1, info->n * sizeof(*p)); \
	memset(q, 1, info->n * sizeof(*q)); \
	memset(sl, 1, (info->n + 1) * sizeof(*sl)); \
	memset(su, 1, (info->n + 1) * sizeof(*su)); \
	memset(cl, 1, info->nnz * sizeof(*cl)); \
	memset(vl, 1, info->nnz * sizeof(*vl)); \
	memset(cu, 1, (info->nnz + 1) * sizeof(*cu)); \
	memset(vu, 1, (info->nnz + 1) * sizeof(*vu)); \
	return CUSOLVER_STATUS_SUCCESS; \
}

TYPED(S, float)
TYPED(D, double)

static cusolverStatus_t count(cusolverSpHandle_t h, int *l, int *u, csrluInfoHost_t info)
{
	(void)h;
	*l = info->nnz;
	*u = info->nnz + 1;
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverRfMatrixFormat_t format;

static cusolverStatus_t get_format(cusolverRfHandle_t h, cusolverRfMatrixFormat_t *f,
				   cusolverRfUnitDiagonal_t *d)
{
	(void)h;
	*f = format;
	*d = CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_L;
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t set_up(int n, int nnz, int *start, int *col, double *value, int nl,
			       int *sl, int *cl, double *vl, int nu, int *su, int *cu, double *vu,
			       int *p, int *q, cusolverRfHandle_t handle)
{
	(void)p, (void)q, (void)handle;
	follow(n, n, nnz, 0, start, col);
	follow(n, n, nl, 0, sl, cl);
	follow(n, n, nu, 0, su, cu);
	touch(value, nnz * sizeof(*value));
	touch(vl, nl * sizeof(*vl));
	touch(vu, nu * sizeof(*vu));
	return CUSOLVER_STATUS_SUCCESS;
}

static void fill(struct wh_session *s)
{
	static struct wh_cusparse_functions p = {
		.cusparseCreateMatDescr = make_descriptor, .cusparseSetMatIndexBase = set_base,
		.cusparseDestroyMatDescr = (void *)quiet,
		.cusparseSetMatType = (void *)quiet_descriptor,
		.cusparseSetMatFillMode = (void *)quiet_descriptor,
		.cusparseSetMatDiagType = (void *)quiet_descriptor,
	};
	static struct wh_cusolver_functions l = {
		.cusolverSpCreate = (void *)make_handle, .cusolverSpDestroy = (void *)quiet,
		.cusolverSpSetStream = (void *)quiet,
		.cusolverRfCreate = (void *)make_handle, .cusolverRfDestroy = (void *)quiet,
		.cusolverRfGetMatrixFormat = get_format, .cusolverRfSetupHost = set_up,
		.cusolverSpXcsrsymrcmHost = symrcm, .cusolverSpXcsrissymHost = issym,
		.cusolverSpXcsrmetisndHost = NULL,
		.cusolverSpXcsrperm_bufferSizeHost = perm_size, .cusolverSpXcsrpermHost = perm,
		.cusolverSpCreateCsrluInfoHost = create, .cusolverSpDestroyCsrluInfoHost = destroy,
		.cusolverSpXcsrluAnalysisHost = analyse, .cusolverSpXcsrluNnzHost = count,
		.cusolverSpScsrluBufferInfoHost = size_S, .cusolverSpDcsrluBufferInfoHost = size_D,
		.cusolverSpScsrluFactorHost = factor_S, .cusolverSpDcsrluFactorHost = factor_D,
		.cusolverSpScsrluSolveHost = solve_S, .cusolverSpDcsrluSolveHost = solve_D,
		.cusolverSpScsrluExtractHost = extract_S, .cusolverSpDcsrluExtractHost = extract_D,
	};

	s->library_file[0][WH_LIB_cusparse].functions = s->library[WH_LIB_cusparse] = &p;
	s->library_file[0][WH_LIB_cusolver].functions = &l;
	s->drv.cuCtxSetCurrent = (void *)quiet;
	context = wh_handle_for(s, WH_H_CUcontext, (void *)0x1000, 0);
	session = s;
}
