# SPDX-License-Identifier: Apache-2.0
# The archive liblibraries.a: of each library (cuda-api/libraries.mk) what its description generates,
# and NAME.c and NAME_*.c by hand.
include $(TOP)/cuda-api/libraries.mk
LIBRARIES_HAND := table $(foreach l,$(LIBRARIES),$(basename $(notdir $(wildcard \
	$(addprefix $(TOP)/server/libraries/,$l.c $l_*.c)))))
