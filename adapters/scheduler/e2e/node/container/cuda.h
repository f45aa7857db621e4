// What the programs here use of CUDA's driver interface.
#pragma once

enum { CUDA_SUCCESS = 0, CUDA_ERROR_OUT_OF_MEMORY = 2 };

int cuMemAlloc_v2(unsigned long long* address, unsigned long bytes) __attribute__((weak));
