# SPDX-License-Identifier: Apache-2.0
# Functions for the virtual machines of a job in the VMX host (`. /vm.sh` after /job.sh). A VM
# called NAME leaves its serial console in /tmp/NAME.console. /tmp/NAME.in is its serial input,
# and /tmp/NAME.pid has the process number of its QEMU. The job brings server/ and client/ with
# bzImage, initramfs and cmdline.

WINDOW=/dev/shm/window0
WINDOWS=$WINDOW		# of the VM that starts next
WINDOW_SIZE=${WINDOW_SIZE:-16M}
MACHINE=${MACHINE:-q35}
# The emulated machine's TSC counts instructions, whatever CPUID says: guests are told its rate, as
# the host was. A real host names none.
CLOCK=$(grep -o 'tsc_early_khz=[0-9]*' /proc/cmdline)

# now prints the time since the host's boot in hundredths of a second.
now() { read -r now_s _ </proc/uptime; echo "${now_s%.*}${now_s#*.}"; }

# within SECONDS COMMAND... repeats the command until it succeeds; $took is then the time that
# this took, in ms.
within() {
	within_start=$(now)
	within_end=$((within_start + $1 * 100))
	shift
	until "$@"; do
		took=$((($(now) - within_start) * 10))
		[ "$(now)" -lt $within_end ] || return 1
		usleep 20000
	done
	took=$((($(now) - within_start) * 10))
}

# load_kvm [ARGUMENT...] loads KVM's modules, with arguments of kvm_intel, if the job brings them for
# a kernel that has no KVM built in, and they are not loaded yet.
load_kvm() {
	[ -d /job/modules ] && [ ! -d /sys/module/kvm_intel ] || return 0
	for vm_m in irqbypass kvm; do
		[ -d /sys/module/$vm_m ] || insmod "/job/modules/$vm_m.ko" || return 1
	done
	insmod /job/modules/kvm-intel.ko "$@"
}

# vm_start ROLE NAME ID CPUS MIB [KERNEL-ARGUMENTS [QEMU-ARGUMENTS]] starts a VM.
vm_start() {
	rm -f "/tmp/$2.in"
	mkfifo "/tmp/$2.in"
	: >"/tmp/$2.console"
	vm_windows=
	for vm_w in $WINDOWS; do vm_windows="$vm_windows --window $vm_w,$WINDOW_SIZE"; done
	# The shell opens the pipe for reading and writing, so that neither side waits for the
	# other.
	wormhole "$1" start "$2" --id "$3" --image "/job/$1" --cpus "$4" \
		--memory "$5" --machine "$MACHINE" $vm_windows \
		--append "$CLOCK ${6:-}" ${7:+-- $7} <>"/tmp/$2.in" >"/tmp/$2.console" 2>"/tmp/$2.err" &
	echo $! >"/tmp/$2.pid"
}

# vm_say NAME TEXT writes a line of serial input.
vm_say() { echo "$2" >"/tmp/$1.in"; }

vm_alive() { kill -0 "$(cat "/tmp/$1.pid")" 2>/dev/null; }

# vm_wait NAME SECONDS PATTERN waits until the console says it. It fails at once when the VM has
# ended without saying it.
vm_wait() {
	vm_left=$(($2 * 5))
	until grep -q -e "$3" "/tmp/$1.console"; do
		vm_left=$((vm_left - 1))
		if [ $vm_left -le 0 ] || ! vm_alive "$1"; then
			grep -q -e "$3" "/tmp/$1.console" && return 0
			vm_show "$1"
			return 1
		fi
		usleep 200000
	done
}

vm_kill() { kill -9 "$(cat "/tmp/$1.pid")" 2>/dev/null; }

# vm_gone NAME SECONDS waits until the VM's QEMU has ended.
vm_gone() {
	vm_left=$(($2 * 5))
	while vm_alive "$1"; do
		vm_left=$((vm_left - 1))
		[ $vm_left -gt 0 ] || return 1
		usleep 200000
	done
}

# vm_show NAME prints console and errors, as diagnostics.
vm_show() {
	diag "$1 console and messages:"
	dump "$1" "/tmp/$1.console" 60
	dump "$1" "/tmp/$1.err" 20
}

# vm_cpu_ns NAME prints the CPU time that the vCPUs of a VM used, in nanoseconds. With more
# arguments (vm_cpu_ns NAME FILE OFFSET SECONDS TEXT...) it first waits until a file holds a text;
# vmcpu.c explains them.
vm_cpu_ns() {
	vm_pid=$(cat "/tmp/$1.pid")
	shift
	vmcpu "$vm_pid" "$@"
}

# vm_stat_is ID FIELD VALUE: does `wormhole stat` say so?
vm_stat_is() { wormhole stat --json "$1" | grep -q "\"$2\":[[:space:]]*$3,"; }

# vm_detached ID SECONDS waits until no process of a client VM is attached. KVM notices within
# about a second that a process was killed.
vm_detached() {
	vm_left=$(($2 * 5))
	until vm_stat_is "$1" pairs 0; do
		vm_left=$((vm_left - 1))
		[ $vm_left -gt 0 ] || return 1
		usleep 200000
	done
}

# The number of a worker's slots, each with a thread that waits for calls, as --slots of
# wormhole-worker.
VM_SLOTS=4

# vm_frozen NAME ID N SECONDS waits until N workers of a server VM wait for calls and the VM uses
# no CPU.
vm_frozen() {
	vm_left=$(($4 * 3))
	vm_then=0
	vm_now=$(vm_cpu_ns "$1")
	while [ $((vm_now - vm_then)) -gt 3000000 ] ||
	      ! vm_stat_is "$2" parked $(($3 * VM_SLOTS)); do
		vm_left=$((vm_left - 1))
		[ $vm_left -gt 0 ] && vm_alive "$1" || return 1
		usleep 300000
		vm_then=$vm_now
		vm_now=$(vm_cpu_ns "$1")
	done
}

# vm_at_rest NAME ID N CLIENT-ID waits until no process of the client VM is attached, and the
# server VM's N workers, including those that follow ended ones, wait for calls.
vm_at_rest() { vm_detached "$4" 30 && vm_frozen "$1" "$2" "$3" 60; }

# vm_calls PARTS prints the number of delegated calls, counted in the slots of each part. The part
# starts with struct wh_ctl; its slot pages follow, and slot.calls is at byte 40
# (hypercall-abi/layout.ref). Call it only at rest, because a worker that starts clears its part
# and restores the first slot's count a moment later.
vm_calls() {
	vm_size=$(stat -c %s "$WINDOW")
	vm_sum=0
	vm_part=0
	while [ $vm_part -lt "$1" ]; do
		vm_slot=1
		while [ $vm_slot -le $VM_SLOTS ]; do
			vm_at=$((vm_part * (vm_size / $1) + vm_slot * 4096 + 40))
			vm_n=$(od -An -t u8 -j $vm_at -N 8 "$WINDOW")
			vm_sum=$((vm_sum + vm_n))
			vm_slot=$((vm_slot + 1))
		done
		vm_part=$((vm_part + 1))
	done
	echo $vm_sum
}

vm_stat() { wormhole stat --json "$@" | tr -d '\n\t'; }

# vm_kernel_is_content NAME asks the VM what its kernel complained about (tests/vm/kernel-report),
# and vm_complaints NAME prints it. The VM's console must take commands.
vm_complaints() { tr -d '\r' <"/tmp/$1.console" | grep '^@kernel' | sed "s/^/# $1: /"; }
vm_kernel_is_content() {
	vm_say "$1" 'kernel-report; echo "@reported"'
	vm_wait "$1" 60 '^@reported'
	vm_complaints "$1"
	[ -z "$(vm_complaints "$1")" ]
}

# vm_section NAME PROGRAM prints what a program under the client image's prog() has printed so
# far.
vm_section() { tr -d '\r' <"/tmp/$1.console" | sed -n "/^@begin $2\$/,/^@end $2 /{/^@/!p}"; }

# vm_status NAME PROGRAM prints the program's exit status, once it has ended.
vm_status() { sed -n "s/^@end $2 \([0-9]*\).*/\1/p" "/tmp/$1.console"; }

# vm_reasons ID TABLE prints `exits` or `handoffs`, as "reason:count,...".
vm_reasons() { vm_stat "$1" | sed -n "s/.*\"$2\":{\([^}]*\)}.*/\1/p" | tr -d '"'; }

# vm_added BEFORE AFTER prints the reasons whose count grew, as "reason:count ...".
vm_added() {
	{ echo "$1"; echo "$2"; } | awk -F, '
		{ for (i = 1; i <= NF; i++) { split($i, p, ":"); n[NR, p[1]] = p[2]; if (NR == 2) k[i] = p[1] } }
		END { for (i in k) if (n[2, k[i]] != n[1, k[i]]) printf "%s:%d ", k[i], n[2, k[i]] - n[1, k[i]] }'
}
