# SPDX-License-Identifier: Apache-2.0
# The only entry point. Each folder builds alone by its own short Makefile;
# here stands the order between them and what a user can ask for.
include common.mk

FOLDERS := hypercall-abi trampoline cuda-api softgpu client-stubs server host examples bench tests
SUB     := $(MAKE) --no-print-directory $(if $(filter 0,$(V)),-s)

.PHONY: all help deps install images demo test test-fast test-gpu test-kernel test-vm bench bench-gpu \
	abi style clean distclean $(FOLDERS:%=build-%)

all: $(FOLDERS:%=build-%)

$(FOLDERS:%=build-%): build-%: | deps
	$(Q)$(SUB) -C $*

# What a folder needs of others is built before it.
build-trampoline build-cuda-api build-host: build-hypercall-abi
build-softgpu: build-cuda-api
build-client-stubs build-server: build-trampoline build-cuda-api
build-bench: build-client-stubs build-server
build-tests: build-softgpu build-client-stubs build-server build-host build-examples

help:
	@sed -n 's/^#: //p' Makefile

#: make             build all that runs in user space
#: make demo        boot a VMX host in Bochs, a server VM and a client VM in it, and
#:                  run CUDA programs in the client (first run about 15 minutes)
#: make test        every test that needs neither a GPU nor VMX hardware
#: make test-fast   the part of it without Bochs
#: make test-kernel the KVM selftests, in Bochs
#: make test-vm     guests: under QEMU alone, and in Bochs
#: make test-gpu    every test that needs a GPU: native, loopback and shm compared
#: make bench-gpu   figures on a GPU, native beside each transport
#: make bench       instructions per stage of a delegated call, counted in Bochs
#: make abi         compare the ABI with its committed layout and the series' copy
#: make style       -Werror build, and the style checks
#: make images      the kernels and images that Bochs boots (cached by content)
#: make deps        install what is missing (apt-get, and nvcc from PyPI)
#: make install     what runs programs on this machine, into PREFIX (/usr/local) below DESTDIR
#: make clean       remove what was built; kernels and the compiler stay
#: make distclean   remove build/

deps:
	$(Q)tests/install-deps.sh

images: build-client-stubs build-server build-softgpu build-host build-examples
	$(Q)$(SUB) -C tests/bochs images

demo: images
	$(Q)tests/bochs/demo.sh

test-fast: all
	$(Q)tests/run.sh fast

test: all images
	$(Q)tests/run.sh all

test-kernel: all images
	$(Q)tests/run.sh kernel

test-vm: all images
	$(Q)tests/run.sh vm bochs

# On a GPU's machine NASM or libclang may be missing: what is there is used, or
# `make all` elsewhere and the build/ folder brought along.
test-gpu:
	$(Q)[ -x $(O)/tests/programs/bin/shared/threads ] || $(SUB) all
	$(Q)tests/gpu/run.sh

bench-gpu:
	$(Q)[ -x $(O)/bench/calls ] || $(SUB) all
	$(Q)bench/gpu.sh

bench: build-bench images
	$(Q)$(SUB) -C bench run

abi: build-hypercall-abi
	$(Q)$(SUB) -C hypercall-abi check
	$(Q)$(SUB) -C tests/patches
	$(Q)tests/run.sh patches

# What `wormhole serve` and `run` need; it is built before, by its owner.
PREFIX ?= /usr/local
LIBDIR := $(DESTDIR)$(PREFIX)/lib/wormhole
install:
	$(Q)test -x $(O)/host/wormhole || { echo "error: not built yet: make" >&2; exit 1; }
	$(Q)install -D -t $(DESTDIR)$(PREFIX)/bin $(O)/host/wormhole
	$(Q)install -D -t $(LIBDIR)/server $(O)/server/wormhole-server
	$(Q)install -D -m 644 -t $(LIBDIR)/server $(O)/server/libwormhole-session.so
	$(Q)mkdir -p $(LIBDIR)/client-stubs $(LIBDIR)/softgpu
	$(Q)cp -P $(O)/client-stubs/*.so* $(LIBDIR)/client-stubs/
	$(Q)cp -P $(O)/softgpu/*.so* $(LIBDIR)/softgpu/
	$(Q)install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 host/wormhole.1

# Everything once more with -Werror, in a folder of its own; kernels are shared.
style: deps
	$(Q)mkdir -p $(O)/style $(O)/kernel
	$(Q)ln -sfn ../kernel $(O)/style/kernel; ln -sfn ../nvcc $(O)/style/nvcc; \
		ln -sfn ../headers $(O)/style/headers
	$(Q)for f in $(filter-out examples tests,$(FOLDERS)); do \
		$(SUB) -C $$f O=$(O)/style WERROR=1 || exit 1; done
	$(Q)tests/style.sh

KEEP := kernel nvcc headers
clean:
	$(Q)find $(O) -mindepth 1 -maxdepth 1 $(KEEP:%=! -name %) -exec rm -rf {} +

distclean:
	$(Q)rm -rf $(O)
