# SPDX-License-Identifier: Apache-2.0
# The VMFUNC side of the server: wormhole-worker and wormhole-supervisor.
# Included by the Makefile, behind its `all` and its rule for objects.
WORKER_OBJ := $(addprefix $(OUT)/,worker_vmfunc.o worker_options.o worker_memory.o \
	sandbox.o interpose.o)
SUPERVISOR_TENANTS_OBJ := $(addprefix $(OUT)/,supervisor_tenants.o tenant_file.o seats.o tenant.o \
	limit_spec.o sm_groups.o)
SUPERVISOR_OBJ := $(addprefix $(OUT)/,supervisor.o supervisor_groups.o cgroup.o cpulist.o) \
	$(SUPERVISOR_TENANTS_OBJ)

all: $(OUT)/wormhole-worker $(OUT)/wormhole-supervisor

$(WORKER_OBJ) $(SUPERVISOR_OBJ): worker.mk | $(OUT)
$(OUT)/worker_vmfunc.o: $(GEN)/gen_trampoline.h

$(GEN)/gen_trampoline.h:
	$(Q)$(MAKE) --no-print-directory -C $(TOP)/trampoline

# Bound at start: a lazy binding would be resolved during somebody's call. The
# backend finds these two functions here first.
WORKER_LDFLAGS := -Wl,-z,now -Wl,-z,noexecstack \
	-Wl,--export-dynamic-symbol=sched_yield \
	-Wl,--export-dynamic-symbol=pthread_create

$(OUT)/wormhole-worker: $(WORKER_OBJ) $(OUT)/libsession.a
	$(call say,LD,$@)$(CC) $(WORKER_LDFLAGS) -o $@ $^ -lpthread -ldl

# Static: the smallest thing that can be left running for ever.
$(OUT)/wormhole-supervisor: $(SUPERVISOR_OBJ)
	$(call say,LD,$@)$(CC) -static -o $@ $^

-include $(WORKER_OBJ:.o=.d) $(SUPERVISOR_OBJ:.o=.d)
