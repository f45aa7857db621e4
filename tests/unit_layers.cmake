# The folders of unit tests by layer of the library; also for tests/consumer/layers.cmake.
set(vgpualloc_tests_core core model catalog mode packing policy alloc local metrics verify)
set(vgpualloc_tests_text catalog_text)
set(vgpualloc_tests_plan plan)
set(vgpualloc_tests_kubernetes dialect kube explain live requirements)
set(vgpualloc_tests_operate operate)
set(vgpualloc_tests_compat compat)
set(vgpualloc_tests_operations formats traces operations)
set(vgpualloc_tests_facade report facade) # those of the simulator take minutes where it is not optimised
