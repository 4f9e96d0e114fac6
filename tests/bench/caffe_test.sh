#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what bench/caffe.sh decides: it names what is missing, runs each part natively
# and forwarded, tells losses, weights and tests that differ from equal ones, puts each layer's
# times beside each other, and leaves the checkout as it was. Scripts stand for Caffe's programs,
# and softgpu is behind both ways. For the part vmfunc a script stands for the emulator.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
from=$dir/checkout
mkdir -p "$dir/tmp" "$dir/empty" "$dir/built" "$from/src/caffe/test/test_data" "$from/examples/mnist" \
	"$from/models/bvlc_alexnet"
printf 'net: "n"\nmax_iter: 10000\nsnapshot: 5000\n' >"$from/examples/mnist/lenet_solver.prototxt"
printf 'name: "LeNet"\nbatch_size: 64\nbatch_size: 100\n' >"$from/examples/mnist/lenet_train_test.prototxt"
printf 'name: "A"\nlayer {\n type: "Data"\n p { }\n}\nlayer {\n name: "c"\n}\n' \
	>"$from/models/bvlc_alexnet/train_val.prototxt"

program() { # NAME TEXT
	printf '#!/bin/sh\n%s\n' "$2" >"$dir/built/$1"
	chmod +x "$dir/built/$1"
}
bench() { # ARGUMENT...
	TMPDIR=$dir/tmp "$WH_TOP/bench/caffe.sh" --build "$WH_BUILD" --backend softgpu "$@" >"$dir/said" 2>"$dir/err"
	rc=$?
}
caffe() { # LOSS WEIGHTS	what a forwarded training has; natively both are 1
	program caffe 'loss=1 weights=1 ms=2.0
[ -z "${WORMHOLE_TRANSPORT:-}" ] || { loss='"$1"' weights='"$2"' ms=3.0; }
case $1 in
train)
	n=$(sed -n "s/^max_iter: //p" "${2#--solver=}")
	grep -q 10000 "${2#--solver=}" && exit 4
	case $2 in *=one.*) [ $n = 1 ] ;; *=all.*) [ $n = 3 ] ;; *) [ $n = 20 ] ;; esac || exit 4
	echo "I0101 1:1 7 s.cpp:1] Iteration 0 (0 iter/s, 1.$$s/10 iters), loss = $loss"
	echo "I0101 1:1 7 s.cpp:1]     Test net output #0: accuracy = 0.5"
	name=${2#--solver=}
	echo $weights >"${name%.prototxt}_iter_$n.caffemodel" ;;
time)
	grep -q DummyData alexnet.prototxt && ! grep -q "\"Data\"" alexnet.prototxt || exit 5
	grep -q "name: \"c\"" alexnet.prototxt || exit 6
	printf "I0101 1:1 7 c.cpp:1]  c\tforward: %s ms.\n" $ms ;;
esac'
}
program digits 'mkdir "$1" && echo "$2" >"$1/data.mdb"'
cc -shared -o "$dir/built/libcaffe.so" -Wl,--no-as-needed "$WH_BUILD/client-stubs/libcublas.so.13" -x c /dev/null
program test_caffe 'case $1 in
--gtest_list_tests) printf "NetTest/0.\n  A\nNetTest/1.\n  A\nNetTest/2.\n  A\nNetTest/3.\n  A\nBlobTest/0.\n  A\n" ;;
*Net*)	for c in $(echo "${1#*=}" | tr : " "); do echo "[       OK ] ${c%.*}.A (3 ms)"; done ;;
*)	[ -z "${WORMHOLE_TRANSPORT:-}" ] || { echo "[  FAILED  ] BlobTest/0.A (3 ms)"; exit 1; }
	echo "[       OK ] BlobTest/0.A (5 ms)" ;;
esac'
before=$(find "$from" -type f -exec cksum {} + | sort)

plan 37
caffe 1 1
bench "CAFFE=$from" --prebuilt "$dir/built" --iterations 20 --only Net --json "$dir/data" --markdown "$dir/page"
is all_equal_is_status_0 $rc 0
like tests_of_the_gpu_alone_run_and_are_counted "$(cat "$dir/said")" '^| 1 | 1 | 0 | 0 | 2 | 2 | 2 |$'
like equal_losses_and_weights_are_said "$(cat "$dir/said")" '^20 iterations. Losses and weights are the same both ways'
like a_layer_has_its_times_and_their_quotient "$(cat "$dir/said")" '^| c | 2 | 3 | 1.500 |  *|  *|  *|$'
like less_of_it_over_softgpu_is_said "$(cat "$dir/said")" 'Over softgpu, with a reduced amount'
is the_page_has_what_was_printed "$(cat "$dir/page")" "$(cat "$dir/said")"
is the_data_has_each_part "$(/usr/bin/python3 -c 'import json, sys; print(*json.load(open(sys.argv[1])))' "$dir/data")" \
	"about lenet alexnet tests"
is the_checkout_is_left_as_it_was "$(find "$from" -type f -exec cksum {} + | sort)" "$before"
is nothing_of_it_is_left "$(ls "$dir/tmp")" ""
is its_servers_have_ended "$(pgrep -f "$dir/tmp")" ""

# Two files of one GPU: that one is the data of softgpu under another name.
sed 's/"backend": "softgpu"/"backend": "driver"/' "$dir/data" >"$dir/gpu"
OUT=$dir "$WH_TOP/bench/caffe/page.py" "$dir/gpu" "$dir/gpu" >"$dir/said" 2>&1
like a_page_adds_up_the_tests_of_files "$(cat "$dir/RESULTS-caffe.md")" '^| 2 | 2 | 0 | 0 | 4 | 4 | 4 |$'
OUT=$dir "$WH_TOP/bench/caffe/page.py" "$dir/data" >"$dir/said" 2>&1
like and_has_figures_of_a_gpu_alone "$? $(cat "$dir/said")" '^1 .*/data is not of a GPU'

bench "CAFFE=$from" --prebuilt "$dir/built" --parts tests --only Blob
like a_test_that_fails_forwarded_is_status_1 "$rc $(grep '^- ' "$dir/said")" '^1 - BlobTest: differs: status 1, natively 0'
caffe 2 1
bench "CAFFE=$from" --prebuilt "$dir/built" --iterations 20 --parts lenet
like another_loss_is_named_and_status_1 "$rc $(grep differs "$dir/said")" '^1 .*"Iteration 0, loss = 2", natively "Iteration 0, loss = 1"'
caffe 1 2
bench "CAFFE=$from" --prebuilt "$dir/built" --iterations 20 --parts lenet
like so_are_other_weights "$rc $(grep differs "$dir/said")" '^1 .*the weights at the end are others'
program caffe 'echo no such device; exit 3'
bench "CAFFE=$from" --prebuilt "$dir/built" --parts "lenet alexnet"
like a_part_that_fails_says_how "$rc $(tr '\n' ' ' <"$dir/said")" '^1 .*lenet did not run.*status 3: no such device'
like the_next_part_runs_all_the_same "$(tr '\n' ' ' <"$dir/said")" 'alexnet did not run.*no such device'

# A build folder without images, and then with such as only the emulator's stand-in boots.
build=$dir/build
mkdir -p "$build/kernel/host" "$build/kernel/server" "$build/bochs" "$build/server/vm/image" "$build/tests/vm" \
	"$build/bochs-3.0"
for f in host softgpu client-stubs; do ln -s "$WH_BUILD/$f" "$build/$f"; done
client_vm() { # OPTION...
	TMPDIR=$dir/tmp "$WH_TOP/bench/caffe.sh" "CAFFE=$from" --build "$build" --backend softgpu --parts vmfunc \
		--prebuilt "$dir/built" "$@" >"$dir/said" 2>"$dir/err"
	rc=$?
}
emulator() { # LOSS WEIGHTS STATUS	what the client VM has; natively the first two are 1
	weights=$(echo "$2" | sha256sum | cut -d' ' -f1)
	cat >"$build/bochs-3.0/bochs" <<END
#!/bin/sh
exec >output
loss="1:1 s.cpp:1] Iteration 0 (0 iter/s, 7s/1 iters), loss ="
printf '@data %s\n' "requests one 90" "calls one 100" "exits one irq:10 " "handoffs one " "said one \$loss $1" \
	"said one 1:1 s.cpp:1]     Test net output #0: accuracy = 0.5" "weights one $weights" \
	"requests all 110" "calls all 130" "exits all irq:15 timer:3 " "handoffs all syscall:4 " "said all \$loss $1" \
	"said all 1:1 s.cpp:1]     Test net output #0: accuracy = 0.5" "weights all $weights"
printf '%s\n' "@exit $3" @done
END
	chmod +x "$build/bochs-3.0/bochs"
}
caffe 1 1
client_vm
like images_that_are_not_there_are_named "$rc $(tr '\n' ' ' <"$dir/said")" '^1 .*vmfunc did not run.*tests/vm/client.cpio.* missing.*make test-images'
# What the emulator's images are made of: the size of a kernel's first part, and its mark.
/usr/bin/python3 -c 'import sys; sys.stdout.buffer.write(bytes(0x1f1) + b"\4" + bytes(16) + b"HdrS" + bytes(4096))' \
	>"$build/kernel/host/bzImage"
cp "$build/kernel/host/bzImage" "$build/kernel/server/"
for f in bochs/host.cpio server/vm/image/server.cpio tests/vm/client.cpio; do : >"$build/$f"; done
emulator 1 1 0
client_vm --json "$dir/vmdata"
is native_losses_and_weights_in_a_client_vm_are_status_0 "$rc $(grep -o "Losses and weights are native's" "$dir/said")" \
	"0 Losses and weights are native's"
like what_its_training_took_is_counted "$(cat "$dir/said")" '^| the training | 110 | 130 | irq 15, timer 3 | syscall 4 |$'
like an_iteration_is_the_difference_of_two_trainings "$(cat "$dir/said")" '^| an iteration of it | 10.0 | 15.0 | irq 2.5, timer 1.5 | syscall 2.0 |$'
image=$(cpio -t --quiet <"$build/bochs/caffe/job/client/initramfs" 2>&1)
is its_image_has_caffe_and_what_it_reads "$(echo "$image" | grep '^root/caffe/.*\(caffe\|so\|\.mdb\|prototxt\)$')" \
	"$(printf 'root/caffe/%s\n' all.prototxt caffe examples/mnist/lenet_train_test.prototxt \
		examples/mnist/mnist_test_lmdb/data.mdb examples/mnist/mnist_train_lmdb/data.mdb libcaffe.so one.prototxt)"
is and_our_libraries_alone_of_cuda "$(echo "$image" | grep '/libcu[A-Za-z]*\.')" \
	"$(printf 'usr/lib/wormhole/lib%s\n' cublas.so.13 cuda.so.1 cudart.so.13 curand.so.10)"
batches() { cpio -i --quiet --to-stdout '*lenet_train_test.prototxt' <"$build/bochs/caffe/job/client/initramfs" | grep -c "batch_size: $1\$"; }
is its_network_has_batches_of_8_and_of_100_64ths_in_a_test "$(batches 8) $(batches 12)" "1 1"
client_vm --vm-batch 64
is network_is_caffes_own_where_its_batch_is_asked_for "$rc $(batches 64) $(batches 100)" "0 1 1"
emulator 2 1 0
client_vm
like another_loss_in_a_client_vm_is_status_1 "$rc $(grep differs "$dir/said")" '^1 .*"Iteration 0, loss = 2", natively "Iteration 0, loss = 1"'
emulator 1 2 0
client_vm
like so_are_other_weights_there "$rc $(grep differs "$dir/said")" '^1 .*the weights at the end are others'
emulator 1 1 3
client_vm
like a_job_that_fails_is_status_1 "$rc $(tr '\n' ' ' <"$dir/said")" '^1 .*vmfunc did not run.*failed with status 1'
emulator 1 1 0
sed -i 's/"weights one [^"]*"//' "$build/bochs-3.0/bochs"
client_vm
like so_is_one_that_lacks_something "$rc $(tr '\n' ' ' <"$dir/said")" '^1 .*vmfunc did not run.*nothing of weights of the training one'
client_vm --backend driver
like without_softgpu_there_is_no_client_vm "$rc $(tail -n 1 "$dir/err")" '^2 .*--parts vmfunc: .*--backend softgpu'
client_vm --vm-iterations 1
like one_iteration_gives_no_difference "$rc $(tail -n 1 "$dir/err")" '^2 .*--vm-iterations 1: give a number of at least 2'
OUT=$dir "$WH_TOP/bench/caffe/page.py" "$dir/gpu" "$dir/vmdata" "$dir/vmdata" >"$dir/said" 2>&1
is a_page_has_client_vms_after_the_gpu "$(grep -o '^| the training\|^## .*\|^| [0-9]* | 1 ' "$dir/RESULTS-caffe.md")" \
	"$(printf '%s\n' '| 1 | 1 ' '## In a client VM over vmfunc' '| the training' '| the training')"

bench "CAFFE=$from" --prebuilt "$dir/empty"
like a_program_that_is_not_built_is_named "$rc $(tail -n 1 "$dir/err")" '^1 .*/empty has no program caffe'
bench "CAFFE=$dir/empty"
like a_folder_without_caffe_says_what_to_name "$rc $(tail -n 1 "$dir/err")" '^1 .*test_data is not there; name a checkout of BVLC/caffe'
bench "CAFE=$from"
like an_argument_that_is_none_is_named "$rc $(tail -n 1 "$dir/err")" '^2 .*"CAFE=.* is no CAFFE=FOLDER'
bench "CAFFE=$from" --iterations 0
like a_bad_number_is_named "$rc $(tail -n 1 "$dir/err")" '^2 .*--iterations 0: '
# A compiler that finds no header stands for a machine without the packages.
touch "$from/caffe.cpp" && mkdir "$from/tools" "$dir/bin" && mv "$from/caffe.cpp" "$from/tools/"
printf '#!/bin/sh\ncase $1 in -E) sed -n "s/^missing/missing/p" ;; *) echo nothing ;; esac\n' >"$dir/bin/g++"
chmod +x "$dir/bin/g++"
PATH=$dir/bin:$PATH bench "CAFFE=$from"
like missing_packages_are_named "$rc $(tail -n 1 "$dir/err")" '^1 .*apt-get install .*libboost-thread-dev .*liblmdb-dev .*libprotobuf-dev'
finish
