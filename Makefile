# SPDX-License-Identifier: Apache-2.0
# The only entry point. Each folder builds alone by its own short Makefile;
# here stands the order between them and what a user can ask for.
include common.mk

# A folder is built after those named behind its colon.
FOLDERS := hypercall-abi trampoline cuda-api softgpu client-stubs server host examples tests
PRESENT := $(patsubst %/Makefile,%,$(wildcard $(FOLDERS:=/Makefile)))

.PHONY: all help deps programs images demo test test-fast test-kernel test-vm bench \
	abi style clean distclean $(FOLDERS)

all: $(PRESENT)

trampoline cuda-api: hypercall-abi
softgpu: cuda-api
client-stubs server: hypercall-abi trampoline cuda-api
host: hypercall-abi
tests: hypercall-abi trampoline cuda-api softgpu client-stubs server host

$(PRESENT): %: | deps
	$(Q)$(MAKE) --no-print-directory -C $@

help:
	@sed -n 's/^#: //p' Makefile

#: make             build all that runs in user space
#: make demo        boot a VMX host in Bochs, a server VM and a client VM in it, and
#:                  run CUDA programs in the client (first run about 15 minutes)
#: make test        every test that needs neither a GPU nor VMX hardware
#: make test-fast   the part of it without Bochs
#: make test-kernel the KVM selftests, in Bochs
#: make test-vm     guests: under QEMU alone, and in Bochs
#: make bench       instructions per stage of a delegated call, counted in Bochs
#: make abi         compare the ABI with its committed layout and the series' copy
#: make style       -Werror build, and the style checks
#: make images      guest and host kernels and images (cached by content)
#: make deps        install what is missing (apt-get, and nvcc from PyPI)
#: make clean       remove what was built; kernels and the compiler stay
#: make distclean   remove build/

deps:
	$(Q)tests/install-deps.sh

# With -j the folders follow the order above; kernels are built once, here.
images: all
	$(Q)$(MAKE) --no-print-directory -C tests/bochs images

demo: images
	$(Q)tests/bochs/demo.sh

test-fast: all
	$(Q)tests/run.sh fast

test: images
	$(Q)tests/run.sh all

test-kernel: images
	$(Q)tests/run.sh kernel

test-vm: images
	$(Q)tests/run.sh vm bochs

bench: images
	$(Q)$(MAKE) --no-print-directory -C bench run

abi:
	$(Q)$(MAKE) --no-print-directory -C hypercall-abi check

style:
	$(Q)$(MAKE) --no-print-directory O=$(O)/style WERROR=1 all
	$(Q)tests/style.sh

KEEP := cache nvcc
clean:
	$(Q)find $(O) -mindepth 1 -maxdepth 1 $(KEEP:%=! -name %) -exec rm -rf {} +

distclean:
	$(Q)rm -rf $(O)
