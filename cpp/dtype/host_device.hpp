// Lets a format's decode run on the host and, compiled by nvcc, on a device.
#pragma once

#if defined(__CUDACC__)
#define TL_HOST_DEVICE __host__ __device__
#else
#define TL_HOST_DEVICE
#endif
