# SPDX-License-Identifier: Apache-2.0
# The archive libfigures.a.
FIGURES := reader judge devices context nvml instances report
