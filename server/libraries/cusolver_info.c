// SPDX-License-Identifier: Apache-2.0
/*
 * Information objects of cuSOLVER's low level on the CPU (csrlu, csrqr, csrchol). The library
 * writes by the structure that it found in the analysis, so the worker keeps that pattern and lets
 * no other pass. It also keeps memory whose addresses the library may have kept: the arrays that it
 * was given, and the workspace.
 */
#include "gen_cusolver_server.h"

#include <stdlib.h>

#define OK	CUSOLVER_STATUS_SUCCESS
#define BAD	CUSOLVER_STATUS_INVALID_VALUE

struct info {
	struct info *next;
	const void *real;
	enum wh_info_step step;
	int rows, cols, nnz, base;
	char type;		/* letter of the functions that it is used with; 0: not known yet */
	void *values;		/* values of the last call that had some */
	void *work;
	size_t work_size;
	int pattern[];		/* row pointers, then columns */
};

/* The library's state (state.h) is one block of malloc; all others hang from this one. */
struct all {
	struct info *first;
};

static struct info **place(struct wh_session *s, const void *real)
{
	struct all *all = s->library_state[WH_LIB_cusolver];
	struct info **p;

	if (!all)
		all = s->library_state[WH_LIB_cusolver] = calloc(1, sizeof(*all));
	if (!all)
		return NULL;
	for (p = &all->first; *p && (*p)->real != real; p = &(*p)->next)
		;
	return p;
}

static struct info *find(struct wh_session *s, const void *real)
{
	struct info **p = real ? place(s, real) : NULL;

	return p ? *p : NULL;
}

/* Returns the type in cusolverSp<t>csr...; functions for all types have 'X'. */
static char type_of(const char *call)
{
	return call[sizeof("cusolverSp") - 1];
}

static bool type_fits(const struct info *i, const char *call)
{
	return type_of(call) == 'X' || type_of(call) == i->type;
}

/* --- The pattern ------------------------------------------------------------------------- */

static void replace(struct info *i, int **start, int **col)
{
	*start = i->pattern;
	*col = i->pattern + i->rows + 1;
}

static size_t bytes_of(const struct info *i)
{
	return ((size_t)i->rows + 1 + i->nnz) * sizeof(int);
}

cusolverStatus_t wh_info_begins(struct wh_session *s, const void *info, int rows, int cols,
				int nnz, const struct wh_obj_cusparseMatDescr_t *d, int **start,
				int **col)
{
	struct info i = { .real = info, .rows = rows, .cols = cols, .nnz = nnz, .base = d->base };
	struct info **p = info ? place(s, info) : NULL, *made;

	/* It is not known what the library does with a second analysis. */
	if (!info || (p && *p))
		return BAD;
	made = p ? malloc(sizeof(*made) + bytes_of(&i)) : NULL;
	if (!made)
		return CUSOLVER_STATUS_ALLOC_FAILED;
	*made = i;
	memcpy(made->pattern, *start, ((size_t)rows + 1) * sizeof(int));
	memcpy(made->pattern + rows + 1, *col, (size_t)nnz * sizeof(int));
	*p = made;
	replace(made, start, col);
	return OK;
}

static bool same_pattern(const struct info *i, const int *start, const int *col)
{
	size_t head = ((size_t)i->rows + 1) * sizeof(int);

	return !memcmp(i->pattern, start, head) &&
	       !memcmp(i->pattern + i->rows + 1, col, bytes_of(i) - head);
}

/*
 * Goes back to the step that a call needs: later steps are void, except after a question about
 * sizes.
 */
static cusolverStatus_t go_back(struct info *i, const char *call, enum wh_info_step step)
{
	if (i->step < step || (i->type && !type_fits(i, call)))
		return BAD;
	if (step != WH_INFO_ANALYSED)
		i->step = step;
	return OK;
}

/* Keeps values of any type in memory that stays where it is. */
static bool keep_values(struct info *i, void **values, size_t size)
{
	if (!i->values)
		i->values = malloc((size_t)i->nnz * sizeof(cuDoubleComplex) + 1);
	if (!i->values)
		return false;
	*values = memcpy(i->values, *values, i->nnz * size);
	return true;
}

cusolverStatus_t wh_info_same(struct wh_session *s, const char *call, const void *info,
			      enum wh_info_step step, int rows, int cols, int nnz,
			      const struct wh_obj_cusparseMatDescr_t *d, int **start, int **col,
			      void **values, size_t size)
{
	struct info *i = find(s, info);
	cusolverStatus_t res;

	if (!i || rows != i->rows || cols != i->cols || nnz != i->nnz || !d->there ||
	    (int)d->base != i->base || !same_pattern(i, *start, *col))
		return BAD;
	res = go_back(i, call, step);
	if (res != OK)
		return res;
	replace(i, start, col);
	return keep_values(i, values, size) ? OK : CUSOLVER_STATUS_ALLOC_FAILED;
}

/* --- Steps --------------------------------------------------------------------------------- */

cusolverStatus_t wh_info_at(struct wh_session *s, const char *call, const void *info,
			    enum wh_info_step step, int rows, int cols)
{
	struct info *i = find(s, info);

	return i && rows == i->rows && cols == i->cols ? go_back(i, call, step) : BAD;
}

cusolverStatus_t wh_info_counts(struct wh_session *s, const void *info, int nnz)
{
	struct info *i = find(s, info);

	return i && nnz == i->nnz ? OK : BAD;
}

cusolverStatus_t wh_info_done(struct wh_session *s, const char *call, const void *info)
{
	struct info *i = find(s, info);

	return i && i->step == WH_INFO_FACTORED && type_fits(i, call) ? OK : BAD;
}

cusolverStatus_t wh_info_reaches(struct wh_session *s, const void *info, enum wh_info_step step)
{
	struct info *i = find(s, info);

	if (i && i->step < step)
		i->step = step;
	return OK;
}

/* If it is asked again, the library may want more. It never gets less than it once asked for. */
cusolverStatus_t wh_info_sized(struct wh_session *s, const char *call, const void *info,
			       size_t work)
{
	struct info *i = find(s, info);

	if (!i)
		return BAD;
	i->type = type_of(call);
	if (work > i->work_size) {
		free(i->work);
		i->work = NULL;
		i->work_size = work;
	}
	return wh_info_reaches(s, info, WH_INFO_SIZED);
}

cusolverStatus_t wh_info_ends(struct wh_session *s, const void *info)
{
	struct info **p = info ? place(s, info) : NULL, *i = p ? *p : NULL;

	if (i) {
		*p = i->next;
		free(i->values);
		free(i->work);
		free(i);
	}
	return OK;
}

/* --- Workspaces and factors ------------------------------------------------------------------ */

void *wh_info_work(struct wh_session *s, const void *info)
{
	struct info *i = find(s, info);

	if (i && !i->work)
		i->work = calloc(1, i->work_size ? i->work_size : 1);
	return i ? i->work : NULL;
}

static cusolverStatus_t lu_sizes(struct wh_session *s, const struct wh_cusolver_functions *l,
				 cusolverSpHandle_t handle, csrluInfoHost_t info, int size[3])
{
	cusolverStatus_t res = wh_info_done(s, "cusolverSpX", info);

	if (res != OK)
		return res;
	if (!l->cusolverSpXcsrluNnzHost)
		return wh_library_missing(s, "cusolverSpXcsrluNnzHost",
					  CUSOLVER_STATUS_NOT_SUPPORTED);
	size[0] = find(s, info)->rows;
	res = l->cusolverSpXcsrluNnzHost(handle, &size[1], &size[2], info);
	return res == OK && (size[1] < 0 || size[2] < 0) ? CUSOLVER_STATUS_INTERNAL_ERROR : res;
}

cusolverStatus_t wh_lu_fits(struct wh_session *s, const struct wh_cusolver_functions *l,
			    cusolverSpHandle_t handle, csrluInfoHost_t info,
			    const uint64_t count[8])
{
	cusolverStatus_t res;
	int size[3] = { 0 };
	uint64_t rows;

	res = lu_sizes(s, l, handle, info, size);
	if (res != OK)
		return res;
	rows = (uint64_t)size[0] + 1;
	return count[0] == rows - 1 && count[1] == rows - 1 && count[2] == rows &&
	       count[3] == (uint64_t)size[1] && count[4] == (uint64_t)size[1] &&
	       count[5] == rows && count[6] == (uint64_t)size[2] &&
	       count[7] == (uint64_t)size[2] ? OK : BAD;
}

int32_t wh_do_whSolverFactors(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cusolver_functions *l = wh_library_functions(s, WH_LIB_cusolver);
	const struct wh_req_whSolverFactors *q = f->req;
	struct wh_rsp_whSolverFactors *r = wh_reply(f, sizeof(*r));
	cusolverSpHandle_t handle;
	cusolverStatus_t res;
	CUstream stream;
	int size[3] = { 0 };
	void *info;

	if (f->req_size < sizeof(*q))
		return BAD;
	res = wh_enter_cusolverSpHandle_t(s, l, &q->handle, &handle, &stream);
	if (res != OK)
		return res;
	if (!wh_get(s, WH_H_csrluInfoHost_t, q->info, &info))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	res = lu_sizes(s, l, handle, info, size);
	r->n = size[0];
	r->nnz_l = size[1];
	r->nnz_u = size[2];
	return res;
}
