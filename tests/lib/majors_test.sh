#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what a program gets that is linked with a library of CUDA 12 or 11 whose soname
# is another in 13. It gets the file of its own major, where the server has it, and else another one,
# the newest first: they have the same functions in the same shapes (cuda-api/majors.py compares them).
. "$(dirname "$0")/lib.sh"
unset WORMHOLE_CUBLAS
oldest=$bin/majors/11 old=$bin/majors/12 new=$bin/majors/13
refused=1 # CUBLAS_STATUS_NOT_INITIALIZED

# opens LIBRARY... prints what the program says of each.
opens() { timeout 30 "$bin/major" "$@" 2>"$tmp/err" | tr '\n' ' '; }
is() { # NAME GOT EXPECTED
	[ "$2" = "$3" ]
	point "$1" || { echo "# got $2, not $3"; sed 's/^/# /' "$tmp/err"; }
}

plan 37

/usr/bin/python3 -B "$WH_TOP/cuda-api/majors.py" >"$tmp/err" 2>&1
is shapes_are_those_of_12_and_11 "$(cat "$tmp/err")" "compared 3629"
# A function whose shape is another must show.
cp -r "$WH_TOP/cuda-api" "$tmp/api"
sed -i 's/^cublas cublasSgemm_v2 .*/cublas cublasSgemm_v2 0/; s/^cublas CUBLAS_OP_T = 1/cublas CUBLAS_OP_T = 2/
	/^cublas cublasDgemm_v2 /d' "$tmp/api/majors_12.txt"
sed -i 's/^cusparse cusparseSpMV .*/cusparse cusparseSpMV 0/; /^cusparse cusparseXcsrgemm2Nnz /d; /^cublaslt cublasLtMatmul /d' \
	"$tmp/api/majors_11.txt"
WH_BUILD=$WH_BUILD /usr/bin/python3 -B "$tmp/api/majors.py" >"$tmp/differs"
is what_differs_is_named "$(sed 's/^cublas.api: //' "$tmp/differs" | head -n 3 | tr '\n' ';')" \
	"cublasDgemm_v2 is not in CUDA 12: newer;cublasSgemm_v2 has another shape in CUDA 12;CUBLAS_OP_T is 2 in CUDA 12;"
is what_differs_in_11_too "$(grep 'CUDA 11' "$tmp/differs" | tr '\n' ';')" \
	"cublaslt.api: cublasLtMatmul is not in CUDA 11: newer;cusparse.api: cusparseSpMV has another shape in CUDA 11;cusparse.api: cusparseXcsrgemm2Nnz is not in CUDA 11: not gone;"
cp "$WH_TOP/cuda-api/majors_11.txt" "$WH_TOP/cuda-api/majors_12.txt" "$tmp/api/"
sed -i 's/\(cusparseDgthr(cusparseHandle_t handle, \)int nnz/\1long nnz/' "$tmp/api/gone_cusparse.h"
is so_does_a_prototype_that_is_ours "$(WH_BUILD=$WH_BUILD /usr/bin/python3 -B "$tmp/api/majors.py" | head -n -1)" \
	"cusparse.api: cusparseDgthr has another shape in CUDA 11"

start_server --lib-path "$old:$new"
is program_of_12_gets_12 "$(opens libcublas.so.12)" "12 "
is that_is_no_reason_to_say_anything "$(cat "$tmp/err")" ""
is program_of_13_gets_13 "$(opens libcublas.so.13)" "13 "
is program_of_11_gets_the_newest_of_the_others "$(opens libcublas.so.11)" "13 "
is that_is_no_reason_either "$(cat "$tmp/err")" ""
is program_of_both_gets_a_file_of_each "$(opens libcublas.so.12 libcublas.so.13 libcublas.so.12)" "12 13 12 "
is in_any_order "$(opens libcublas.so.13 libcublas.so.11 libcublas.so.12)" "13 13 12 "
is each_knows_its_own_objects "$(opens libcublas.so.13 given:libcublas.so.13 libcublas.so.12 given:libcublas.so.12)" \
	"13 0 12 0 "
is and_never_the_others "$(opens libcublas.so.13 given:libcublas.so.12 libcublas.so.12 given:libcublas.so.13)" \
	"13 $refused 12 $refused "
grep -q "info: cublas 13.7.42 is $new/libcublas.so.13\$" "$tmp/server.err" &&
	grep -q "info: cublas 12.7.42 is $old/libcublas.so.12, for clients that wish for it" "$tmp/server.err"
point "server_says_which_it_has"
stop_server

start_server --lib-path "$new:$oldest:$old"
is program_of_11_gets_11 "$(opens libcublas.so.11)" "11 "
is program_of_three_gets_a_file_of_each "$(opens libcublas.so.11 libcublas.so.13 libcublas.so.12 libcublas.so.11)" \
	"11 13 12 11 "
is object_of_12_is_none_of_11 "$(opens libcublas.so.12 given:libcublas.so.11 libcublas.so.11 given:libcublas.so.12)" \
	"12 $refused 11 $refused "
stop_server

start_server --lib-path "$new"
is where_the_server_has_13_alone_that_serves_12 "$(opens libcublas.so.12)" "13 "
is without_a_word "$(cat "$tmp/err")" ""
WORMHOLE_LOG=1 opens libcublas.so.12 >/dev/null
stop_server

start_server --lib-path "$old"
is where_it_has_12_alone_that_serves_13 "$(opens libcublas.so.13)" "12 "
is and_11 "$(opens libcublas.so.11)" "12 "
stop_server

unset WORMHOLE_CUBLASLT
start_server --lib-path "$oldest"
is file_of_11_has_room_for_its_preference "$(opens libcublasLt.so.11)" "0 "
is and_is_told_what_it_alone_has "$(tail -n 2 "$FAKE_LOG" | tr '\n' ' ')" "preference 10 = 1 heuristic 1 "
is where_it_has_11_alone_that_serves_all "$(opens libcublas.so.12 libcublas.so.13)" "11 11 "
stop_server

# Without a server's library of its own, softgpu's serves.
WORMHOLE_CUBLAS=$WH_BUILD/softgpu/libcublas.so.13 WORMHOLE_CUBLASLT=$WH_BUILD/softgpu/libcublasLt.so.13
export WORMHOLE_CUBLAS WORMHOLE_CUBLASLT
start_server
is file_that_is_named_serves_both "$(opens libcublas.so.12 libcublas.so.13)" "13 13 "
is function_that_12_alone_has_is_refused_by_a_file_of_13 "$(opens libcusolver.so.11)" "9 "
grep -q 'cusolverDnPotrf' "$tmp/server.err"
point "by_its_name"
readelf -d "$WH_BUILD/client-stubs/libcublas.so.11" >"$tmp/err" && grep -q 'NEEDED.*\[libcublasLt\.so\.11\]' "$tmp/err"
point cublas_of_11_brings_its_cublaslt
is library_of_13_has_it_not "$(opens libcusolver.so.12)" "-1 "
is function_that_11_alone_has_is_refused_by_a_file_of_12 "$(opens libcusparse.so.11)" "10 "
grep -q 'cusparseDgthr' "$tmp/server.err"
point "by_the_name_of_11"
is library_of_12_has_it_not "$(opens libcusparse.so.12)" "-1 "
is file_of_13_takes_what_only_11_describes "$(opens libcublasLt.so.11)" "0 "
is program_of_13_has_no_such_attribute "$(opens libcublasLt.so.13)" "7 "
stop_server

WORMHOLE_CUSPARSE=$bin/fake_cusparse_11.so WORMHOLE_CUSOLVER=$bin/fake_cusolver_12.so
start_server
is file_of_12_serves_what_it_alone_has "$(opens libcusolver.so.11)" "0 "
grep -q '^potrf uplo=0 n=3 lda=4 types=1,1 (nil) (nil) 0$' "$FAKE_LOG"
point "as_the_program_called_it"
is file_of_11_serves_what_it_alone_has "$(opens libcusparse.so.11)" "0 "
stop_server
