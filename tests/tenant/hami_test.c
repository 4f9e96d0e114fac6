// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises how HAMi's variables are read, and that a container's wishes make a share's
 * limits less, and never more.
 */
#include "tenant/hami.h"

#include <string.h>

#include "tap.h"

static struct wh_limit_list list;
static char err[300];

/* Reads up to three variables; returns the entry of a device, or NULL if there is none. */
static const struct wh_limit_spec *of(int device, const char *a, const char *b, const char *c)
{
	char *env[] = { (char *)a, (char *)b, (char *)c, NULL };
	int i;

	list = (struct wh_limit_list){ .n = 0 };
	err[0] = 0;
	if (wh_hami_limits(&list, env, err, sizeof(err)))
		return NULL;
	for (i = 0; i < list.n; i++)
		if (list.spec[i].device == device)
			return &list.spec[i];
	return NULL;
}

static uint64_t memory(const char *text)
{
	const struct wh_limit_spec *s = of(WH_ALL_DEVICES, text, NULL, NULL);

	return s && s->has_memory ? s->memory : 0;
}

static uint32_t share(const char *text)
{
	const struct wh_limit_spec *s = of(WH_ALL_DEVICES, text, NULL, NULL);

	return s && s->has_sm ? s->sm_percent : 0;
}

static int refused(const char *text, const char *named)
{
	of(WH_ALL_DEVICES, text, NULL, NULL);
	return strstr(err, named) != NULL;
}

static void reading(void)
{
	const struct wh_limit_spec *s;

	ok(memory("CUDA_DEVICE_MEMORY_LIMIT=1g") == 1u << 30 &&
	   memory("CUDA_DEVICE_MEMORY_LIMIT=1048576K") == 1u << 30 &&
	   memory("CUDA_DEVICE_MEMORY_LIMIT=4096") == 4096, "sizes_have_units_of_either_case");
	ok(memory("CUDA_DEVICE_MEMORY_LIMIT=0x10m") == 16u << 20 &&
	   memory("CUDA_DEVICE_MEMORY_LIMIT=010m") == 8u << 20, "numbers_are_those_of_c");
	ok(share("CUDA_DEVICE_SM_LIMIT=30") == 30 && share("CUDA_DEVICE_SM_LIMIT=0x1e") == 30, "so_are_shares");
	ok(share("CUDA_DEVICE_SM_LIMIT=100") == 100 && share("CUDA_DEVICE_SM_LIMIT=250") == 100,
	   "a_share_from_a_hundred_on_is_no_limit");
	s = of(0, "CUDA_DEVICE_SM_LIMIT=30", "CUDA_DEVICE_SM_LIMIT_0=0", "CUDA_DEVICE_MEMORY_LIMIT_0=0");
	ok(!err[0] && !s && list.n == 1, "zero_of_a_device_leaves_what_is_said_for_all");
	s = of(3, "CUDA_DEVICE_MEMORY_LIMIT=1g", "CUDA_DEVICE_MEMORY_LIMIT_3=2g", NULL);
	ok(s && s->memory == 2ull << 30, "a_device_has_its_own");
	s = of(WH_ALL_DEVICES, "CUDA_DEVICE_SM_LIMIT=30", "GPU_CORE_UTILIZATION_POLICY=DISABLE",
	       "CUDA_DEVICE_MEMORY_LIMIT=1g");
	ok(s && s->has_memory && !s->has_sm, "a_disabled_policy_takes_the_shares_away");
	s = of(WH_ALL_DEVICES, "CUDA_DEVICE_SM_LIMIT=30", "GPU_CORE_UTILIZATION_POLICY=force", NULL);
	ok(s && s->has_sm, "another_does_not");
	ok(s && s->has_max && !s->sm_max, "a_policy_that_forces_makes_the_share_a_ceiling");
	s = of(WH_ALL_DEVICES, "CUDA_DEVICE_SM_LIMIT=30", "GPU_CORE_UTILIZATION_POLICY=default",
	       "CUDA_TASK_PRIORITY=0");
	ok(s && !s->has_max && s->has_class && s->sm_class == WH_CLASS_HIGH,
	   "the_default_says_nothing_of_it_and_task_priority_0_is_the_high_class");
	s = of(0, "CUDA_DEVICE_SM_LIMIT_0=30", "CUDA_TASK_PRIORITY=1", "CUDA_DEVICE_MEMORY_LIMIT=1g");
	ok(s && s->has_class && s->sm_class == WH_CLASS_LOW &&
	   !wh_limit_of(&list, WH_ALL_DEVICES)->has_class, "1_is_the_low_class_of_whatever_has_a_share");
}

static void refusals(void)
{
	ok(refused("CUDA_DEVICE_MEMORY_LIMIT=lots", "'lots'") && refused("CUDA_DEVICE_MEMORY_LIMIT=-1", "'-1'") &&
	   refused("CUDA_DEVICE_MEMORY_LIMIT=1.5g", "'1.5g'") &&
	   refused("CUDA_DEVICE_MEMORY_LIMIT=99999999999999999999g", "'9999"), "what_is_no_size_is_named");
	ok(refused("CUDA_DEVICE_SM_LIMIT=half", "'half'") && refused("CUDA_DEVICE_SM_LIMIT=-5", "'-5'") &&
	   refused("CUDA_DEVICE_SM_LIMIT=0x", "'0x'"), "so_is_what_is_no_share");
	ok(refused("GPU_CORE_UTILIZATION_POLICY=fair", "'fair'"), "so_is_a_policy_that_nobody_knows");
	ok(refused("CUDA_TASK_PRIORITY=2", "'2'"), "and_a_priority");
	ok(refused("CUDA_DEVICE_MEMORY_LIMIT_16=1g", "_0 to _15") &&
	   refused("CUDA_DEVICE_SM_LIMITS=1", "CUDA_DEVICE_SM_LIMITS"),
	   "so_is_a_variable_that_only_begins_like_one");
	ok(refused("CUDA_DEVICE_SM_LIMIT=\033[2J\n", "'?[2J?'"), "no_message_has_control_characters");
}

static void without_meaning(void)
{
	char *env[] = {
		"CUDA_DISABLE_CONTROL=true", "A=b", "CUDA_TASK_PRIORITY=1", "ACTIVE_OOM_KILLER=",
		NULL,
	};
	char names[200];

	ok(wh_hami_idle(env, names, sizeof(names)) == 2 &&
	   !strcmp(names, "CUDA_TASK_PRIORITY, CUDA_DISABLE_CONTROL"), "those_without_a_meaning_are_listed");
	ok(!wh_hami_idle(env + 3, names, sizeof(names)) && !names[0], "an_empty_one_says_nothing");
}

/* What a container gets of a share, both in the form of `wormhole serve --limit'. */
static struct wh_limit_spec narrowed(const char *of_share, const char *asked, int device)
{
	struct wh_limit_list a = { .n = 0 }, b = { .n = 0 };
	struct wh_limit_spec none = { .device = -2 };
	int i;

	wh_limit_parse(&a, of_share, err, sizeof(err));
	if (asked)
		wh_limit_parse(&b, asked, err, sizeof(err));
	wh_limit_narrow(&a, &b);
	for (i = 0; i < a.n; i++)
		if (a.spec[i].device == device)
			return a.spec[i];
	return none;
}

static void narrowing(void)
{
	struct wh_limit_spec s = narrowed("mem=2G,sm=50,policy=both", "mem=1G,sm=20", WH_ALL_DEVICES);

	ok(s.memory == 1u << 30 && s.sm_percent == 20 &&
	   s.sm_policy == (WH_SM_TEMPORAL | WH_SM_SPATIAL),
	   "less_is_given_by_the_shares_policy");
	s = narrowed("mem=2G,sm=50", "mem=4G,sm=90", WH_ALL_DEVICES);
	ok(s.memory == 2ull << 30 && s.sm_percent == 50, "more_is_not");
	s = narrowed("mem=2G,sm=50", "0:mem=none,sm=none", 0);
	ok(s.memory == 2ull << 30 && s.sm_percent == 50, "nor_is_no_limit_of_one_device");
	s = narrowed("0:mem=1G", "mem=4G", 0);
	ok(s.memory == 1u << 30, "nor_more_than_one_device_of_the_share_has");
	s = narrowed("0:mem=none", "mem=4G", 0);
	ok(s.has_memory && s.memory == 4ull << 30, "a_device_without_a_limit_gets_one");
	s = narrowed("sm=50,sm-max=none,priority=high", "sm=20,sm-max=hard,priority=low", WH_ALL_DEVICES);
	ok(s.sm_percent == 20 && s.has_max && !s.sm_max && s.sm_class == WH_CLASS_LOW,
	   "a_lower_ceiling_and_class_are_given");
	s = narrowed("sm=50,sm-max=60", "sm=20,sm-max=none,priority=high", WH_ALL_DEVICES);
	ok(s.sm_max == 60 && !s.has_class, "higher_ones_are_not");
	s = narrowed("mem=2G", NULL, WH_ALL_DEVICES);
	ok(s.memory == 2ull << 30 && !s.has_sm, "who_asks_for_nothing_gets_the_share");
}

int main(void)
{
	tap_plan(27);
	reading();
	refusals();
	without_meaning();
	narrowing();
	return tap_exit();
}
