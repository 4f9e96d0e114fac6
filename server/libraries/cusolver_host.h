/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices in host memory that cuSOLVER's own code on the worker's CPU follows, and the checks
 * before that code sees them. Called by generated handlers, on the request's private copy, by the
 * names in cuda-api/cusolver.api.
 */
#ifndef WORMHOLE_SERVER_CUSOLVER_HOST_H
#define WORMHOLE_SERVER_CUSOLVER_HOST_H

/* --- One matrix ---------------------------------------------------------------------- */

/*
 * Checks one matrix. It must have rows and columns. Its row pointers must begin at the descriptor's
 * base, never fall, and end with the elements. Each column must be one of `cols`, and occur once in
 * its row. Without a descriptor the base is 0.
 */
cusolverStatus_t wh_csr(int rows, int cols, int nnz, const struct wh_obj_cusparseMatDescr_t *d,
			const int *start, const int *col);
/* The same for a matrix in which each row has its own end, and gaps between rows are allowed. */
cusolverStatus_t wh_csr_parts(int rows, int cols, int nnz,
			      const struct wh_obj_cusparseMatDescr_t *d, const int *start,
			      const int *end, const int *col);
/* Checks that each of 0 to n - 1 occurs once. */
cusolverStatus_t wh_permutation(const int *p, int n);
/* Checks options of METIS: NULL, or only values that say no more than a first choice: -1 or 0. */
cusolverStatus_t wh_metis_options(const int64_t *option);
/* The matrices of cusolverRfSetupHost, each checked by itself: do they fit together? */
struct wh_rf_matrix {
	const int *start, *col;
};
#define WH_RF(start, col)	((struct wh_rf_matrix) { start, col })
cusolverStatus_t wh_rf_factors(const struct wh_cusolver_functions *l, cusolverRfHandle_t handle,
			       int n, struct wh_rf_matrix a, struct wh_rf_matrix lower,
			       struct wh_rf_matrix upper, const int *p, const int *q);

/* --- Informations of the low level ------------------------------------------------------ */

/* How far an information object has come. If a step is taken again, the later ones are void. */
enum wh_info_step {
	WH_INFO_NEW,		/* its analysis has begun, and may have failed */
	WH_INFO_ANALYSED,
	WH_INFO_SIZED,		/* the workspace that it needs is known, for one type */
	WH_INFO_SETUP,		/* only for csrqr: it has values */
	WH_INFO_FACTORED,
};

/*
 * Call this before an analysis: from now on the information belongs to this pattern, whose arrays
 * are replaced by the worker's own. It is analysed once.
 */
cusolverStatus_t wh_info_begins(struct wh_session *s, const void *info, int rows, int cols,
				int nnz, const struct wh_obj_cusparseMatDescr_t *d, int **start,
				int **col);
/*
 * Checks a later call with the matrix, at that step: is its pattern the same? Its arrays are
 * replaced.
 */
cusolverStatus_t wh_info_same(struct wh_session *s, const char *call, const void *info,
			      enum wh_info_step step, int rows, int cols, int nnz,
			      const struct wh_obj_cusparseMatDescr_t *d, int **start, int **col,
			      void **values, size_t size);
/* Checks a call without the matrix that gives its size. */
cusolverStatus_t wh_info_at(struct wh_session *s, const char *call, const void *info,
			    enum wh_info_step step, int rows, int cols);
cusolverStatus_t wh_info_counts(struct wh_session *s, const void *info, int nnz);
/* Checks a call that gives not even the size: the matrix must have been factored. */
cusolverStatus_t wh_info_done(struct wh_session *s, const char *call, const void *info);
/* Call these after a call of the library. */
cusolverStatus_t wh_info_reaches(struct wh_session *s, const void *info, enum wh_info_step step);
cusolverStatus_t wh_info_sized(struct wh_session *s, const char *call, const void *info,
			       size_t work);
cusolverStatus_t wh_info_ends(struct wh_session *s, const void *info);
/* Returns its workspace, which keeps its contents from call to call; NULL: there is no memory. */
void *wh_info_work(struct wh_session *s, const void *info);
/* Checks that the arrays for factors are as long as the library says. */
cusolverStatus_t wh_lu_fits(struct wh_session *s, const struct wh_cusolver_functions *l,
			    cusolverSpHandle_t handle, csrluInfoHost_t info,
			    const uint64_t count[8]);
/*
 * The lengths that the client's request gives: of P and Q, and of row pointers, columns and values
 * of each factor.
 */
#define WH_LU_COUNTS(q) (const uint64_t[]) { \
	(q)->P_count, (q)->Q_count, (q)->csrRowPtrL_count, (q)->csrColIndL_count, \
	(q)->csrValL_count, (q)->csrRowPtrU_count, (q)->csrColIndU_count, (q)->csrValU_count }

#endif
