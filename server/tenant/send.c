// SPDX-License-Identifier: Apache-2.0
#include "tenant/send.h"

#include <string.h>

ssize_t wh_send_with(int to, struct msghdr m, int file, int flags)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int))];
	} ctl = { 0 };

	if (file >= 0) {
		m.msg_control = &ctl;
		m.msg_controllen = sizeof(ctl);
		ctl.hdr.cmsg_level = SOL_SOCKET;
		ctl.hdr.cmsg_type = SCM_RIGHTS;
		ctl.hdr.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&ctl.hdr), &file, sizeof(file));
	}
	return sendmsg(to, &m, MSG_NOSIGNAL | flags);
}
