# The library's layers, each after those that it sees: for the build and, as a part of its package, for find_package.
set(vgpualloc_layers core text plan kubernetes operate compat c_api vgpualloc)
set(vgpualloc_sees_core)
set(vgpualloc_sees_text core)
set(vgpualloc_sees_plan core)
set(vgpualloc_sees_kubernetes core text)
set(vgpualloc_sees_operate kubernetes plan)
set(vgpualloc_sees_compat kubernetes)
set(vgpualloc_sees_c_api compat operate)
set(vgpualloc_sees_vgpualloc c_api plan)
# Above them, for who asks for one by name: questions about a living cluster, and simulations. Neither is part of vgpualloc::vgpualloc.
set(vgpualloc_upper_layers operations facade)
set(vgpualloc_sees_operations compat plan)
set(vgpualloc_sees_facade operations)
