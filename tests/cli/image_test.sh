#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test promises what `wormhole image gpu` makes of a driver's .run file or of Debian's packages
# of it, and what it says of those that it cannot use. Others stand in for the driver (tests/vm/nvidia/make-run.sh) and for
# the kernel's build tree; tests/vm/gpu_image.sh boots such an image with a real kernel.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
for p in mksquashfs unsquashfs busybox cpio dpkg-deb; do
	command -v $p >/dev/null || skip_all "no $p"
done
wormhole=$WH_BUILD/host/wormhole
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
VERSION=580.65.06
RELEASE=6.12.0-stand-in

# These are the parts that a source tree has built, but for the kernel and its modules.
built=$dir/build
mkdir -p "$built/server/vm/guest-module" "$built/kernel/server/obj/include/config" "$built/kernel/server/src"
ln -s "$WH_BUILD/server/wormhole-supervisor" "$WH_BUILD/server/wormhole-worker" "$built/server/"
echo module >"$built/server/vm/guest-module/wormhole_server.ko"
echo kernel >"$built/kernel/server/bzImage"
echo $RELEASE >"$built/kernel/server/obj/include/config/kernel.release"
: >"$built/kernel/server/obj/Module.symvers"
: >"$built/kernel/server/src/Makefile"

# modules DIR RELEASE VERSION makes a kernel-open/ whose modules contain only their descriptions.
modules() {
	mkdir -p "$1"
	echo 'asm(".section .modinfo,\"a\"\n.asciz \"vermagic='"$2"' SMP\"\n.asciz \"version='"$3"'\"");' >"$1/module.c"
	printf 'modules: nvidia.ko nvidia-uvm.ko\n%%.ko: module.c\n\techo built for $(SYSSRC) and $(SYSOUT)\n\t[ ! -e broken ]\n\tgcc -c -o $@ $<\n' >"$1/Makefile"
}
modules "$dir/open" $RELEASE $VERSION
run_file() { "$WH_TOP/tests/vm/nvidia/make-run.sh" "$@"; }
run=$dir/NVIDIA-Linux-x86_64-$VERSION.run
run_file "$run" $VERSION "$dir/open"

# package DIR NAME FOLDER FILE... makes a package of the driver's files, which has them in FOLDER.
package() {
	mkdir -p "$dir/package/DEBIAN" "$dir/package/$3" "$1"
	printf 'Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: none\nDescription: stand-in\n' "$2" $VERSION >"$dir/package/DEBIAN/control"
	cp -r "${@:4}" "$dir/package/$3"
	dpkg-deb --build "$dir/package" "$1/$2.deb" >/dev/null
	rm -r "$dir/package"
}

image() { WH_TOP=$WH_TOP WH_BUILD=$built "$wormhole" image gpu --out "$dir/image" "$@" 2>&1; }
left() { (cd "$dir" && ls -d image*) 2>/dev/null | tr '\n' ' '; }
in_root() { unsquashfs -lls "$dir/image/root.img" 2>/dev/null | sed -n "s,^\([^ ]*\) .* squashfs-root\($1.*\),\1 \2,p"; }

plan 47

# --- What there must be --------------------------------------------------------------------
like driver_is_needed "$(image)" "give\|--driver is needed"
like file_that_is_not_there_is_named "$(image --driver "$dir/none.run")" "'$dir/none.run': cannot be read"
echo hello >"$dir/text"
like file_that_is_no_driver_is_named "$(image --driver "$dir/text")" "'$dir/text': not a .run file of NVIDIA's driver"
ln -s "$run" "$dir/NVIDIA-Linux-aarch64-$VERSION.run"
like other_architecture_is_named "$(image --driver "$dir/NVIDIA-Linux-aarch64-$VERSION.run")" "for aarch64, the server VM is x86_64"
head -c 1000 "$run" >"$dir/cut.run"
like driver_that_was_cut_off_is_named "$(image --driver "$dir/cut.run")" "'$dir/cut.run': its --extract-only failed, see above: is it whole"
is and_nothing_is_left_of_it "$(left)" ""
like the_old_image_is_said_to_stand "$(image --driver "$dir/cut.run")" "no image was made; '$dir/image' is as it was"
for without in libcuda.so.$VERSION kernel-open firmware libnvidia-ptxjitcompiler.so.$VERSION; do
	run_file "$dir/less.run" $VERSION "$dir/open" $without
	image --driver "$dir/less.run" | grep -q "'$dir/less.run': it holds no ${without%%.*}" || unnamed="$unnamed $without"
done
is what_a_driver_lacks_is_named "$unnamed" ""
mv "$built/kernel/server/bzImage" "$dir/bzImage"
like kernel_that_is_not_built_is_named "$(image --driver "$run")" "kernel is not built (.*/bzImage): make gpu-kernel"
mv "$dir/bzImage" "$built/kernel/server/bzImage"
mkdir "$dir/bin"
for p in bash sh sed tr cut dirname basename cat mkdir rm head tail grep stat; do ln -s "$(command -v $p)" "$dir/bin/"; done
like program_that_lacks_is_named_with_its_package "$(PATH=$dir/bin image --driver "$run")" "there is no make: install the package make\|no mksquashfs: install the package squashfs-tools"

# --- Modules ---------------------------------------------------------------------------------
: >"$dir/open/broken"
run_file "$dir/broken.run" $VERSION "$dir/open"
rm "$dir/open/broken"
out=$(image --driver "$dir/broken.run")
like build_that_fails_shows_its_end "$out" "built for .*/server/src and .*/server/obj"
like and_names_both_versions "$out" "open modules $VERSION do not build against the server's kernel $RELEASE"
modules "$dir/other" 5.10.0 $VERSION
make -s -C "$dir/other" >/dev/null
like modules_for_another_kernel_are_refused "$(image --driver "$run" --kernel-modules "$dir/other")" "is for kernel '5.10.0 SMP', the image's is $RELEASE"
modules "$dir/older" $RELEASE 570.1
like modules_of_another_version_are_refused "$(image --driver "$run" --kernel-modules "$dir/older")" "nvidia.ko is version '570.1', the libraries are $VERSION"
like folder_without_modules_is_named "$(image --driver "$run" --kernel-modules "$dir/bin")" "'$dir/bin' holds neither nvidia.ko nor the source"
is all_these_leave_nothing "$(left)" ""

# --- The image ------------------------------------------------------------------------------------
out=$(image --driver "$run")
is image_is_made "$?" 0
is it_is_all_that_is_left "$(left)" "image "
like long_steps_are_said "$out" "KMOD  *nvidia.ko, nvidia-uvm.ko $VERSION"
is it_has_four_files "$(ls "$dir/image" | tr '\n' ' ')" "bzImage cmdline driver root.img "
is its_version_is_the_drivers "$(cat "$dir/image/driver")" $VERSION
like root_is_the_disk_and_is_not_written "$(cat "$dir/image/cmdline")" " root=/dev/vda rootfstype=squashfs ro .*init=/init"
like hmm_is_off_on_the_command_line_too "$(cat "$dir/image/cmdline")" "nvidia_uvm.uvm_disable_hmm=1"
libdir=$(sed -n 's,.* wormhole.backend=\(.*\)/libcuda.so.1$,\1,p' "$dir/image/cmdline")
like backend_is_nvidias_beside_the_c_library "$(in_root "$libdir/libc.so.6")" "$libdir/libc.so.6"
like its_link_is_there "$(in_root "$libdir/libcuda.so.1")" "libcuda.so.1 -> libcuda.so.$VERSION"
is so_are_the_libraries_that_it_loads "$(in_root "$libdir/libnvidia" | grep -c '^-')" 4
is but_none_for_displays "$(in_root "$libdir/libnvidia-glcore")" ""
is firmware_is_where_the_kernel_looks "$(in_root "/lib/firmware/nvidia/$VERSION/" | cut -d' ' -f2 | xargs -n1 basename | tr '\n' ' ')" "gsp_ga10x.bin gsp_tu10x.bin "
is modules_are_there "$(in_root /lib/nvidia | cut -d' ' -f2 | tr '\n' ' ')" "/lib/nvidia-uvm.ko /lib/nvidia.ko "
like devices_are_made_by_a_script "$(in_root /etc/wormhole/devices)" "^-rwxr-xr-x"
is all_of_it_is_roots "$(unsquashfs -lln "$dir/image/root.img" | awk '/squashfs-root/ && $2 != "0/0"' | head -n1)" ""
is nothing_of_it_can_be_written_by_others "$(in_root | grep -v '^[ld]' | grep '^.\{8\}w')" ""

# --- Again, and with more ----------------------------------------------------------------------------
start_line=$("$wormhole" server start vm --id 7 --image "$dir/image" --window "$dir/w,2M" --dry-run)
like server_starts_from_the_disk "$start_line" \
	"-drive if=none,id=root,format=raw,readonly=on,file=$dir/image/root.img -device virtio-blk-pci,drive=root,"
is without_an_initramfs "$(echo "$start_line" | grep -c -e -initrd)" 0
sum=$(sha256sum "$dir/image/root.img")
image --driver "$dir/broken.run" >/dev/null
is image_that_fails_leaves_the_old_one "$(sha256sum "$dir/image/root.img")" "$sum"
mkdir "$dir/slow"
printf 'modules:\n\techo $$$$ >%s/begun; exec sleep 1000\n' "$dir" >"$dir/slow/Makefile"
WH_BUILD=$built "$wormhole" image gpu --out "$dir/image" --driver "$run" --kernel-modules "$dir/slow" >"$dir/slow.log" 2>&1 &
until [ -s "$dir/begun" ] || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
kill -TERM $!
wait $!
is stopped_in_the_middle_it_leaves_nothing "$(left)$(ps -o args= -p "$(cat "$dir/begun")")" "image "
is and_the_old_image "$(sha256sum "$dir/image/root.img")" "$sum"
image --driver "$run" >/dev/null
is same_driver_makes_the_same_image "$(sha256sum "$dir/image/root.img")" "$sum"

# --- Debian's packages ---------------------------------------------------------------------------------
sh "$run" --extract-only --target "$dir/parts" >/dev/null
current=usr/lib/x86_64-linux-gnu/nvidia/current
package "$dir/debs" libcuda1 $current "$dir"/parts/libcuda.so.*
package "$dir/debs" libnvidia-ptxjitcompiler1 $current "$dir"/parts/libnvidia-ptxjitcompiler.so.*
package "$dir/debs" libnvidia-others $current "$dir"/parts/libnvidia-[!p]*.so.*
package "$dir/debs" firmware-nvidia-gsp usr/lib/firmware/nvidia/$VERSION "$dir"/parts/firmware/*
mv "$dir/parts/kernel-open" "$dir/parts/nvidia-current-open-$VERSION"
package "$dir/debs" nvidia-open-kernel-dkms usr/src "$dir/parts/nvidia-current-open-$VERSION"
rm -r "$dir/image"
image --driver "$dir/debs" >"$dir/debs.log" || diag "$(cat "$dir/debs.log")"
is packages_make_the_same_image "$(sha256sum "$dir/image/root.img")" "$sum"
like folder_without_packages_is_named_with_what_to_get "$(image --driver "$dir/bin")" "'$dir/bin': holds no Debian packages .*apt-get download libcuda1"
unnamed=
for without in libcuda1 libnvidia-ptxjitcompiler1 firmware-nvidia-gsp nvidia-open-kernel-dkms; do
	mv "$dir/debs/$without.deb" "$dir/"
	image --driver "$dir/debs" | grep -q "'$dir/debs': it holds no .*(package $without)" || unnamed="$unnamed $without"
	mv "$dir/$without.deb" "$dir/debs/"
done
is package_that_lacks_is_named "$unnamed" ""
head -c 1000 "$dir/debs/libcuda1.deb" >"$dir/debs/cut.deb"
like package_that_was_cut_off_is_named "$(image --driver "$dir/debs")" "debs/cut.deb"

mkdir "$dir/cuda"
echo 'int f;' | gcc -shared -nostdlib -x c -o "$dir/cuda/libcublas.so.13.0.1" -Wl,-soname,libcublas.so.13 -
cp "$dir/cuda/libcublas.so.13.0.1" "$dir/cuda/libcuda.so.1"
# The library is like cuDNN's: it finds another library beside itself, and has a link as a toolkit
# has it.
echo 'int g;' | gcc -shared -nostdlib -x c -o "$dir/cuda/libcudnn.so.9" -Wl,-soname,libcudnn.so.9 - \
	-x none -Wl,--no-as-needed "$dir/cuda/libcublas.so.13.0.1" -Wl,-rpath,'$ORIGIN'
ln -s libcublas.so.13.0.1 "$dir/cuda/libcublas.so.13"
image --driver "$run" --libraries "$dir/cuda" >/dev/null
like libraries_go_beside_the_driver "$(in_root "$libdir/libcublas.so.13 ")" "libcublas.so.13 -> libcublas.so.13.0.1"
like but_do_not_replace_it "$(in_root "$libdir/libcuda.so.1")" "-> libcuda.so.$VERSION"
is and_are_there_once "$(in_root | grep -c '^-.*libcublas')" 1
echo 'int h;' | gcc -shared -nostdlib -x c -o "$dir/libgone.so" -Wl,-soname,libgone.so -
echo 'int i;' | gcc -shared -nostdlib -x c -o "$dir/cuda/libneeds.so" - -x none -Wl,--no-as-needed "$dir/libgone.so"
like library_that_needs_one_that_is_not_there_is_named "$(image --driver "$run" --libraries "$dir/cuda")" "libneeds.so needs .*libgone.so"
echo mine >"$dir/image/notes"
like folder_with_other_files_is_left_alone "$(image --driver "$run")" "'$dir/image' holds 'notes', which is no part of an image"
finish
