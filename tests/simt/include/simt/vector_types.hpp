// CUDA's small vectors with CUDA's alignment: host and device code rely on it for their layouts.
#pragma once

#define SIMT_VECTOR2(name, type, align) \
    struct alignas(align) name {        \
        type x, y;                      \
    };                                  \
    constexpr name make_##name(type x, type y) { return {x, y}; }
#define SIMT_VECTOR3(name, type) \
    struct name {                \
        type x, y, z;            \
    };                           \
    constexpr name make_##name(type x, type y, type z) { return {x, y, z}; }
#define SIMT_VECTOR4(name, type, align) \
    struct alignas(align) name {        \
        type x, y, z, w;                \
    };                                  \
    constexpr name make_##name(type x, type y, type z, type w) { return {x, y, z, w}; }

SIMT_VECTOR2(char2, signed char, 2)
SIMT_VECTOR2(uchar2, unsigned char, 2)
SIMT_VECTOR2(short2, short, 4)
SIMT_VECTOR2(ushort2, unsigned short, 4)
SIMT_VECTOR2(int2, int, 8)
SIMT_VECTOR2(uint2, unsigned, 8)
SIMT_VECTOR2(float2, float, 8)
SIMT_VECTOR2(longlong2, long long, 16)
SIMT_VECTOR2(ulonglong2, unsigned long long, 16)
SIMT_VECTOR2(double2, double, 16)
SIMT_VECTOR3(int3, int)
SIMT_VECTOR3(uint3, unsigned)
SIMT_VECTOR3(float3, float)
SIMT_VECTOR4(char4, signed char, 4)
SIMT_VECTOR4(uchar4, unsigned char, 4)
SIMT_VECTOR4(short4, short, 8)
SIMT_VECTOR4(ushort4, unsigned short, 8)
SIMT_VECTOR4(int4, int, 16)
SIMT_VECTOR4(uint4, unsigned, 16)
SIMT_VECTOR4(float4, float, 16)

#undef SIMT_VECTOR2
#undef SIMT_VECTOR3
#undef SIMT_VECTOR4

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};
