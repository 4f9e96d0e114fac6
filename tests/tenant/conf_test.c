// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises files of tenants: what is understood, that what is written is read as the same
 * again, how an error names file, line and value, and what a later limit does to an earlier one.
 */
#include "tenant/conf.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

static struct wh_conf_file file;
static char err[WH_CONF_ERROR];

static bool parse(const char *text)
{
	wh_conf_free(&file);
	*err = 0;
	return wh_conf_parse(&file, "f", text, strlen(text), err, sizeof(err));
}

static bool refused(const char *text, const char *why)
{
	bool good = parse(text);

	if (good || strncmp(err, why, strlen(why)))
		diag("got: %s", good ? "no error" : err);
	return !good && !strncmp(err, why, strlen(why)) && !file.n && !file.tenant;
}

static char *printed(const struct wh_conf *c)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	wh_conf_print(f, c);
	fclose(f);
	return text;
}

static const char all[] = "[team]\nuser = alice\ndevices = 0,GPU-1-2\nmem = 16G\nsm = 30\nsm-policy = both\n"
			  "host-mem = 1500M\nmax-kernel = 500ms\nnccl = yes\ncounters = yes\ndevice = 1:mem=8G,sm=none,policy=spatial\n";
static const char none[] = "[x]\nmem = none\nsm = none\nhost-mem = none\nmax-kernel = none\nnccl = no\n"
			   "counters = no\n";

static bool same(const char *text)
{
	char *again = parse(text) && file.n == 1 ? printed(&file.tenant[0]) : NULL;
	bool good = again && !strcmp(again, text);

	if (!good)
		diag("got: %s", again ? again : err);
	free(again);
	return good;
}

static bool means_all(const struct wh_limit_list *l)
{
	return l->n == 2 && l->spec[0].memory == 16ULL << 30 && l->spec[1].device == 1 &&
	       l->host == 1500ULL << 20 && l->kernel_ms == 500 && l->nccl == WH_NCCL_YES &&
	       l->counters == WH_COUNTERS_YES;
}

static void good_files(void)
{
	const struct wh_conf *c;

	ok(parse("") && !file.n && parse("# nothing\n\n") && !file.n, "an_empty_file_has_no_tenant");
	ok(parse(all) && file.n == 1, "every_option_of_create_is_a_key");
	c = file.tenant;
	ok(c && !strcmp(c->name, "team") && !strcmp(c->user, "alice") && !strcmp(c->devices, "0,GPU-1-2") &&
	   means_all(&c->limits), "and_means_the_same");
	ok(parse("  [ a ]\t\n\tsm=5 \n[b]\n[c]\nsm = 7") && file.n == 3 && file.tenant[0].limits.spec[0].sm_percent == 5 &&
	   !file.tenant[1].limits.n && file.tenant[2].line == 4, "a_file_may_have_more_than_one_tenant");
	ok(same(all) && same(none) && same("[a]\n") && same("[a]\nmem = 1B\n") && same("[a]\nmem = 50%\ndevice = 1:mem=25%\n") &&
	   same("[a]\nmem = 4G/50%\ndevice = 1:mem=1G/25%\n"), "what_is_written_is_read_as_the_same");
}

static void ceilings(void)
{
	const struct wh_limit_spec *s;

	ok(parse("[a]\nsm = 30\nsm-max = none\npriority = high\n") && file.n == 1, "a_ceiling_and_a_class_are_keys");
	s = &file.tenant[0].limits.spec[0];
	ok(s->has_max && s->sm_max == WH_SM_NO_CEILING && s->has_class &&
	   s->sm_class == WH_CLASS_HIGH,
	   "and_mean_the_same_as_the_options");
	ok(same("[a]\nsm = 30\nsm-max = 60\npriority = low\ndevice = 1:sm=20,sm-max=hard,priority=normal\n"),
	   "and_are_written_as_they_are_read");
	ok(refused("[a]\nsm-max = 0\n", "f:2: sm-max: '0'") && refused("[a]\npriority = 1\n", "f:2: priority: '1'"),
	   "bad_ones_are_named");
}

static void bad_files(void)
{
	ok(refused("[a]\n\nmem = 2X\n", "f:3: mem: '2X' is not a size"), "a_bad_value_is_named_with_file_and_line");
	ok(refused("[a]\nsm = 0\n", "f:2: sm: '0'") && refused("[a]\nsm-policy = fair\n", "f:2: sm-policy: 'fair'") &&
	   refused("[a]\nhost-mem = -1\n", "f:2: host-mem: '-1'") && refused("[a]\nmax-kernel = 2d\n", "f:2: max-kernel: '2d'") &&
	   refused("[a]\nnccl = maybe\n", "f:2: nccl: 'maybe'") && refused("[a]\ndevices = 0,,1\n", "f:2: devices: '0,,1'") &&
	   refused("[a]\ndevice = mem=1G\n", "f:2: device: 'mem=1G'") && refused("[a]\ndevice = 16:mem=1G\n", "f:2: device: '16:mem=1G'") &&
	   refused("[a]\ncounters = 1\n", "f:2: counters: '1' is neither yes nor no") &&
	   refused("[a]\nuser = a b\n", "f:2: user: 'a b'"), "of_whatever_key");
	ok(refused("[a]\nmemory = 1G\n", "f:2: 'memory': unknown; there are user, devices, mem"), "a_misspelled_key_is_no_tenant_without_a_limit");
	ok(refused("[a]\nmem =\n", "f:2: mem: no value"), "nor_is_a_key_without_a_value");
	ok(refused("[a]\nmem = 1G\nmem = 2G\n", "f:3: mem: '2G': said twice") &&
	   refused("[a]\ndevice = 0:sm=5\ndevice = 0:mem=1G\n", "f:3: device: '0:mem=1G': this device has a line already"),
	   "nothing_may_be_said_twice");
	ok(refused("[a]\n[b]\n[a]\n", "f:3: 'a' stands in line 1 already"), "no_tenant_either");
	ok(refused("mem = 1G\n[a]\n", "f:1: 'mem' stands before the first"), "what_belongs_to_no_tenant_is_refused");
	ok(refused("[../a]\n", "f:1: '../a' is no name") && refused("[]\n", "f:1: ''") && refused("[default]\n", "f:1: 'default'"),
	   "a_bad_name_is_refused");
	ok(refused("[a]\nmem\n", "f:2: 'mem' is neither") && refused("[a\n", "f:1: '[a' is neither"), "so_is_half_a_line");
	ok(refused("[a]\nmem = 1G\033[2J\n", "f:2: byte 0x1b in column 9") && refused("[a]\r\n", "f:1: byte 0x0d"),
	   "and_what_is_no_text");
	ok(!wh_conf_parse(&file, "f", "[a]\0\n", 5, err, sizeof(err)) && !strncmp(err, "f:1: byte 0x00 in column 4", 26),
	   "a_nul_hides_nothing_behind_it");
}

static void long_files(void)
{
	static char text[WH_CONF_TENANTS * 16], line[2000];
	size_t n = 0;
	unsigned int i;

	memset(line, 'a', sizeof(line) - 1);
	line[0] = '#';
	ok(refused(line, "f:1: '#aaa"), "a_line_has_a_longest_length");
	for (i = 0; i <= WH_CONF_TENANTS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "[t%u]\n", i);
	ok(refused(text, "f:257: 't256': a file has at most 256"), "a_file_has_most_tenants");
}

static void merged(void)
{
	struct wh_limit_list l = { .n = 0 }, more = { .n = 0 };
	char e[300];

	wh_limit_parse(&l, "1:mem=8G,sm=50", e, sizeof(e));
	wh_limit_parse(&l, "mem=1G", e, sizeof(e));
	wh_limit_parse(&more, "mem=2G", e, sizeof(e));
	wh_limit_merge(&l, &more);
	ok(!wh_limit_of(&l, 1)->has_memory && wh_limit_of(&l, 1)->sm_percent == 50 &&
	   wh_limit_of(&l, WH_ALL_DEVICES)->memory == 2ULL << 30, "a_later_limit_of_all_devices_replaces_that_of_one");
	more = (struct wh_limit_list){ .has_host = 1, .host = 5, .nccl = WH_NCCL_NO };
	wh_limit_merge(&l, &more);
	ok(l.host == 5 && l.nccl == WH_NCCL_NO && wh_limit_of(&l, 1)->has_sm, "what_is_not_said_stays");
}

#define S	1000000000ll
#define MOST	125000000	/* credit of half a device */

static void shares(void)
{
	ok(wh_bucket_after(-S, 0, 50) == -S && wh_bucket_after(-S, S, 50) == -S / 2,
	   "a_debt_is_paid_by_the_time_that_passes");
	ok(wh_bucket_after(-S, 3600 * S, 50) == MOST && wh_bucket_after(-S, UINT64_MAX, 50) == MOST,
	   "and_becomes_no_more_credit_than_a_share_can_have");
	ok(wh_bucket_after(INT64_MAX, 0, 50) == MOST &&
	   wh_bucket_after(INT64_MIN, 0, 50) == -600 * S,
	   "no_figure_is_beyond_what_a_share_can_have_or_owe");
}

int main(void)
{
	tap_plan(27);
	good_files();
	ceilings();
	bad_files();
	long_files();
	merged();
	shares();
	wh_conf_free(&file);
	return tap_exit();
}
