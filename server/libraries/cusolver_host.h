/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices in host memory that cuSOLVER's own code on the worker's CPU follows: what is
 * looked at before it sees one. Called by generated handlers, on the request's private
 * copy, by the names in cuda-api/cusolver.api.
 */
#ifndef WORMHOLE_SERVER_CUSOLVER_HOST_H
#define WORMHOLE_SERVER_CUSOLVER_HOST_H

/* --- One matrix ---------------------------------------------------------------------- */

/*
 * It has rows and columns; row pointers begin at the descriptor's base, never fall and end with
 * the elements; each column is one of `cols`, and once in its row. No descriptor: the base is 0.
 */
cusolverStatus_t wh_csr(int rows, int cols, int nnz, const struct wh_obj_cusparseMatDescr_t *d,
			const int *start, const int *col);
/* The same where each row has an end of its own, and there may be something between them. */
cusolverStatus_t wh_csr_parts(int rows, int cols, int nnz,
			      const struct wh_obj_cusparseMatDescr_t *d, const int *start,
			      const int *end, const int *col);
/* Each of 0 to n - 1, once. */
cusolverStatus_t wh_permutation(const int *p, int n);
/* Of METIS, NULL or those that say nothing but which of the first choices: -1 or 0. */
cusolverStatus_t wh_metis_options(const int64_t *option);
/* Matrices of cusolverRfSetupHost, each of which is one: do they fit together? */
struct wh_rf_matrix {
	const int *start, *col;
};
#define WH_RF(start, col)	((struct wh_rf_matrix) { start, col })
cusolverStatus_t wh_rf_factors(const struct wh_cusolver_functions *l, cusolverRfHandle_t handle,
			       int n, struct wh_rf_matrix a, struct wh_rf_matrix lower,
			       struct wh_rf_matrix upper, const int *p, const int *q);

/* --- Informations of the low level ------------------------------------------------------ */

/* How far one has come; what was done after a step is void when that is taken again. */
enum wh_info_step {
	WH_INFO_NEW,		/* its analysis was begun, and may have failed */
	WH_INFO_ANALYSED,
	WH_INFO_SIZED,		/* and what it needs of a workspace is known, for one type */
	WH_INFO_SETUP,		/* of csrqr: it has values */
	WH_INFO_FACTORED,
};

/*
 * Before an analysis: from now on the information is that of this pattern, whose arrays are
 * replaced by the worker's own. It is analysed once.
 */
cusolverStatus_t wh_info_begins(struct wh_session *s, const void *info, int rows, int cols,
				int nnz, const struct wh_obj_cusparseMatDescr_t *d, int **start,
				int **col);
/* A later call with the matrix, at that step: of the same pattern? Arrays are replaced. */
cusolverStatus_t wh_info_same(struct wh_session *s, const char *call, const void *info,
			      enum wh_info_step step, int rows, int cols, int nnz,
			      const struct wh_obj_cusparseMatDescr_t *d, int **start, int **col,
			      void **values, size_t size);
/* And one without it, that says its size, */
cusolverStatus_t wh_info_at(struct wh_session *s, const char *call, const void *info,
			    enum wh_info_step step, int rows, int cols);
cusolverStatus_t wh_info_counts(struct wh_session *s, const void *info, int nnz);
/* or not even that: of something that was factored. */
cusolverStatus_t wh_info_done(struct wh_session *s, const char *call, const void *info);
/* After a call. */
cusolverStatus_t wh_info_reaches(struct wh_session *s, const void *info, enum wh_info_step step);
cusolverStatus_t wh_info_sized(struct wh_session *s, const char *call, const void *info,
			       size_t work);
cusolverStatus_t wh_info_ends(struct wh_session *s, const void *info);
/* Its workspace, which stays as it is from call to call; NULL: there is no memory. */
void *wh_info_work(struct wh_session *s, const void *info);
/* Arrays for factors, each as long as the library says. */
cusolverStatus_t wh_lu_fits(struct wh_session *s, const struct wh_cusolver_functions *l,
			    cusolverSpHandle_t handle, csrluInfoHost_t info,
			    const uint64_t count[8]);
/* P, Q, and of each factor row pointers, columns, values; what the client's request says. */
#define WH_LU_COUNTS(q) (const uint64_t[]) { \
	(q)->P_count, (q)->Q_count, (q)->csrRowPtrL_count, (q)->csrColIndL_count, \
	(q)->csrValL_count, (q)->csrRowPtrU_count, (q)->csrColIndU_count, (q)->csrValU_count }

#endif
