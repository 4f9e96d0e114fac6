// SPDX-License-Identifier: Apache-2.0
/* An auditor of the user's own, which says that it is there. */
#define _GNU_SOURCE
#include <link.h>
#include <unistd.h>

unsigned int la_version(unsigned int version)
{
	static const char text[] = "users auditor\n";

	return write(1, text, sizeof(text) - 1) > 0 ? version : 0;
}
