/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations inside the worker's half of cublasLt. */
#ifndef WORMHOLE_SERVER_CUBLASLT_H
#define WORMHOLE_SERVER_CUBLASLT_H

#include "gen_cublaslt_server.h"

/* The descriptors that came packed behind an operation. */
struct wh_lt_described {
	struct wh_lt_matmul desc;
	struct wh_lt_layout layout[4];
	struct wh_lt_emulation emulation;
};
struct wh_lt_turned {
	struct wh_lt_transform desc;
	struct wh_lt_layout layout[3];
	bool has[3];
};

/* Genuine descriptors made from those of a message; they live as long as this struct. */
struct wh_lt_product {
	cublasLtMatmulDescOpaque_t desc;
	cublasLtMatrixLayoutOpaque_t layout[4];
	cublasLtEmulationDescOpaque_t emulation;
};

/* Room for a genuine preference: that of CUDA 11 is longer than today's struct. */
union wh_lt_genuine_preference {
	cublasLtMatmulPreferenceOpaque_t today;
	uint8_t of_11[WH_LT_PREFERENCE_11];
};

/* cublaslt_build.c */
cublasStatus_t wh_lt_build_product(struct wh_session *s, const struct wh_cublaslt_functions *l,
				   const struct wh_lt_matmul *d,
				   const struct wh_lt_layout layout[4],
				   const struct wh_lt_emulation *e, struct wh_lt_product *out);
cublasStatus_t wh_lt_build_layout(struct wh_session *s, const struct wh_cublaslt_functions *l,
				  const struct wh_lt_layout *from,
				  cublasLtMatrixLayoutOpaque_t *to);
cublasStatus_t wh_lt_build_preference(struct wh_session *s, const struct wh_cublaslt_functions *l,
				      const struct wh_lt_preference *from,
				      union wh_lt_genuine_preference *to);
cublasStatus_t wh_lt_build_transform(struct wh_session *s, const struct wh_cublaslt_functions *l,
				     const struct wh_lt_transform *from,
				     cublasLtMatrixTransformDescOpaque_t *to);

/* cublaslt_reach.c: may the client name all addresses of the operation? */
bool wh_lt_reach_matmul(struct wh_session *s, const struct wh_req_cublasLtMatmul *q,
			const struct wh_lt_described *d);
bool wh_lt_reach_transform(struct wh_session *s, const struct wh_req_cublasLtMatrixTransform *q,
			   const struct wh_lt_turned *d);

#endif
