#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the program that it is named after over the fake library of its name: X.t against a server
# of its own, X_loopback.t inside the program's process. The program itself says what it promises.
. "$(dirname "$0")/lib.sh"
name=$(basename "$0" .t)

case $name in
cusparse_11*) WORMHOLE_CUSPARSE=$bin/fake_cusparse_11.so ;;
cublaslt_posted) WORMHOLE_CUBLASLT=$bin/fake_cublaslt.so ;;
cublaslt* | cublasxt*)
	WORMHOLE_CUBLAS=$WH_BUILD/softgpu/libcublas.so.13
	[ -e "$WORMHOLE_CUBLASLT" ] || {
		echo "1..0 # SKIP no nvcc when softgpu's libraries were to be built"
		exit 0
	}
	;;
esac
[ "$name" != threads_loopback ] || WORMHOLE_CUBLAS=$bin/fake_threads.so
# Columns and parts of transforms lie on two devices.
case $name in
cusolvermg* | cufft*) export WORMHOLE_SOFTGPU_MEM=64M,64M ;;
esac
[ "$name" != cufft_several_loopback ] || export WORMHOLE_TENANT="$tmp/tenant"
case $name in
fft | fft_loopback)
	WORMHOLE_CUFFT=$WH_BUILD/softgpu/libcufft.so.12
	[ -e "$WORMHOLE_CUFFT" ] || skip_all "no nvcc or cufftXt.h at build time: no stand-in for cuFFT"
	;;
esac
case $name in
*_loopback) use_loopback ;;
cupti_counters) start_server --counters ;;
*) start_server ;;
esac
timeout 60 "$bin/${name%_loopback}"
rc=$?
[ $rc = 0 ] || [ ! -s "$tmp/server.err" ] || sed 's/^/# server: /' "$tmp/server.err"
exit $rc
