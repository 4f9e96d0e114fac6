# SPDX-License-Identifier: Apache-2.0
# Builds libnvidia-ml.so.1 from this folder and the driver's code for the device's size.
NVML_OBJ := $(OUT)/nvml/nvml.o $(OUT)/nvml/mig.o $(OUT)/driver/memsize.o $(OUT)/driver/machine.o \
	    $(OUT)/driver/capability.o

# Only functions that nvml.h declares are exported; all others are hidden.
$(OUT)/libnvidia-ml.so.1: $(NVML_OBJ) nvml/libnvml.map
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,libnvidia-ml.so.1 \
		-Wl,--version-script=nvml/libnvml.map -Wl,--no-undefined -o $@ $(NVML_OBJ)

$(OUT)/nvml/%.o: nvml/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(WH_CFLAGS) -fPIC -isystem $(LIB_INC) -c -o $@ $<

-include $(OUT)/nvml/nvml.d $(OUT)/nvml/mig.d
