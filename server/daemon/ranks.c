// SPDX-License-Identifier: Apache-2.0
/*
 * NCCL in a worker: its environment, and the one network interface that it is told of. NCCL would
 * ask the kernel by a kind of socket that a worker may not make, and does not need: a tenant's
 * network has nothing but loopback (namespaces.c).
 */
#define _GNU_SOURCE
#include "daemon/ranks.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libraries/nccl_hint.h"

/*
 * Ranks meet on loopback and share memory by CUDA IPC and /dev/shm. Methods that pass descriptors,
 * use network devices, or load other code are out of a worker's reach. Values that the
 * administrator has set stay; a client's variables do not come here.
 */
static const char *const variables[][2] = {
	{ "NCCL_SOCKET_IFNAME", "lo" }, { "NCCL_SOCKET_FAMILY", "AF_INET" }, { "NCCL_IB_DISABLE", "1" },
	{ "NCCL_CUMEM_ENABLE", "0" }, { "NCCL_CUMEM_HOST_ENABLE", "0" }, { "NCCL_NVLS_ENABLE", "0" },
	{ "NCCL_RAS_ENABLE", "0" }, { "NCCL_NET_PLUGIN", "none" }, { "NCCL_TUNER_PLUGIN", "none" },
	{ "NCCL_PROFILER_PLUGIN", "none" }, { "NCCL_ENV_PLUGIN", "none" },
};

static bool prepared;	/* this process is a worker */

void wh_ranks_prepare(bool tcp)
{
	size_t i;

	prepared = true;
	if (!tcp)
		wh_nccl_hint = "NCCL's ranks meet by sockets, which this tenant's workers may not make: "
			       "an administrator of a server of root's allows it by --nccl of `wormhole "
			       "run', `tenant create', `limit' or `serve'";
	for (i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		setenv(variables[i][0], variables[i][1], 0);
	/* Some names of sockets in the file system would be relative to the current folder. */
	if (tcp && chdir("/"))
		_exit(1);
}

/* --- The only interface --------------------------------------------------------------- */

static struct sockaddr_in address = {
	.sin_family = AF_INET, .sin_addr.s_addr = __builtin_bswap32(INADDR_LOOPBACK),
};
static struct sockaddr_in mask = {
	.sin_family = AF_INET, .sin_addr.s_addr = __builtin_bswap32(IN_CLASSA_NET),
};
static struct ifaddrs loopback = {
	.ifa_name = (char *)"lo", .ifa_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING,
	.ifa_addr = (struct sockaddr *)&address, .ifa_netmask = (struct sockaddr *)&mask,
};

int getifaddrs(struct ifaddrs **list)
{
	*list = &loopback;
	return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
	(void)list;
}

/* --- The socket by which descriptors would be passed ------------------------------------ */

/*
 * NCCL makes one for each communicator, whether it passes descriptors or not, and checks whether
 * something has come. In its sandbox a worker may not make sockets of that kind, which reach
 * whatever listens under a name in the file system; and nothing is passed (NCCL_CUMEM_ENABLE). So
 * it gets a descriptor to which nothing ever comes, and sending by it fails. The worker makes its
 * own sockets (limits/ipc_files.c) earlier.
 */
int socket(int domain, int type, int protocol)
{
	int fd = (int)syscall(SYS_socket, domain, type, protocol);

	if (fd < 0 && errno == EPERM && prepared && domain == AF_UNIX &&
	    (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) == SOCK_DGRAM)
		fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return fd;
}

/* NCCL also binds such a socket to a name, so that has to succeed. */
int bind(int fd, __CONST_SOCKADDR_ARG address_of, socklen_t size)
{
	const struct sockaddr *a = address_of.__sockaddr__;
	int rc = (int)syscall(SYS_bind, fd, a, size);

	if (rc && errno == ENOTSOCK && prepared && size >= sizeof(a->sa_family) &&
	    a->sa_family == AF_UNIX)
		rc = 0;
	return rc;
}
