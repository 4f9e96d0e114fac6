#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what `wormhole-kvm` does, and the script that lays out KVM's source for its
# modules. A folder stands in for the machine's /proc and /sys, programs for modprobe and modinfo,
# and a few files for a kernel.
top=${WH_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$top/tests/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
root=$tmp/root
log=$tmp/log

# machine CPU-FLAG MODULE... makes a machine with a CPU flag and loaded modules; nobody uses KVM
# on it.
machine() {
	rm -rf "$root" "$tmp/busy"
	mkdir -p "$root/proc/1/fd" "$root/proc/77/fd" "$root/sys/module" "$tmp/bin"
	echo "flags		: fpu $1 sse2" >"$root/proc/cpuinfo"
	echo systemd >"$root/proc/1/comm"
	echo qemu >"$root/proc/77/comm"
	ln -s /dev/null "$root/proc/1/fd/0"
	ln -s /dev/null "$root/proc/77/fd/0"
	shift
	for m; do mkdir -p "$root/sys/module/$m/parameters"; done
}
ours() { touch "$root/sys/module/kvm_intel/parameters/wormhole_max_tables"; }

cat >"$tmp/modprobe" <<S
#!/bin/sh
echo "\$*" >>$log
case \$1 in
-r)	[ ! -e $tmp/busy ] || exit 1
	rm -r $root/sys/module/\$2 ;;
*)	mkdir -p $root/sys/module/\$1/parameters $root/sys/module/kvm
	touch $root/sys/module/\$1/parameters/wormhole_max_tables ;;
esac
S
cat >"$tmp/modinfo" <<S
#!/bin/sh
case \$2 in
filename) echo /lib/modules/6/updates/dkms/kvm-intel.ko ;;
parm) echo "wormhole_max_tables:Most page-table pages of a Wormhole view (uint)" ;;
esac
S
machine vmx
mv "$tmp/modprobe" "$tmp/modinfo" "$tmp/bin"
chmod 755 "$tmp/bin/modprobe" "$tmp/bin/modinfo"

command() {
	: >"$log"
	out=$(WORMHOLE_TEST_ROOT=$root PATH=$tmp/bin:$PATH "$top/packaging/wormhole-kvm" "$@" 2>&1)
	rc=$?
	did=$(tr '\n' ';' <"$log")
}

plan 22
machine vmx kvm kvm_intel
command status
like status_says_what_would_be_loaded "$out" "^installed  Wormhole's, .*/updates/dkms/kvm-intel.ko$"
like and_what_is_loaded "$out" "^loaded     another, without the series$"
command reload
is modules_that_nobody_uses_are_changed "$rc $did" "0 -r kvm_intel;-r kvm;kvm_intel;"
command status
like the_series_is_found_in_the_loaded_module "$out" "^loaded     Wormhole's$"

machine vmx kvm kvm_intel
ln -s anon_inode:kvm-vm "$root/proc/77/fd/9"
command reload
is while_a_vm_runs_nothing_is_changed "$rc $did" "1 "
like the_vm_is_named "$out" "^  process 77 qemu$"
like and_what_to_do_then "$out" "then: wormhole-kvm reload, or boot$"
command status
like status_names_it_too "$out" "^in use by  77 qemu$"
rm "$root/proc/77/fd/9"
ln -s /dev/kvm-wormhole "$root/proc/77/fd/9"
command reload
is nor_while_somebody_decides_who_calls_whom "$rc $did" "1 "
rm "$root/proc/77/fd/9"
ours
touch "$tmp/busy"
command reload
is modules_that_are_taken_meanwhile_are_loaded_again "$rc $did" "1 -r kvm_intel;kvm_intel;"

machine svm kvm kvm_amd
command reload
is other_vendors_module_is_changed_with_kvm "$rc $did" "0 -r kvm_amd;-r kvm;kvm_amd;"
machine none
command reload
is without_virtualisation_nothing_is_loaded "$rc $did" "0 "
command
is without_a_word_it_says_which "$rc $out" "2 $(sed -n '5,6s/^#   //p' "$top/packaging/wormhole-kvm")"

# --- The source of the modules -----------------------------------------------------------
kernel=$tmp/kernel
kdir=$tmp/headers
# The series makes this header.
abi=arch/x86/include/uapi/asm/wormhole_abi.h
mkdir -p "$kernel/arch/x86/kvm/vmx" "$kernel/arch/x86/kvm/svm" "$kernel/virt/kvm" "$kernel/arch/x86/include/asm" \
	"$kernel/include/uapi/linux" "$kdir/include/config"
printf 'VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\n' >"$kernel/Makefile"
touch "$kernel/arch/x86/include/asm/kvm_host.h" "$kernel/arch/x86/include/asm/kvm-x86-ops.h" \
	"$kernel/include/uapi/linux/kvm.h" "$kernel/virt/kvm/kvm_main.c"
echo 'include $(srctree)/virt/kvm/Makefile.kvm' >"$kernel/arch/x86/kvm/Makefile"
echo '#define TRACE_INCLUDE_PATH ../../arch/x86/kvm' >"$kernel/arch/x86/kvm/trace.h"
printf 'old\n' >"$kernel/arch/x86/kvm/x86.c"
cat >"$tmp/p.patch" <<P
diff --git a/MAINTAINERS b/MAINTAINERS
--- a/MAINTAINERS
+++ b/MAINTAINERS
@@ -1 +1 @@
-nobody
+somebody
diff --git a/arch/x86/kvm/x86.c b/arch/x86/kvm/x86.c
--- a/arch/x86/kvm/x86.c
+++ b/arch/x86/kvm/x86.c
@@ -1 +1 @@
-old
+new
diff --git a/$abi b/$abi
new file mode 100644
--- /dev/null
+++ b/$abi
@@ -0,0 +1 @@
+#define WH_ABI_VERSION		42
P
echo p.patch >"$tmp/series"
lay_out() { # RELEASE
	echo "$1" >"$kdir/include/config/kernel.release"
	out=$(WORMHOLE_SERIES=$tmp/series KERNEL_SOURCE=$kernel \
		"$top/kvm-patches/module/lay-out.sh" "$kdir" "$tmp/tree" 2>&1)
	rc=$?
}
lay_out 6.12.117+deb12-amd64
is source_of_the_headers_version_is_laid_out "$rc" 0
is with_what_the_series_changes_of_code "$(head -n 1 "$tmp/tree/arch/x86/kvm/x86.c")" new
is and_without_the_rest "$(ls "$tmp/tree")" "$(printf 'arch\ninclude\nvirt')"
like makefile_leads_to_what_is_there "$(cat "$tmp/tree/arch/x86/kvm/Makefile.series")" 'KVM_TREE)/virt/kvm/Makefile.kvm'
is modules_say_their_abi "$(tail -n 1 "$tmp/tree/arch/x86/kvm/vmx/vmx.c")" 'MODULE_VERSION("wormhole-42");'
lay_out 6.12.118+deb12-amd64
is source_of_another_version_is_refused "$rc" 1
like with_both_versions "$out" 'of 6.12.117 and the headers of 6.12.118+deb12-amd64'
echo other >"$kernel/arch/x86/kvm/x86.c"
lay_out 6.12.117+deb12-amd64
like patch_that_does_not_apply_is_named "$rc $out" '^error: p.patch does not apply to 6.12.117'
rm "$kdir/include/config/kernel.release"
out=$("$top/kvm-patches/module/lay-out.sh" "$kdir" "$tmp/tree" 2>&1)
is folder_without_headers_is_refused "$? $out" "1 error: $kdir holds no kernel's headers"
finish
