# SPDX-License-Identifier: Apache-2.0
# Other scripts source this with WH_TOP and WH_BUILD set: it runs a selftest of KVM in the
# emulated host, on one processor.

# selftest NAME OUT: runs wormhole_NAME_test, and writes its lines to OUT/tap.
selftest() {
	rm -rf "$2/job"
	mkdir -p "$2/job"
	cp "$WH_BUILD/selftests/wormhole_$1_test" "$2/job/"
	cat >"$2/job/run" <<-RUN
		. /job.sh
		modprobe kvm_intel 2>/dev/null
		tap $1 /job/wormhole_$1_test
	RUN
	"$WH_TOP/tests/bochs/run_job.py" --timeout 300 --out "$2" --cpus 1 \
		--kernel "$WH_BUILD/kernel/host/bzImage" --initrd "$WH_BUILD/bochs/host.cpio" \
		"$2/job" >"$2/tap"
}
