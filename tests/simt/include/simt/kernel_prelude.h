/* Included before everything else in kernel files. The compiler's thread instrumentation does not cover calls of
   these, also not the ones that it makes itself for large copies; under other names they reach the simulator.
   Calls that the compiler expands are instrumented like any access. */
#pragma once
#include <stddef.h>
#if defined(__cplusplus)
extern "C" {
void *memcpy(void *, const void *, size_t) noexcept __asm__("simt_memcpy");
void *memmove(void *, const void *, size_t) noexcept __asm__("simt_memmove");
void *memset(void *, int, size_t) noexcept __asm__("simt_memset");
}
/* Functions for both sides get a symbol of their own in kernel files, as __device__ ones do: see README.md. */
#define TL_HOST_DEVICE __attribute__((abi_tag("simt")))
#endif
