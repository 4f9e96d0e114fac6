# SPDX-License-Identifier: Apache-2.0
# The files of each room (folder), from its own files.mk, as ROOM/NAME without the suffix. Read
# here and by tests that build rooms once more. A room includes only rooms to its left.
ROOMS := tenant protect state limits session libraries figures checkpoint daemon vm
include $(ROOMS:%=$(TOP)/server/%/files.mk)

TENANT        := $(TENANT:%=tenant/%)
PROTECT       := $(PROTECT:%=protect/%)
STATE         := $(STATE:%=state/%)
LIMITS        := $(LIMITS:%=limits/%)
SESSION       := $(SESSION:%=session/%)
SESSION_SO    := $(SESSION_SO:%=session/%)
LIBRARIES_HAND := $(LIBRARIES_HAND:%=libraries/%)
FIGURES       := $(FIGURES:%=figures/%)
CHECKPOINT    := $(CHECKPOINT:%=checkpoint/%)
DAEMON        := $(DAEMON:%=daemon/%)
VM_WORKER     := $(VM_WORKER:%=vm/%)
VM_SUPERVISOR := $(VM_SUPERVISOR:%=vm/%)

# All of a session but the libraries' handlers; its generated file is gen_server.
WORKER := $(TENANT) $(STATE) $(LIMITS) $(SESSION)
# The archives of a worker, for the linker.
WORKER_LIBS := $(addprefix $(O)/server/,libsession.a liblibraries.a liblimits.a libstate.a libtenant.a)
# The libraries that unpack code. They are linked in if there is an archive, so that the programs run elsewhere.
archive = $(or $(filter /%,$(shell $(CC) -print-file-name=lib$(1).a)),-l$(1))
UNPACK_LIBS := $(call archive,zstd) $(call archive,lz4)
