/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the generated handlers of cuFFT call (cuda-api/cufft.api). */
#ifndef WORMHOLE_LIBRARIES_CUFFT_H
#define WORMHOLE_LIBRARIES_CUFFT_H

enum wh_cufft_side { WH_CUFFT_IN, WH_CUFFT_OUT };

/* Returns how many bytes an execution of the plan reaches from its input's or output's address. */
uint64_t wh_cufft_extent(struct wh_session *s, const struct wh_obj_cufftHandle *o,
			 enum wh_cufft_side side);

/* Resets a plan that took more memory than there is to the state in which cufftCreate left it. */
void wh_cufft_unmake(struct wh_session *s, const struct wh_cufft_functions *l,
		     const struct wh_obj_cufftHandle *o);

#endif
