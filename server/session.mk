# SPDX-License-Identifier: Apache-2.0
# What a session is made of, one area a line: server/Makefile builds it, tests/unit
# builds it once more with sanitizers.
SESSION := session dispatch handles backend context records hostblock interval reach
SESSION += do_init do_module do_launch do_copy do_query do_managed
SESSION += do_graph do_graph_exec gate output
SESSION += tenant limits limit_mem limit_host limit_blocks limit_driver limit_pool limit_sizes limit_sm limit_turn gpu_time limit_sms driver_figure
SESSION += ipc ipc_files library

# And the server of programs: built here and, for tests/fuzz, with sanitizers.
SHM := shm_server shm_worker log admit loop sockets tenants control probe supervise figures
SHM += limit_spec tenant_file seats sm_groups isolation uids namespaces cgroup code_cache sandbox landlock
