#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes a stand-in for NVIDIA's driver, with the layout of its .run file and nothing of its
# content: libraries of a few bytes, firmware of zeros, and for kernel-open/ what the caller has.
#
#   make-run.sh FILE VERSION KERNEL-OPEN [WITHOUT]
#
# WITHOUT is a file or folder that is left out.
set -eu

file=$1 version=$2 modules=$3 without=${4:-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

library() { # NAME SONAME
	echo 'int stand_in;' | gcc -shared -nostdlib -x c -o "$1" -Wl,-soname,"$2" -
}
library "libcuda.so.$version" libcuda.so.1
library "libnvidia-ptxjitcompiler.so.$version" libnvidia-ptxjitcompiler.so.1
library "libnvidia-ml.so.$version" libnvidia-ml.so.1
library "libnvidia-nvvm.so.$version" libnvidia-nvvm.so.4
library "libnvidia-gpucomp.so.$version" "libnvidia-gpucomp.so.$version"
library "libnvidia-glcore.so.$version" "libnvidia-glcore.so.$version"
mkdir firmware
head -c 5000 /dev/zero >firmware/gsp_ga10x.bin
head -c 3000 /dev/zero >firmware/gsp_tu10x.bin
cp -r "$modules" kernel-open
printf 'NVIDIA Accelerated Graphics Driver for Linux-x86_64\n%s\n' "$version" >.manifest
[ -z "$without" ] || rm -r "${dir:?}/$without"

# The options are those of NVIDIA's script; the archive is behind the script's last line.
{
	cat <<END
#!/bin/sh
label="NVIDIA Accelerated Graphics Driver for Linux-x86_64 $version"
END
	cat <<'END'
[ "$1" = --extract-only ] && [ "$2" = --target ] && [ ! -e "$3" ] || exit 9
mkdir "$3"
echo "Uncompressing $label"
sed '1,/^# archive$/d' "$0" | tar -xz -C "$3"
exit
# archive
END
	tar -cz .
} >"$file"
