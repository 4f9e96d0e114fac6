# SPDX-License-Identifier: Apache-2.0
"""Measures VMFUNC, null calls, exits and handoffs with the series' own selftest: cycles on a host with VMX."""
from report import Environment, Missing, has_vmx, number, say, script, table, wrap

TITLE = "What the host's mechanism costs"
WORDS = {"two_rdtsc": "two RDTSC, nothing between", "hypercall": "CPUID hypercall from CPL 3: one exit",
         "vmfunc_there_and_back": "VMFUNC into the view and back, nothing else", "null_call": "null call",
         "system_call_by_the_gate": "call with a system call, answered behind the gate",
         "system_call_by_handoff": "call with a system call, by handoff",
         "null_call_with_exits": "null call, exits forced (`--barrier=strict`)",
         "page_of_a_first_take": "a page of a worker's first TAKE, of 256 MiB",
         "attach_and_first_call": "attach, with what the first call takes more"}
# What is divided already has nothing of the clock's reading in it.
DIVIDED = "page_of_a_first_take"


def cost_lines():
    """Return the output of bench/cost.sh, the words of each line."""
    say("the series' selftest of costs")
    lines = [line.split() for line in script("cost.sh").splitlines()]
    if not any(w[0] == "cost" for w in lines):
        raise Missing("bench/cost.sh says no figure")
    return lines


def cost_table(lines):
    units = {w[2] for w in lines if w[0] == "cost"}
    base = next(int(w[5]) for w in lines if w[:2] == ["cost", "two_rdtsc"])
    rows = [[WORDS.get(w[1], w[1]), number(int(w[3])), *(number(int(x)) for x in w[4:7]),
             "" if w[1] in ("two_rdtsc", DIVIDED) else number(int(w[5]) - base)] for w in lines if w[0] == "cost"]
    return units, table(["what", "runs", "min", "median", "max", "net"], rows)


def section():
    env = Environment(timed=has_vmx())
    lines = cost_lines()
    units, text = cost_table(lines)
    clock = next((" ".join(w) for w in lines if w[0] == "TSC"), "TSC of an unknown rate")
    tail = ("**These are no cycles.** This processor is an emulator's. Its TSC counts instructions, an exit and a NOP "
            "alike, and says nothing of cycles." if "instructions" in units else
            "These are cycles of the TSC, which need not be the core's.")
    return "\n\n".join([
        env.text(clock if has_vmx() else f"emulated VMX host, {clock}"),
        wrap("Measured: " + " and ".join(sorted(units)) + " by the client's own TSC, in two small VMs without an "
             "operating system. The part of kernels and of KVM is included. The program is "
             "`kvm-patches/selftests/x86_64/wormhole_cost_test.c`, which runs in the kernel's tree as well. *Net* is "
             "without what two RDTSC take, the baseline. The test fails if a way took other exits or handoffs than it "
             f"should. {tail}"),
        text])
