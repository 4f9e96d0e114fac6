// SPDX-License-Identifier: Apache-2.0
#include "tenant/send.h"

#include <errno.h>
#include <string.h>

ssize_t wh_send_with(int to, struct msghdr m, const int *files, size_t n, int flags)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(WH_SEND_MAX * sizeof(int))];
	} ctl = { 0 };

	if (n > WH_SEND_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (n) {
		m.msg_control = &ctl;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		ctl.hdr.cmsg_level = SOL_SOCKET;
		ctl.hdr.cmsg_type = SCM_RIGHTS;
		ctl.hdr.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&ctl.hdr), files, n * sizeof(int));
	}
	return sendmsg(to, &m, MSG_NOSIGNAL | flags);
}
