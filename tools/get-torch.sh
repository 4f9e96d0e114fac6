#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# get-torch.sh [FOLDER]: puts Debian 13's PyTorch for CUDA, and all that it needs but NVIDIA's driver
# and libraries, into FOLDER (by default build/torch), from the machine's own mirror of Debian. It
# has PTX, so softgpu runs its kernels. FOLDER/python3 is its Python; root alone can run it. That is
# for a machine that is no Debian 13; there, `apt-get install python3-torch-cuda` is enough. It needs
# 3 GB and some minutes, so no target of make runs it. Then there is
#
#	prove build/tests/clients/train.t
set -eu

suite=trixie
here=$(cd "$(dirname "$0")" && pwd)
dest=${1:-${WH_BUILD:-$here/../build}/torch}
mkdir -p "$dest"
dest=$(cd "$dest" && pwd)
[ ! -x "$dest/python3" ] || exit 0
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/*$' | head -n 1)
[ -n "$mirror" ] || { echo "error: this machine's apt names no mirror of Debian" >&2; exit 1; }

# An apt of its own, which knows of no installed package.
apt=$dest/apt
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$dest/root" "$dest/debs"
: >"$apt/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main contrib non-free" \
	>"$apt/sources.list"
get() {
	apt-get -q -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::State="$apt/state" -o Dir::Cache="$apt/cache" \
		-o Dir::State::status="$apt/status" -o APT::Sandbox::User=root "$@"
}

# Wormhole's client libraries are in the place of these.
nvidia='nvidia-cuda-dev|nvidia-cudnn|nvidia-driver|libnvidia|libcuda1|libcupti-dev|libnpp'
nvidia="$nvidia|libcublas|libcufft|libcurand|libcusolver|libcusparse|libnccl"
get update >"$dest/log" 2>&1
get -y --no-install-recommends --print-uris install python3-torch-cuda base-files bash coreutils 2>>"$dest/log" |
	sed -n "s/^'[^']*' \([^_ ]*\)_.*/\1/p" | grep -v -E "^($nvidia)" >"$dest/packages"
echo "  DEPS     $(wc -l <"$dest/packages") packages of Debian 13 into $dest" >&2
cd "$dest/debs"
# shellcheck disable=SC2046 # words
get download $(cat "$dest/packages") >>"$dest/log" 2>&1
dpkg-deb -x base-files_*.deb "$dest/root"
for d in *.deb; do
	dpkg-deb -x "$d" "$dest/root"
done
cd "$dest"
rm -rf debs apt

# What update-alternatives would do.
libs=root/usr/lib/x86_64-linux-gnu
ln -sf blas/libblas.so.3 "$libs/libblas.so.3"
ln -sf lapack/liblapack.so.3 "$libs/liblapack.so.3"

# PyTorch opens this by a name that only the package for compiling against it has.
ln -sf libtorch_cuda_linalg.so.2.6 "$libs/libtorch_cuda_linalg.so"

# The Python sees the machine's other folders where they are.
cat >python3.new <<'END'
#!/bin/sh
# Runs the Python of the folder that this file is in. get-torch.sh made it.
root=$(cd "$(dirname "$0")" && pwd)/root
exec unshare -m sh -ec '
root=$0
for d in /*; do
	case $d in /bin | /boot | /etc | /lib* | /sbin | /usr | /var) continue ;; esac
	[ -d "$d" ] && [ ! -L "$d" ] || continue
	mkdir -p "$root$d"
	mount --rbind "$d" "$root$d"
done
exec chroot "$root" /usr/bin/env --chdir="$PWD" /usr/bin/python3 "$@"' "$root" "$@"
END
chmod 755 python3.new
mv python3.new python3
