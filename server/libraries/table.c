// SPDX-License-Identifier: Apache-2.0
/* The libraries that a worker can serve, by number; each is generated. */
#include "session/library.h"

extern const struct wh_library wh_library_cublas;
extern const struct wh_library wh_library_cublaslt;
extern const struct wh_library wh_library_cudnn;
extern const struct wh_library wh_library_cufft;
extern const struct wh_library wh_library_curand;
extern const struct wh_library wh_library_nccl;
extern const struct wh_library wh_library_cusolver;
extern const struct wh_library wh_library_cusparse;
extern const struct wh_library wh_library_cusparselt;
extern const struct wh_library wh_library_nvml;

const struct wh_library *const wh_libraries[WH_LIBS] = {
	[WH_LIB_cublas] = &wh_library_cublas,
	[WH_LIB_cublaslt] = &wh_library_cublaslt,
	[WH_LIB_cudnn] = &wh_library_cudnn,
	[WH_LIB_cufft] = &wh_library_cufft,
	[WH_LIB_curand] = &wh_library_curand,
	[WH_LIB_nccl] = &wh_library_nccl,
	[WH_LIB_cusparselt] = &wh_library_cusparselt,
	[WH_LIB_nvml] = &wh_library_nvml,
	[WH_LIB_cusparse] = &wh_library_cusparse,
	[WH_LIB_cusolver] = &wh_library_cusolver,
};
