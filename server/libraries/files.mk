# SPDX-License-Identifier: Apache-2.0
# The archive liblibraries.a: of each what cuda-api/NAME.api generates, and the rest by hand.
LIBRARIES := cublas cudnn curand cusolver cusparse nvml
LIBRARIES_HAND := table $(LIBRARIES) cudnn_backend nvml_view
