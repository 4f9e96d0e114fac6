// SPDX-License-Identifier: Apache-2.0
#include "worker.h"
bool wh_mem_open(struct wh_session *s)
{
	(void)s;
	return true;
}

void wh_mem_close(struct wh_session *s)
{
	(void)s;
}
