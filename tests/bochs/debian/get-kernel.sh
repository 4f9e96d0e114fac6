#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# get-kernel.sh RELEASE DIR [MODULE...] puts a kernel of Debian, as people install it, into DIR:
# vmlinuz, irqbypass.ko, which KVM's modules need, and into DIR/drivers the named modules with those
# that they need, numbered in the order of loading. It copies them from / where the kernel is
# installed, and otherwise takes them from the archive (34 MB the cloud kernel, 107 MB the full one).
# It neither installs the kernel nor makes a file outside of DIR.
set -eu
release=$1
dir=$2
shift 2
mkdir -p "$dir"
if [ -r "/boot/vmlinuz-$release" ]; then
	root=
else
	echo "  GET      linux-image-$release" >&2
	root=$dir/root
	rm -rf "$root"
	mkdir "$root"
	(cd "$root" && apt-get download -q "linux-image-$release" >log 2>&1) ||
		{ cat "$root/log" >&2; exit 1; }
	dpkg-deb --fsys-tarfile "$root"/*.deb | tar -x -C "$root" "./boot/vmlinuz-$release" ./lib/modules
	[ $# = 0 ] || depmod -b "$root" "$release"
fi

# put FILE TO copies a module, and unpacks it.
put() {
	case $1 in
	*.xz) xz -dc "$1" ;;
	*) cat "$1" ;;
	esac >"$2"
}

# needed MODULE... prints the files to load, each once, in their order.
needed() {
	for module; do
		modprobe --show-depends -d "${root:-/}" -S "$release" "$module" || exit 1
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

cp "$root/boot/vmlinuz-$release" "$dir/vmlinuz.new"
put "$(ls "$root/lib/modules/$release/kernel/virt/lib/irqbypass.ko"*)" "$dir/irqbypass.ko"
rm -rf "$dir/drivers"
if [ $# != 0 ]; then
	mkdir "$dir/drivers"
	needed "$@" >"$dir/drivers.list"
	n=100
	while read -r file; do
		name=${file##*/}
		put "$file" "$dir/drivers/$n-${name%%.ko*}.ko"
		n=$((n + 1))
	done <"$dir/drivers.list"
fi
[ -z "$root" ] || rm -rf "$root"
mv "$dir/vmlinuz.new" "$dir/vmlinuz"
