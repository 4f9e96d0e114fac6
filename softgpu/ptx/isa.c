/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the set of handlers for modules that are loaded. It is found once, from what the
 * CPU and the operating system offer. A module keeps the set that it was loaded with.
 */
#include "insn.h"

static int forced = -1;

static bool has_v3(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
	       __builtin_cpu_supports("popcnt") &&
	       __builtin_cpu_supports("lzcnt") &&
	       __builtin_cpu_supports("movbe") &&
	       __builtin_cpu_supports("f16c");
}

int ptx_isa(void)
{
	return forced >= 0 ? forced : has_v3();
}

bool ptx_force_isa(int isa)
{
	if (isa > 0 && !has_v3())
		return false;
	forced = isa;
	return true;
}
