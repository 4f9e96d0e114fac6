# SPDX-License-Identifier: Apache-2.0
# The only entry point. Each folder builds alone by its own short Makefile;
# here stands the order between them and what a user can ask for.
include common.mk

FOLDERS := hypercall-abi trampoline cuda-api softgpu client-stubs server host examples bench tests
# Recipes say $(MAKE) themselves: by that make knows whom to share its jobs with.
SUB     := --no-print-directory $(if $(filter 0,$(V)),-s)

# All cores, where nobody says how many.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

.PHONY: all shm help deps install uninstall images test-images demo hardware-image test test-fast test-gpu gpu-parts test-kernel \
	test-next test-upstream next series-6.12 test-vm gpu-kernel soak invept-table kvm-modules deb apt-repository bench bench-gpu abi style \
	clean distclean $(FOLDERS:%=build-%)

all: $(FOLDERS:%=build-%)

$(FOLDERS:%=build-%): build-%: | deps
	$(Q)$(MAKE) $(SUB) -C $*

# What a folder needs of others is built before it: it finds that current, and no
# two folders make the same at a time.
build-trampoline: build-hypercall-abi
build-softgpu: build-cuda-api
build-client-stubs build-server: build-trampoline build-cuda-api
build-host: build-server
build-bench: build-client-stubs build-server
build-tests: build-softgpu build-client-stubs build-server build-host build-examples

SHM := softgpu client-stubs server host
shm: $(SHM:%=build-%)

help:
	@sed -n 's/^#: //p' Makefile

#: make             build all that runs in user space
#: make shm         of it, what programs of this machine need: no tests, no tools of VMs
#: make demo        boot a VMX host in Bochs, a server VM and a client VM in it, all on Debian's
#:                  own kernel, and run CUDA programs in the client (README.md says how long)
#: make demo-ring   the same without VMX, Bochs or a patched host: a client VM under stock QEMU,
#:                  whose programs are served by this machine (transport ring)
#: make hardware-image  build/hardware/: a bootable image that measures an Intel machine, for a
#:                  stick or a PXE server (docs/hardware.md)
#: make test        the tests that need neither a GPU nor VMX hardware: the KVM selftests if they have to
#:                  run again (test-next), and of guests in Bochs each job once (test-vm)
#: make test-fast   the part of it without Bochs
#: make test-kernel the KVM selftests, in Bochs
#: make test-next   the same, and on the kernel that the series is written for (kvm-patches/BASE)
#: make test-upstream  Linux's own KVM selftests, with the series and without
#: make series-6.12  the series for Debian 12's kernel, in build/series-6.12/
#: make test-vm     guests: under QEMU alone, and in Bochs, more of them than `make test` has: with
#:                  one processor and with two, on Debian's kernel, and the image for hardware
#: make test-gpu    every test that needs a GPU: native, loopback and shm compared
#: make bench-gpu   figures on a GPU, native beside each transport
#: make bench       all figures that this machine can measure, into docs/results.md:
#:                  PARTS="calls scaling" (bench/README.md has the parts), RESUME=1 after a break
#: make invept-table  remove each TLB invalidation of the series in turn and write
#:                  which test fails into docs/security.md (long; goes on where it stopped)
#: make soak        for an hour (SOAK_SECONDS): the series on checked kernels, under fire and at random;
#:                  the server under fuzzers, kills and faults (goes on where it stopped)
#: make abi         compare the ABI with its committed layout and the copies in kvm-patches/
#: make style       -Werror build, and the style checks
#: make images      Bochs, and the kernels and images that it boots (cached by content)
#: make gpu-kernel  the kernel of a server VM and its module, for `wormhole image gpu` (minutes)
#: make kvm-modules  KVM's modules with the series for Debian's own kernel (KDIR: its headers)
#: make deb         Debian packages, in build/deb/ (docs/install.md)
#: make apt-repository KEY=NAME  a repository of apt of these packages (APT: its folder), signed
#: make deps        install what is missing (apt-get, and nvcc from PyPI); DEPS=none:
#:                  build with what is there
#: make install     what runs programs on this machine, into PREFIX (/usr/local) below DESTDIR
#: make uninstall   take away what `make install` put into the same PREFIX and DESTDIR
#: make clean       remove what was built; kernels, Bochs and the compiler stay
#: make distclean   remove build/

# Who only runs programs on this machine, and their tests, needs less; so do packages and the demo.
GOALS := $(or $(MAKECMDGOALS),all)
NEED_SHM := shm install gpu-parts test-gpu bench-gpu
ifeq ($(filter-out $(NEED_SHM),$(GOALS)),)
DEPS ?= shm
else ifeq ($(filter-out $(NEED_SHM) deb,$(GOALS)),)
DEPS ?= deb
else
DEPS ?= $(if $(filter-out demo demo-ring hardware-image,$(GOALS)),all,$(if $(filter hardware-image,$(GOALS)),hardware,demo))
endif
deps:
	$(Q)tools/install-deps.sh $(DEPS)

# What `make test` boots, and what the other tests and benches boot as well.
test-images: build-client-stubs build-server build-softgpu build-host build-examples
	$(Q)$(MAKE) $(SUB) -C tests/bochs images
	$(Q)$(MAKE) $(SUB) -C tests/vm images

images: test-images
	$(Q)$(MAKE) $(SUB) -C tests/bochs more-images
	$(Q)$(if $(wildcard /usr/src/linux-headers-6.12.*[0-9]-amd64),$(MAKE) $(SUB) -C bench/hardware image)

# Where there are images, tests/vm keeps them current, too.
ifneq ($(filter all test%,$(MAKECMDGOALS)),)
test-images: build-tests
endif

gpu-kernel: build-host
	$(Q)$(MAKE) $(SUB) -C server/vm/image gpu

kvm-modules: deps
	$(Q)$(MAKE) $(SUB) -C kvm-patches/module

# Of user space, what its programs run: the APIs of driver and runtime without the libraries
# over them, so that nobody fetches 1.7 GB for their headers. What takes longest comes first.
DEMO := bochs modules cuda-api softgpu device stubs server host
demo: $(DEMO:%=demo-%) build-examples
	$(Q)$(MAKE) $(SUB) -C tests/bochs demo-images
	$(Q)tests/bochs/demo.sh

hardware-image: $(filter-out demo-bochs demo-device,$(DEMO:%=demo-%)) build-examples
	$(Q)$(MAKE) $(SUB) CUDA_API=driver -C bench/hardware image

.PHONY: $(DEMO:%=demo-%) demo-ring demo-kernel demo-daemon
$(DEMO:%=demo-%): | deps
demo-ring: demo-kernel demo-softgpu demo-stubs demo-daemon demo-host build-examples
	$(Q)$(MAKE) $(SUB) -C tests/vm/client-image $(O)/tests/vm/client.cpio
	$(Q)tests/ring/demo.sh
demo-daemon: demo-server
	$(Q)$(MAKE) $(SUB) CUDA_API=driver -C server $(O)/server/wormhole-server
demo-kernel: | deps
	$(Q)$(MAKE) $(SUB) -C tests/bochs/debian kernel
demo-bochs:
	$(Q)$(MAKE) $(SUB) CUDA_API=driver -C tests/bochs bochs
demo-modules:
	$(Q)$(MAKE) $(SUB) CUDA_API=driver -C tests/bochs/debian host
demo-cuda-api:
	$(Q)$(MAKE) $(SUB) CUDA_API=driver -C cuda-api driver
demo-softgpu: demo-cuda-api
	$(Q)$(MAKE) $(SUB) CUDA_API=driver -C softgpu $(O)/softgpu/libcuda.so.1
demo-device: demo-softgpu
	$(Q)$(MAKE) $(SUB) CUDA_API=driver -C tests/bochs/device
demo-stubs: demo-cuda-api build-trampoline
	$(Q)$(MAKE) $(SUB) CUDA_API=driver -C client-stubs cuda cudart preload
demo-server: demo-cuda-api build-trampoline
	$(Q)$(MAKE) $(SUB) CUDA_API=driver -C server driver
demo-host: demo-server
	$(Q)$(MAKE) $(SUB) CUDA_API=driver -C host

test-fast: all
	$(Q)tests/run.sh fast

# The kernel tests are left out while nothing changed that they depend on since they passed.
STATE := tests/kernel/state.sh
test: all test-images $(if $(filter test,$(MAKECMDGOALS)),$(shell $(STATE) passed || echo next))
	$(Q)if $(STATE) passed; then \
		echo "  KERNEL   tests left out: unchanged since they passed; make test-next runs them"; \
		tests/run.sh all-but-kernel; \
	else tests/run.sh all; fi

test-kernel: all test-images
	$(Q)tests/run.sh kernel

# Its source is 160 MB to fetch, once, and it takes minutes to build.
next: build-host test-images
	$(Q)$(MAKE) $(SUB) -C tests/bochs next
	$(Q)$(MAKE) $(SUB) -C tests/kernel next
test-next: all next
	$(Q)tests/run.sh kernel next
	$(Q)$(STATE) keep

# Not part of `test`: a kernel more, and an hour of two cores.
test-upstream: next
	$(Q)$(MAKE) $(SUB) -C tests/bochs plain
	$(Q)WH_BUILD=$(O) tests/kernel/upstream/build.sh $(O)/upstream
	$(Q)WH_BUILD=$(O) tests/kernel/upstream/upstream.sh

series-6.12:
	$(Q)$(MAKE) $(SUB) -C kvm-patches $@

test-vm: all images
	$(Q)tests/run.sh vm bochs more

# Not part of `test`: about a minute for each invalidation.
invept-table: test-images
	$(Q)$(MAKE) $(SUB) -C tests/kernel
	$(Q)tests/kernel/invept.sh

# On a GPU's machine NASM or libclang may be missing: a build/ folder that was
# brought along is used as it is then.
CAN_BUILD := command -v $(NASM) >/dev/null && $(PYTHON) -c 'import clang.cindex' 2>/dev/null
test-gpu:
	$(Q)[ -x $(O)/tests/programs/bin/shared/threads ] && ! { $(CAN_BUILD); } || \
		$(MAKE) $(SUB) gpu-parts
	$(Q)tests/gpu/run.sh

bench-gpu:
	$(Q)[ -x $(O)/bench/calls ] && ! { $(CAN_BUILD); } || $(MAKE) $(SUB) gpu-parts
	$(Q)bench/gpu.sh

# What tests/gpu/ and bench/gpu.sh run.
GPU_TESTS := programs cudart shm lib limits tenant
gpu-parts: build-examples build-bench $(GPU_TESTS:%=gpu-%)

.PHONY: $(GPU_TESTS:%=gpu-%)
$(GPU_TESTS:%=gpu-%): gpu-%: shm
	$(Q)$(MAKE) $(SUB) -C tests/$* $(if $(filter lib tenant,$*),programs)

# Not part of `test`. Three more kernels; each half takes one core.
SOAK_SECONDS ?= 3600
soak: all images
	$(Q)$(MAKE) $(SUB) -C tests/bochs checked-kernels
	$(Q)O=$(O) tests/soak/soak.sh $(SOAK_SECONDS)

bench: build-bench images
	$(Q)$(MAKE) $(SUB) -C tests/bochs/behaviours
	$(Q)$(MAKE) $(SUB) -C tests/programs
	$(Q)$(MAKE) $(SUB) -C bench run PARTS="$(PARTS)" RESUME="$(RESUME)"

abi: build-hypercall-abi
	$(Q)$(MAKE) $(SUB) -C hypercall-abi check
	$(Q)$(MAKE) $(SUB) -C tests/patches
	$(Q)tests/run.sh patches

deb: deps
	$(Q)$(MAKE) $(SUB) -C packaging deb

# Of the packages in build/deb/ (DEBS: of another folder).
DEBS ?= $(O)/deb
APT  ?= $(O)/apt
apt-repository:
	$(Q)packaging/apt-repository.sh '$(DEBS)' '$(APT)' '$(KEY)'

# What `wormhole serve` and `run` need; it is built before, by its owner. It is laid out in build/
# first, so that install.sh can say what was put where, in a folder of this make's own.
PREFIX ?= /usr/local
LAID = $(O)/install.$(shell echo $$PPID)
install:
	$(Q)test -x $(O)/host/wormhole || { echo "error: not built yet: make shm" >&2; exit 1; }
	$(Q)install -D -t $(LAID)/bin $(O)/host/wormhole
	$(Q)install -D -t $(LAID)/lib/wormhole/server $(O)/server/wormhole-server
	$(Q)install -D -m 644 -t $(LAID)/lib/wormhole/server $(O)/server/libwormhole-session.so
	$(Q)mkdir -p $(LAID)/lib/wormhole/client-stubs $(LAID)/lib/wormhole/softgpu
	$(Q)cp -P $(O)/client-stubs/*.so* $(LAID)/lib/wormhole/client-stubs/
	$(Q)cp -P $(O)/softgpu/*.so* $(LAID)/lib/wormhole/softgpu/
	$(Q)install -D -m 644 -t $(LAID)/share/man/man1 host/wormhole.1
	$(Q)$(O)/host/wormhole completion bash >$(O)/host/completion.bash
	$(Q)install -D -m 644 $(O)/host/completion.bash \
		$(LAID)/share/bash-completion/completions/wormhole
	$(Q)tools/install.sh put '$(DESTDIR)' '$(PREFIX)' $(LAID)
	$(Q)rm -rf $(LAID)

uninstall:
	$(Q)tools/install.sh remove '$(DESTDIR)' '$(PREFIX)'

# Everything once more with -Werror, in a folder of its own; kernels are shared.
style: deps
	$(Q)mkdir -p $(O)/style $(O)/kernel
	$(Q)ln -sfn ../kernel $(O)/style/kernel; ln -sfn ../nvcc $(O)/style/nvcc; \
		ln -sfn ../headers $(O)/style/headers
	$(Q)for f in $(filter-out examples tests,$(FOLDERS)); do \
		$(MAKE) $(SUB) -C $$f O=$(O)/style WERROR=1 || exit 1; done
	$(Q)tools/style.sh

KEEP := kernel bochs-3.0 nvcc headers promtool runtimes clients kubernetes-schemas
clean:
	$(Q)find $(O) -mindepth 1 -maxdepth 1 $(KEEP:%=! -name %) -exec rm -rf {} +

distclean:
	$(Q)rm -rf $(O)
