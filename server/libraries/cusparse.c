// SPDX-License-Identifier: Apache-2.0
/*
 * cuSPARSE in the worker. Owns the genuine matrix descriptors. There is one descriptor for each
 * value that a descriptor can have, since calls of cuSPARSE and cuSOLVER name values.
 */
#include "gen_cusparse_server.h"

#include <stdio.h>
#include <stdlib.h>

/* --- Matrix descriptors ------------------------------------------------------------- */

#define VALUES (WH_CUSPARSE_TYPES * WH_CUSPARSE_FILLS * WH_CUSPARSE_DIAGS * WH_CUSPARSE_BASES)

/* A worker may have a file of each major, and a descriptor is that file's which made it. */
#define FILES	3

/* They are made when first needed, and stay, so a call may keep one. */
struct descriptors {
	struct of_file {
		const struct wh_cusparse_functions *functions;
		cusparseMatDescr_t real[VALUES];
	} file[FILES];
};

static cusparseMatDescr_t make(const struct wh_cusparse_functions *l,
			       const struct wh_obj_cusparseMatDescr_t *o)
{
	cusparseMatDescr_t d = NULL;

	if (!l->cusparseCreateMatDescr || !l->cusparseDestroyMatDescr || !l->cusparseSetMatType ||
	    !l->cusparseSetMatFillMode || !l->cusparseSetMatDiagType ||
	    !l->cusparseSetMatIndexBase || l->cusparseCreateMatDescr(&d))
		return NULL;
	if (!l->cusparseSetMatType(d, (cusparseMatrixType_t)o->type) &&
	    !l->cusparseSetMatFillMode(d, (cusparseFillMode_t)o->fill) &&
	    !l->cusparseSetMatDiagType(d, (cusparseDiagType_t)o->diag) &&
	    !l->cusparseSetMatIndexBase(d, (cusparseIndexBase_t)o->base))
		return d;
	l->cusparseDestroyMatDescr(d);
	return NULL;
}

/*
 * Returns the functions of the file that the call is for, or, for a call of cuSOLVER, that the last
 * call of cuSPARSE was for. cuSOLVER's first descriptor may come before any such call.
 */
static const struct wh_cusparse_functions *functions(struct wh_session *s)
{
	const struct wh_cusparse_functions *l = wh_library_functions(s, WH_LIB_cusparse);
	char err[512];

	if (l)
		return l;
	if (!wh_library_load(s, WH_LIB_cusparse, 0, err, sizeof(err))) {
		if (!(s->library_failed & 1u << WH_LIB_cusparse))
			fprintf(stderr, "warn: worker: cusparse: %s; calls with its descriptors are refused\n",
				err);
		s->library_failed |= 1u << WH_LIB_cusparse;
		return NULL;
	}
	return wh_library_functions(s, WH_LIB_cusparse);
}

/* Returns the descriptors of that file, or NULL. */
static struct of_file *of_file(struct wh_session *s, const struct wh_cusparse_functions *l)
{
	struct descriptors *all = s->library_state[WH_LIB_cusparse];
	unsigned int i;

	if (!all)
		all = s->library_state[WH_LIB_cusparse] = calloc(1, sizeof(*all));
	if (!all)
		return NULL;
	for (i = 0; i < FILES && all->file[i].functions && all->file[i].functions != l; i++)
		;
	if (i == FILES)
		return NULL;
	all->file[i].functions = l;
	return &all->file[i];
}

bool wh_enter_cusparseMatDescr_t(struct wh_session *s, const struct wh_obj_cusparseMatDescr_t *o,
				 cusparseMatDescr_t *real)
{
	const struct wh_cusparse_functions *l;
	struct of_file *of;
	unsigned int i;

	*real = NULL;
	if (!o->there)
		return true;
	if (o->type >= WH_CUSPARSE_TYPES || o->fill >= WH_CUSPARSE_FILLS ||
	    o->diag >= WH_CUSPARSE_DIAGS || o->base >= WH_CUSPARSE_BASES)
		return false;
	l = functions(s);
	of = l ? of_file(s, l) : NULL;
	if (!of)
		return false;
	i = ((o->type * WH_CUSPARSE_FILLS + o->fill) * WH_CUSPARSE_DIAGS + o->diag) *
	    WH_CUSPARSE_BASES + o->base;
	if (!of->real[i])
		of->real[i] = make(l, o);
	*real = of->real[i];
	return *real;
}
