#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Make the server VM's image for NVIDIA's GPUs; `wormhole image gpu` calls it:
#
#   gpu-image.sh --driver NVIDIA-Linux-x86_64-VERSION.run|FOLDER --out DIR
#                [--kernel-modules DIR] [--libraries DIR]
#
# FOLDER holds Debian's packages of the driver: libcuda1, libnvidia-ptxjitcompiler1,
# firmware-nvidia-gsp, nvidia-open-kernel-dkms, and others of the same version.
#
# DIR exists and is empty. What goes into it:
#
#   bzImage    the server's kernel (make gpu-kernel)
#   root.img   its root, squashfs: gpu.list, and of the driver the libraries that CUDA
#              needs, the GSP's firmware, nvidia.ko and nvidia-uvm.ko
#   cmdline    the kernel's command line
#   driver     the driver's version
#
# All work is done in DIR/work, which is gone afterwards.
set -eu -o pipefail

top=${WH_TOP:-@TOP@}
build=${WH_BUILD:-@BUILD@}
export WH_TOP=$top WH_BUILD=$build
. "$top/tools/follow.sh"
kernel=$build/kernel/server
run='' out='' modules='' libraries=''

die() { echo "wormhole: error: $*" >&2; exit 1; }
say() { printf '  %-8s %s\n' "$1" "$2"; }

while [ $# -gt 0 ]; do
	case $1 in
	--driver) run=$2 ;;
	--out) out=$2 ;;
	--kernel-modules) modules=$2 ;;
	--libraries) libraries=$2 ;;
	*) die "gpu-image.sh: unknown option '$1'" ;;
	esac
	shift 2
done
# Unset make's variables, since the modules' build runs a make of its own.
unset MAKEFLAGS MFLAGS MAKELEVEL O
work=$out/work
running=
mkdir "$work"
# A step in the background gets no Ctrl-C, so it is killed here.
cleanup() {
	[ -z "$running" ] || { kill "$running" 2>/dev/null; wait "$running"; } || true
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' HUP INT PIPE TERM

so_far() { # WORD WHAT LOG SECONDS
	say "$1" "$2: $4 s, $(tail -n1 "$3" | tr -s ' \t' ' ' | cut -c1-50)"
}

# step WORD WHAT COMMAND...: runs COMMAND with its output in a log. Says every 10 s how far
# it is, and shows the end of the log if it fails.
step() {
	local word=$1 what=$2 log=$work/log rc=0
	shift 2
	say "$word" "$what"
	"$@" >"$log" 2>&1 </dev/null &
	running=$!
	follow $running 10 so_far "$word" "$what" "$log" || rc=$?
	running=
	[ $rc = 0 ] || tail -n 30 "$log" >&2
	return $rc
}

# --- Checks, before anything takes time ---------------------------------------------

need_program() { command -v "$1" >/dev/null || PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null ||
	die "there is no $1: install the package $2"; }
need_program mksquashfs squashfs-tools
need_program make make
need_program gcc gcc
need_program strip binutils
need_program modinfo kmod
need_program cpio cpio
need_program ldconfig libc-bin
need_program busybox busybox-static
PATH=$PATH:/usr/sbin:/sbin

# A makefile and a list have words.
case $out$modules$libraries in
*[[:space:]]*) die "folders with blanks in their names cannot be used: $out $modules $libraries" ;;
esac
[ -r "$run" ] || die "driver '$run': cannot be read"
check_archive() {
	[ -f "$run" ] || die "driver '$run': neither a file nor a folder"
	[ "$(head -c 2 "$run" | tr -d '\0')" = '#!' ] && grep -aq NVIDIA < <(head -c 65536 "$run") ||
		die "driver '$run': not a .run file of NVIDIA's driver: NVIDIA-Linux-x86_64-VERSION.run from https://www.nvidia.com/drivers"
	case $(basename "$run") in
	*aarch64*) die "driver '$run': for aarch64, the server VM is x86_64: NVIDIA-Linux-x86_64-VERSION.run" ;;
	esac
}
check_packages() {
	need_program dpkg-deb dpkg
	compgen -G "$run/*.deb" >/dev/null ||
		die "driver '$run': holds no Debian packages (*.deb): apt-get download libcuda1 libnvidia-ptxjitcompiler1 firmware-nvidia-gsp nvidia-open-kernel-dkms"
}
if [ -d "$run" ]; then check_packages; else check_archive; fi
for f in bzImage obj/Module.symvers src/Makefile; do
	[ -e "$kernel/$f" ] || die "the image's kernel is not built ($kernel/$f): make gpu-kernel"
done
for f in vm/guest-module/wormhole_server.ko wormhole-supervisor wormhole-worker; do
	[ -e "$build/server/$f" ] || die "$build/server/$f is not built: make gpu-kernel"
done
for d in "$modules" "$libraries"; do
	[ -z "$d" ] || [ -d "$d" ] || die "'$d' is not a folder"
done

# With its modules built and its parts copied, an unpacked driver has about nine times
# the size of its archive. Libraries are copied twice, and packed.
wanted=$(($(du -sbL "$run" | cut -f1) * 9 / 1048576 + 64))
[ -z "$libraries" ] || wanted=$((wanted + $(du -smL "$libraries" | cut -f1) * 3))
free=$(($(stat -f -c '%a * %S' "$work") / 1048576))
[ "$free" -ge "$wanted" ] ||
	die "$(dirname "$out") has $free MiB free, $wanted are needed: give --out a folder on a larger disk"

# --- The driver ---------------------------------------------------------------------------

driver=$work/driver
# of_package NAME: what a message adds for a folder of packages.
of_package() { [ ! -d "$run" ] || echo " (package $1)"; }

# Gives the packages' files the places that they have in a .run file.
unpack_packages() {
	local deb files=$work/packages f
	mkdir -p "$files" "$driver/firmware"
	for deb in "$run"/*.deb; do
		echo "$deb"
		dpkg-deb -x "$deb" "$files" || return 1
	done
	find "$files" -type f \( -name 'libcuda.so.*' -o -name 'libnvidia-*.so.*' \) -exec mv -t "$driver" {} + &&
		find "$files" -type f -path '*/firmware/nvidia/*' -name 'gsp*.bin' -exec mv -t "$driver/firmware" {} + || return 1
	for f in "$files"/usr/src/nvidia-*open*; do
		[ ! -e "$f/Makefile" ] || mv "$f" "$driver/kernel-open"
	done
}
if [ -d "$run" ]; then
	step UNPACK "packages in $run" unpack_packages || die "driver '$run': a package cannot be unpacked, see above: is it whole?"
else
	step UNPACK "$(basename "$run")" sh "$run" --extract-only --target "$driver" ||
		die "driver '$run': its --extract-only failed, see above: is it whole?"
fi
# The library's name contains the version, whatever the name of the archive.
version=$(cd "$driver" && find . -maxdepth 1 -name 'libcuda.so.*.*' | sed 's,^\./libcuda\.so\.,,' | head -n1)
[ -n "$version" ] || die "driver '$run': it holds no libcuda.so.VERSION$(of_package libcuda1): is it NVIDIA's driver?"
[ "$(od -An -tu2 -j18 -N2 "$driver/libcuda.so.$version" | tr -d ' ')" = 62 ] ||
	die "driver '$run': its libcuda.so.$version is not for x86_64: NVIDIA-Linux-x86_64-$version.run"
[ "${version%%.*}" -ge 580 ] 2>/dev/null ||
	echo "wormhole: warn: driver $version: programs of CUDA 13 need 580 or newer" >&2

# its_field FIELD MODULE: prints a field of a kernel module.
its_field() { modinfo -F "$1" "$2" 2>/dev/null || true; }

build_modules() { # SOURCE
	step KMOD "nvidia.ko, nvidia-uvm.ko $version (minutes)" make -C "$1" -j"$(nproc)" modules \
		SYSSRC="$(realpath "$kernel/src")" SYSOUT="$(realpath "$kernel/obj")" \
		NV_KERNEL_MODULES="nvidia nvidia-uvm" ||
		die "NVIDIA's open modules $version do not build against the server's kernel $release, see above: try another driver, or --kernel-modules"
}

release=$(cat "$kernel/obj/include/config/kernel.release")
if [ -n "$modules" ] && [ -e "$modules/nvidia.ko" ]; then
	source=$modules
elif [ -n "$modules" ]; then
	source=$work/kernel-open
	[ -e "$modules/Kbuild" ] || [ -e "$modules/Makefile" ] ||
		die "'$modules' holds neither nvidia.ko nor the source of NVIDIA's open modules (kernel-open/)"
	cp -r "$modules" "$source"
	build_modules "$source"
else
	source=$driver/kernel-open
	[ -d "$source" ] ||
		die "driver '$run': it holds no kernel-open/$(of_package nvidia-open-kernel-dkms): give the open modules' source $version with --kernel-modules, or take a driver from 515 on"
	build_modules "$source"
fi
for m in nvidia nvidia-uvm; do
	ko=$source/$m.ko
	[ -e "$ko" ] || die "'$source' holds no $m.ko"
	case $(its_field vermagic "$ko") in
	"$release "*) ;;
	*) die "'$ko' is for kernel '$(its_field vermagic "$ko")', the image's is $release: leave --kernel-modules out, or give their source" ;;
	esac
	strip --strip-debug -o "$work/$m.ko" "$ko"
done
[ "$(its_field version "$work/nvidia.ko")" = "$version" ] ||
	die "nvidia.ko is version '$(its_field version "$work/nvidia.ko")', the libraries are $version: they must be the same"

# --- The contents -----------------------------------------------------------------------

# The folder that the loader of this machine's C library searches. It goes into the image, too.
libdir=$(ldd "$build/server/wormhole-worker" | sed -n 's,.* => \(/.*\)/libc\.so\.6 .*,\1,p')
[ -n "$libdir" ] || die "$build/server/wormhole-worker does not say where libc.so.6 is (ldd)"
list=$work/driver.list
needs=$work/needs.list
: >"$list"
: >"$needs"

# library FILE: puts a library into the image, under its file's name. Its dependencies on this
# machine are added when all libraries are listed.
library() {
	echo "file $libdir/$(basename "$1") $1 755" >>"$list"
	echo "needs $libdir/$(basename "$1") $1" >>"$needs"
}

# The second library compiles PTX. The others below are needed by these two, by newer
# drivers, or by a library over them; not every driver has all of them.
for l in cuda nvidia-ptxjitcompiler; do
	[ -e "$driver/lib$l.so.$version" ] || die "driver '$run': it holds no lib$l.so.$version$(of_package "lib${l}1")"
	library "$driver/lib$l.so.$version"
done
for l in nvidia-ml nvidia-nvvm nvidia-nvvm70 nvidia-gpucomp nvidia-tileiras; do
	for f in "$driver/lib$l.so."*; do
		[ ! -f "$f" ] || [ -L "$f" ] || library "$f"
	done
done
firmware=0
for f in "$driver"/firmware/*.bin; do
	[ -e "$f" ] || continue
	echo "file /lib/firmware/nvidia/$version/$(basename "$f") $f 644" >>"$list"
	firmware=$((firmware + 1))
done
[ $firmware -gt 0 ] || die "driver '$run': it holds no firmware/*.bin$(of_package firmware-nvidia-gsp), without which the open modules start no GPU"
for m in nvidia nvidia-uvm; do
	echo "file /lib/$m.ko $work/$m.ko 644" >>"$list"
done
echo "$version" >"$work/driver.version"
echo "file /etc/wormhole/driver $work/driver.version 644" >>"$list"
if [ -n "$libraries" ]; then
	find "$(realpath "$libraries")" -maxdepth 1 -name 'lib*.so*' | LC_ALL=C sort >"$work/libraries"
	[ -s "$work/libraries" ] || die "'$libraries' holds no lib*.so*"
	while read -r f; do
		case $(basename "$f") in
		libcuda.so* | libnvidia-*)	# the driver's own
			;;
		*)	if [ -L "$f" ] && [ "$(dirname "$(realpath "$f")")" = "$(dirname "$f")" ]; then
				echo "slink $libdir/$(basename "$f") $(basename "$(realpath "$f")")" >>"$list"
			else
				library "$f"
			fi ;;
		esac
	done <"$work/libraries"
fi

# --- The image -------------------------------------------------------------------------------

# The last command makes links such as libNAME.so.1, as each library calls itself. (When its
# caller asks for the status, a function does not stop at a failing command: hence &&.)
fill() {
	TMPDIR=$work "$top/tests/vm/mkinitramfs.sh" "$work/root.cpio" "$top/server/vm/image/gpu.list" "$list" "$needs" &&
		mkdir "$work/root" &&
		(cd "$work/root" && cpio -idm --quiet --no-absolute-filenames <"$work/root.cpio") &&
		rm "$work/root.cpio" &&
		ldconfig -n "$work/root$libdir"
}
step IMAGE "$firmware firmware files, $(grep -c . "$needs") libraries" fill ||
	die "the image cannot be filled, see above"
[ -e "$work/root$libdir/libcuda.so.1" ] || die "libcuda.so.$version does not call itself libcuda.so.1"
step SQUASHFS "root.img ($(du -sm "$work/root" | cut -f1) MiB)" mksquashfs "$work/root" "$out/root.img" \
	-all-root -all-time 0 -mkfs-time 0 -comp zstd -noappend -no-progress -no-xattrs ||
	die "mksquashfs failed, see above"
cp -L "$kernel/bzImage" "$out/bzImage"
cp "$work/driver.version" "$out/driver"
# The kernel mounts the disk by itself and leaves /dev to init, as from an initramfs.
echo "$(cat "$top/server/vm/image/cmdline") root=/dev/vda rootfstype=squashfs ro devtmpfs.mount=0 init=/init" \
	"wormhole.backend=$libdir/libcuda.so.1" >"$out/cmdline"
say DONE "driver $version, $(($(stat -c %s "$out/root.img") / 1048576)) MiB"
