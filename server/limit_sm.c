// SPDX-License-Identifier: Apache-2.0
#include "worker.h"
void wh_sm_close(struct wh_session *s)
{
	(void)s;
}
