/* SPDX-License-Identifier: Apache-2.0 */
/* The function that the generated handlers of nvJPEG call (cuda-api/nvjpeg.api). */
#ifndef WORMHOLE_LIBRARIES_NVJPEG_H
#define WORMHOLE_LIBRARIES_NVJPEG_H

/*
 * Lets *data be a copy of the `length` bytes there that lives as long as the client's object `id`,
 * or until the object has parsed something newer. `tables`: other bytes of the same object stay.
 */
nvjpegStatus_t wh_nvjpeg_keep(struct wh_session *s, uint64_t id, unsigned char **data,
			      size_t length, bool tables);

#endif
