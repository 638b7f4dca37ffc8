// Lets shared code (a format's decode, cpp/math's formulas) run on the host and, compiled by nvcc, on a device.
#pragma once

#if defined(TL_HOST_DEVICE)  // the simulated GPU's kernel files define their own
#elif defined(__CUDACC__)
#define TL_HOST_DEVICE __host__ __device__
#else
#define TL_HOST_DEVICE
#endif
