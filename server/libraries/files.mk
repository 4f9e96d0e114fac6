# SPDX-License-Identifier: Apache-2.0
# The archive liblibraries.a: for each library (cuda-api/libraries.mk) the files that its description
# generates, and the handwritten NAME.c and NAME_*.c.
include $(TOP)/cuda-api/libraries.mk
LIBRARIES_HAND := table several $(foreach l,$(LIBRARIES),$(basename $(notdir $(wildcard \
	$(addprefix $(TOP)/server/libraries/,$l.c $l_*.c)))))
