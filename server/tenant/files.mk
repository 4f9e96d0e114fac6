# SPDX-License-Identifier: Apache-2.0
# The archive libtenant.a.
TENANT := tenant file spec plan sm_groups seats trace
