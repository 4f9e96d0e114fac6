# SPDX-License-Identifier: Apache-2.0
# The archive libtenant.a.
TENANT := tenant file spec hami plan sm_groups seats trace conf conf_files text send
