# SPDX-License-Identifier: Apache-2.0
# The archive libprotect.a.
PROTECT := sandbox landlock cgroup cgroup_memory
