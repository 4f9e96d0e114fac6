# SPDX-License-Identifier: Apache-2.0
# The VMFUNC side of the server: wormhole-worker and wormhole-supervisor.
# Included by server/Makefile, which sets D (the folder of products) and
# SESSION_OBJS (the objects behind session.h and dispatch.h) first.
WORKER_OBJS := $(addprefix $(D)/,worker_vmfunc.o worker_options.o worker_memory.o \
	sandbox.o interpose.o)
SUPERVISOR_OBJS := $(addprefix $(D)/,supervisor.o cpulist.o)
WORKER_PROGRAMS := $(D)/wormhole-worker $(D)/wormhole-supervisor

$(WORKER_OBJS) $(SUPERVISOR_OBJS): $(D)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(WH_CFLAGS) -I$(TOP)/trampoline -c -o $@ $<

# Bound at start: a lazy binding would be resolved during somebody's call. The
# backend finds these two functions here first.
WORKER_LDFLAGS := -Wl,-z,now -Wl,-z,noexecstack \
	-Wl,--export-dynamic-symbol=sched_yield \
	-Wl,--export-dynamic-symbol=pthread_create

$(D)/worker_vmfunc.o: $(O)/gen/gen_trampoline.h

$(O)/gen/gen_trampoline.h:
	$(Q)$(MAKE) --no-print-directory -C $(TOP)/trampoline

$(D)/wormhole-worker: $(WORKER_OBJS) $(SESSION_OBJS)
	$(call say,LD,$@)$(CC) $(WORKER_LDFLAGS) -o $@ $^ $(SESSION_LIBS)

# Static: the smallest thing that can be left running for ever.
$(D)/wormhole-supervisor: $(SUPERVISOR_OBJS)
	$(call say,LD,$@)$(CC) -static -o $@ $^

-include $(WORKER_OBJS:.o=.d) $(SUPERVISOR_OBJS:.o=.d)
