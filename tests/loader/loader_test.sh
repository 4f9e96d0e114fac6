#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that under `wormhole run` searches for what Wormhole serves end at its
# libraries, however a program's own libraries say where theirs lie. Everything else stays as it
# is.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

ours=$(readlink -f "$WH_BUILD/client-stubs")
bin=$WH_BUILD/tests/loader/bin
cu13=$WH_BUILD/tests/loader/wheel/nvidia/cu13/lib
pkg=$WH_BUILD/tests/loader/wheel/package/lib

# run prints, on one line, what the program prints and what any loaded genuine library said.
run() { "$wormhole" run -- "$@" 2>&1 | tr '\n' ' ' | sed 's/ $//'; }
opener() { run "$bin/opener" "$@"; }
sorted() { tr ' ' '\n' | sort | tr '\n' ' '; }
served() { printf '%s ' "$ours/libcublas.so.13" "$ours/libcuda.so.1" "$ours/libcudart.so.13" "$pkg/lib$1.so"; }

plan 59
ok server_starts serve

# --- Where a search ends
is library_with_rpath_gets_ours "$(opener open="$pkg/librpath.so" maps=libcu | sorted)" \
	"$(served rpath)"
is library_with_runpath_gets_ours "$(opener open="$pkg/librunpath.so" maps=libcu | sorted)" \
	"$(served runpath)"
is its_calls_are_served_by_ours "$(opener open="$pkg/librpath.so" call=runtime_is_new)" "$pkg/librpath.so 1"
is absolute_path_gets_ours "$(opener open="$cu13/libcublas.so.13")" "$ours/libcublas.so.13"
is name_gets_ours "$(opener open=libcublas.so.13)" "$ours/libcublas.so.13"
is name_with_the_whole_version_gets_ours "$(opener open="$cu13/libcublas.so.13.1.0.3")" "$ours/libcublas.so.13"
is link_without_a_version_gets_ours "$(opener open="$cu13/libcublas.so")" "$ours/libcublas.so.13"
is link_that_rpath_finds_gets_ours "$(opener open="$pkg/libopens.so" call=opens_name maps=libcublas)" \
	"$pkg/libopens.so 1 $ours/libcublas.so.13"
is library_opened_by_a_constructor_is_ours "$(opener open="$pkg/libopens.so" maps=libcublas)" \
	"$pkg/libopens.so $ours/libcublas.so.13"
is driver_by_its_place_in_the_system_is_ours \
	"$(opener open=/usr/lib/x86_64-linux-gnu/libcuda.so.1)" "$ours/libcuda.so.1"
is file_by_another_name_gets_ours_for_what_it_is "$(opener open="$cu13/libcublas.so.580.65.06")" \
	"$ours/libcublas.so.13"
is all_ways_lead_to_one_library "$(opener open="$cu13/libcublas.so.13" open=libcublas.so.13 \
	open="$pkg/librpath.so" maps=libcublas)" \
	"$ours/libcublas.so.13 $ours/libcublas.so.13 $pkg/librpath.so $ours/libcublas.so.13"
is what_is_not_loaded_is_not_found_by_noload "$(opener noload="$cu13/libcublas.so.13" maps=libcublas)" nothing
is what_is_loaded_is_found_by_noload_and_any_path "$(opener open=libcublas.so.13 noload="$cu13/libcublas.so.13")" \
	"$ours/libcublas.so.13 $ours/libcublas.so.13"
is iterating_names_ours "$(opener open="$pkg/libopens.so" phdr=libcublas)" "$pkg/libopens.so $ours/libcublas.so.13"
is namespace_of_its_own_gets_ours "$(opener space="$pkg/librpath.so" call=runtime_is_new)" "$pkg/librpath.so 1"
like ldd_shows_ours "$(run ldd "$pkg/librpath.so")" "[[:space:]]$ours/libcudart.so.13 .*[[:space:]]$ours/libcublas.so.13"

# --- Which names
is runtime_of_12_gets_ours_beside_that_of_13 "$(opener open="$cu13/libcudart.so.12" open="$cu13/libcudart.so.13")" \
	"$ours/libcudart.so.12 $ours/libcudart.so.13"
is file_that_a_wheel_renamed_gets_ours \
	"$(opener open="$cu13/libcudart-0a1b2c3d.so.13" open="$cu13/libcublas-0a1b2c3d.so.13")" \
	"$ours/libcudart.so.13 $ours/libcublas.so.13"
is renamed_one_of_another_major_is_left_alone "$(opener open="$cu13/libcublas-0a1b2c3d.so.10")" \
	"genuine libcublas.so.10 is loaded $cu13/libcublas-0a1b2c3d.so.10"
is name_that_has_no_hash_is_left_alone "$(opener open="$cu13/libcudart-genuine.so.13")" \
	"genuine libcudart.so.13 is loaded $cu13/libcudart-genuine.so.13"
is and_that_of_11_gets_ours "$(opener open="$cu13/libcudart.so.11.0")" "$ours/libcudart.so.11.0"
is other_major_version_is_left_alone "$(opener open="$cu13/libcublas.so.10")" \
	"genuine libcublas.so.10 is loaded $cu13/libcublas.so.10"
is so_is_a_link_to_it "$(opener open="$cu13/10/libcublas.so")" \
	"genuine libcublas.so.10 is loaded $cu13/10/libcublas.so"
is file_that_is_no_library_is_an_error "$(opener open="$cu13/broken/libcublas.so")" error
is folder_is_an_error "$(opener open="$cu13/broken/libcuda.so")" error
is library_that_is_not_served_is_left_alone "$(opener open="$cu13/libnvrtc.so.13")" \
	"genuine libnvrtc.so.13 is loaded $cu13/libnvrtc.so.13"
is missing_library_is_still_missing "$(opener open=libnothing.so.1)" error
# Another folder is served: what lies in it decides what Wormhole serves.
mkdir "$tmp/served"
cp "$ours/libwormhole-audit.so" "$tmp/served"
cp "$cu13/libnvrtc.so.13" "$tmp/served/libnvrtc.so.13"
is folder_says_what_is_served \
	"$(LD_AUDIT="$tmp/served/libwormhole-audit.so" "$bin/opener" open="$cu13/libnvrtc.so.13" \
		open="$cu13/libcublas.so.10" 2>/dev/null | tr '\n' ' ')" \
	"$tmp/served/libnvrtc.so.13 $cu13/libcublas.so.10 "
is over_loopback_nothing_is_redirected "$(LD_AUDIT="$ours/libwormhole-audit.so" WORMHOLE_TRANSPORT=loopback \
	"$bin/opener" open="$cu13/libcublas.so.13" maps=libwormhole 2>/dev/null)" "$cu13/libcublas.so.13"

# --- Which programs
is children_of_shells_get_ours "$(run sh -c "sh -c '$bin/opener open=$cu13/libcublas.so.13; :'; :")" \
	"$ours/libcublas.so.13"
is python_gets_ours "$(run /usr/bin/python3 -c "import ctypes
print(ctypes.CDLL('$pkg/librpath.so').runtime_is_new())
print(*{l.split()[-1] for l in open('/proc/self/maps') if 'libcublas' in l})")" "1 $ours/libcublas.so.13"
is program_without_cuda_loads_none_of_it "$(opener maps="$ours" | sorted)" \
	"$ours/libwormhole-audit.so $ours/libwormhole-preload.so "
is audit_library_brings_no_second_c_library "$(opener maps=libc.so | wc -w)" 1
is static_program_is_unharmed "$(run "$bin/opener_static" secure maps=libwormhole)" "secure 0"
[ "$(id -u)" != 0 ] || install -o 65534 -m 4755 "$bin/opener" "$tmp/setuid"
if [ "$("$tmp/setuid" secure 2>/dev/null)" = "secure 1" ]; then
	is program_with_more_rights_is_unharmed "$(run "$tmp/setuid" secure maps=libwormhole)" "secure 1"
else
	skip program_with_more_rights_is_unharmed "only root can make one, and not on a file system without such programs"
fi
is auditor_of_the_users_is_kept "$(LD_AUDIT=$bin/user_audit.so "$wormhole" run -- "$bin/opener" \
	open="$cu13/libcublas.so.13" 2>&1 | sed -n '$!d;p')$(LD_AUDIT=$bin/user_audit.so "$wormhole" run -- true)" \
	"$ours/libcublas.so.13users auditor
users auditor"
is run_in_a_run_adds_nothing_again "$(run "$wormhole" run -- sh -c 'echo $LD_AUDIT')" "$ours/libwormhole-audit.so"
is status_is_the_programs "$("$wormhole" run -- "$bin/opener" nonsense; echo $?)" 2

# --- A C library that is too old for ours, as an image's may be
newer=$WH_BUILD/tests/loader/newer
old() { env -u LD_LIBRARY_PATH LD_AUDIT="$newer/libwormhole-audit.so" "$@" 2>&1; echo $?; }
like library_for_a_newer_c_library_is_named_with_what_lacks "$(old LD_PRELOAD="$newer/libnewer.so" true)" \
	"^wormhole: error: the C library here, /.*/libc.so.6, is too old for libnewer.so: it has no GLIBC_2.99\. "
is and_the_program_ends_before_it_starts "$(old LD_PRELOAD="$newer/libnewer.so" echo started | tail -n +2)" 127
is opened_by_the_program_it_is_a_failure_of_dlopen "$(old "$bin/opener" open="$newer/libnewer.so" | tr "\n" " ")" "error 0 "

# --- What cannot run over ours is named when it is used
said() { "$wormhole" run -- "$@" 2>&1 >/dev/null; }
npp=$pkg/libnpplike.so
is loaded_and_unused_says_nothing "$(opener open="$npp" call=nppUnused)" "$npp 5"
is used_is_named_with_its_call "$(said "$bin/opener" open="$npp" call=nppStart | sed 's/: it has.*//')" \
	"wormhole: error: $npp: nppStart() needs a private table of NVIDIA's driver (cuGetExportTable), and there is none"
is used_twice_is_named_once "$(said "$bin/opener" open="$npp" call=nppStart call=nppStart | wc -l)" 1
is it_gets_the_drivers_error "$(opener open="$npp" call=nppStart 2>/dev/null | sed 's/ wormhole:.*//;s/.* //')" 501
is who_runs_it_gets_no_advice_on_building_it "$(said "$bin/opener" open="$npp" call=nppStart | grep -c strip)" 0
like of_a_library_of_12_it_gets_what_helps "$(said "$bin/opener" open="$npp" call=nppStart)" \
	"; if it is a library of CUDA 11 or 12, take a build of the program for CUDA 13, whose libraries are served\$"
is compiler_that_does_without_is_not_named "$(opener open="$pkg/libcompiler.so" call=nppStart)" \
	"$pkg/libcompiler.so 501"
is each_request_is_logged_with_its_caller "$(WORMHOLE_LOG=1 said "$bin/opener" open="$pkg/libcompiler.so" \
	call=nppStart call=nppStart | grep -c "$pkg/libcompiler.so: nppStart() asks for the private table 6e6f2073")" 2
is program_that_uses_none_of_it_starts "$(run "$bin/asker")" 0
like program_itself_gets_the_remedy "$(run "$bin/asker" use)" \
	"^wormhole: error: $bin/asker: .*nvcc -cudart shared, or do not strip it 500"
is without_wormhole_run_it_is_named_too "$(LD_LIBRARY_PATH=$ours "$bin/asker" use 2>&1 >/dev/null | grep -c 'wormhole run')" 1

# --- Programs of CUDA 12, where their headers were when the tests were built
for kind in of_12 of_12_stripped; do
	program=$WH_BUILD/tests/cudart/bin/$kind
	if [ -x "$program" ]; then
		is program_${kind}_runs "$("$wormhole" run -- "$program" 2>&1 | grep -vc '^ok')" 2
	else
		skip program_${kind}_runs "tools/get-runtimes.sh got no runtime of 12.9"
	fi
done

# --- NVIDIA's own, where this machine has them
genuine=${CUDA_HOME:-/usr/local/cuda}/lib64
# Without the auditor that leads to ours, a library fares like one that is not served.
if [ -e "$genuine/libcufft.so.12" ]; then
	like genuine_library_is_named_at_use "$(run env -u LD_AUDIT /usr/bin/python3 -c "import ctypes
plan = ctypes.c_int()
ctypes.CDLL('$genuine/libcufft.so.12').cufftPlan1d(ctypes.byref(plan), 64, 0x29, 1)")" \
		"^wormhole: error: $genuine/libcufft.so.12: cufftPlan1d() needs"
else
	skip genuine_library_is_named_at_use "no libcufft.so.12 of NVIDIA's here"
fi
# Its runtime is one that is known.
if [ -e "$genuine/libcusolverMg.so.12" ]; then
	is genuine_library_with_a_stripped_runtime_of_13_is_served "$(run env -u LD_AUDIT /usr/bin/python3 -c "import ctypes
handle = ctypes.c_void_p()
print(ctypes.CDLL('$genuine/libcusolverMg.so.12').cusolverMgCreate(ctypes.byref(handle)))")" 0
else
	skip genuine_library_with_a_stripped_runtime_of_13_is_served "no libcusolverMg.so.12 of NVIDIA's here"
fi
if [ -e "$genuine/libnvrtc.so.13" ]; then
	is genuine_compiler_works_and_is_not_named "$(run /usr/bin/python3 -c "import ctypes
nvrtc, p = ctypes.CDLL('$genuine/libnvrtc.so.13'), ctypes.c_void_p()
print(nvrtc.nvrtcCreateProgram(ctypes.byref(p), b'__global__ void f() {}', b'f.cu', 0, None, None),
      nvrtc.nvrtcCompileProgram(p, 0, None))")" "0 0"
else
	skip genuine_compiler_works_and_is_not_named "no libnvrtc.so.13 here"
fi
finish
