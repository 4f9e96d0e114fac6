// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises limits as text: what is understood, what is refused and how the error
 * names it.
 */
#include "tenant/spec.h"

#include <string.h>

#include "tap.h"

static uint64_t bytes(const char *text)
{
	uint64_t v;

	return wh_limit_bytes(text, &v) ? UINT64_MAX : v;
}

static uint32_t percent(const char *text)
{
	uint32_t v;

	return wh_limit_percent(text, &v) ? 0 : v;
}

static const struct wh_limit_spec *parse(struct wh_limit_list *l, const char *text)
{
	char err[300];

	return wh_limit_parse(l, text, err, sizeof(err)) ? NULL : &l->spec[l->n - 1];
}

static int refused(const char *text, const char *named)
{
	struct wh_limit_list l = { .n = 0 };
	char err[300] = "";

	return wh_limit_parse(&l, text, err, sizeof(err)) && strstr(err, named);
}

static void sizes(void)
{
	ok(bytes("4096B") == 4096 && bytes("4096b") == 4096, "bytes_are_bytes");
	ok(bytes("4096") == UINT64_MAX && bytes("1.5") == UINT64_MAX &&
	   strstr(wh_limit_bytes_why("4096"), "4096M is MiB") && strstr(wh_limit_bytes_why("4096"), "4096B bytes"),
	   "number_without_a_unit_is_refused_with_both_readings");
	ok(bytes("1.5G") == 3ULL << 29 && bytes("0.25k") == 256 && bytes("1GiB") == 1ULL << 30 &&
	   bytes("2.5MIB") == 5ULL << 19, "sizes_have_points_and_long_units");
	ok(bytes("1.G") == UINT64_MAX && bytes(".5G") == UINT64_MAX && bytes("1.5B") == UINT64_MAX &&
	   bytes("0.0000001k") == UINT64_MAX && bytes("1.0000000001G") == UINT64_MAX,
	   "bad_fractions_are_refused");
	ok(bytes("2G") == 2ULL << 30 && bytes("1024m") == 1ULL << 30 && bytes("8k") == 8192 &&
	   bytes("1T") == 1ULL << 40, "units_of_either_case");
	ok(!bytes("none") && !bytes("0"), "none_is_no_limit");
	ok(bytes("") == UINT64_MAX && bytes("G") == UINT64_MAX && bytes("1GB") == UINT64_MAX &&
	   bytes("-1") == UINT64_MAX && bytes(" 1") == UINT64_MAX && bytes("1x") == UINT64_MAX,
	   "nothing_else_is_a_size");
	ok(bytes("99999999999999999999") == UINT64_MAX && bytes("9007199254740992T") == UINT64_MAX,
	   "too_big_a_size_is_refused");
	ok(percent("1") == 1 && percent("30%") == 30 && percent("none") == 100, "percentages");
	ok(!percent("0") && !percent("101") && !percent("") && !percent("3.5") && !percent("30%%"),
	   "nothing_else_is_a_percentage");
}

static void specs(void)
{
	struct wh_limit_list l = { .n = 0 };
	const struct wh_limit_spec *s = parse(&l, "3:mem=2G,sm=30,policy=both");

	ok(s && s->device == 3 && s->memory == 2ULL << 30 && s->sm_percent == 30 &&
	   s->sm_policy == (WH_SM_TEMPORAL | WH_SM_SPATIAL), "device_with_everything");
	s = parse(&l, "4:mem=50%");
	ok(s && s->has_memory && s->memory_percent == 50 && !s->memory && refused("mem=0%", "1% to 100%") &&
	   refused("mem=101%", "1% to 100%") && refused("mem=5.5%", "1% to 100%"),
	   "memory_may_be_a_percentage");
	l = (struct wh_limit_list){ .n = 0 };
	parse(&l, "3:mem=2G,sm=30,policy=both");
	s = parse(&l, "mem=1G");
	ok(s && s->device == WH_ALL_DEVICES && s->has_memory && !s->has_sm && !s->has_policy,
	   "without_a_device_it_is_all");
	ok(parse(&l, "3:sm=50") && l.n == 2 && l.spec[0].sm_percent == 50 &&
	   l.spec[0].memory == 2ULL << 30, "later_words_amend_earlier_ones");
	l = (struct wh_limit_list){ .n = 0 };
	s = parse(&l, "0:sm=30,sm-max=none,priority=high");
	ok(s && s->has_max && s->sm_max == WH_SM_NO_CEILING && s->has_class &&
	   s->sm_class == WH_CLASS_HIGH, "a_ceiling_and_a_class");
	s = parse(&l, "0:sm-max=hard");
	ok(s && s->has_max && !s->sm_max && s->sm_percent == 30, "a_ceiling_that_is_the_share");
	ok(refused("sm-max=0", "'0'") && refused("sm-max=101", "'101'") &&
	   refused("priority=urgent", "'urgent'"), "no_other_ceiling_or_class");
	l = (struct wh_limit_list){ .n = 0 };
	parse(&l, "3:sm=50,mem=2G");
	ok(refused("16:mem=1G", "'16:mem=1G'") && refused("x:mem=1G", "'x:mem=1G'") &&
	   refused("0:", "'0:'") && refused("", "''"), "bad_device_is_named");
	ok(refused("0:mem=1X", "'1X'") && refused("sm=0", "'0'") && refused("policy=fair", "'fair'") &&
	   refused("0:mem", "''") && refused("size=1", "'size'"), "bad_word_is_named");
}

int main(void)
{
	tap_plan(19);
	sizes();
	specs();
	return tap_exit();
}
