module vgpualloc.example/adapters

go 1.24
