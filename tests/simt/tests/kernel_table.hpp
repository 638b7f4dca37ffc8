// The kernels of each file, by name.
#pragma once

#include <cuda_runtime.h>

#include <span>

struct Kernel {
    const char *name;
    void (*function)(float *p, float *q, int bad);
};

std::span<const Kernel> memory_kernels();
std::span<const Kernel> block_kernels();
std::span<const Kernel> builtin_kernels();

#define KERNEL(name) \
    Kernel { #name, name }
