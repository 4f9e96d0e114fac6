# SPDX-License-Identifier: Apache-2.0
# The archive liblibraries.a: of each what cuda-api/NAME.api generates, and the rest by hand.
LIBRARIES := cublas cublaslt cudnn cufft curand cusolver cusparse cusparselt nccl nvml
LIBRARIES_HAND := table $(LIBRARIES) cublaslt_build cublaslt_reach cudnn_backend nvml_view nccl_group cusolver_host cusolver_info
