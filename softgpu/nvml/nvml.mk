# SPDX-License-Identifier: Apache-2.0
# What libnvidia-ml.so.1 is made of: this folder, and the device's size as the driver knows it.
NVML_OBJ := $(OUT)/nvml/nvml.o $(OUT)/driver/memsize.o

# nvml.h declares what is exported; the compiler leaves out all else.
$(OUT)/libnvidia-ml.so.1: $(NVML_OBJ) nvml/libnvml.map
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,libnvidia-ml.so.1 \
		-Wl,--version-script=nvml/libnvml.map -Wl,--no-undefined -o $@ $(NVML_OBJ)

$(OUT)/nvml/%.o: nvml/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(WH_CFLAGS) -fPIC -isystem $(LIB_INC) -c -o $@ $<

-include $(OUT)/nvml/nvml.d
