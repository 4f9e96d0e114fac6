# SPDX-License-Identifier: Apache-2.0
# Lists the objects of the program wormhole; libtenant.a of server/ is added to them.
HOST := main arguments kvm names registry cmd_check cmd_run cmd_vm cmd_replace gpu cmd_image cmd_allow cmd_stat layout json
HOST += tenant_client cmd_serve cmd_stop cmd_suspend run_tenant run_program run_user run_terminal cmd_tenant tenant_stat tenant_look vm_tenants vm_look look protection libraries devices
HOST += programs cmd_top top_rows top_columns top_screen top_json terminal
HOST += cmd_metrics metrics metrics_http metrics_pods
HOST += completion cmd_logs journal cmd_xml draft
HOST += cmd_cdi cdi_share cdi_contain
HOST += cmd_trace trace_ring trace_json trace_names
HOST += cmd_slurm tenant_conf relay relay_monitor vm_ring

# Lists the objects of Slurm's two plugins, which are built if its headers are there.
SPANK := plugin node grant tenant view record account background tidy
TASK := task node tenant background
