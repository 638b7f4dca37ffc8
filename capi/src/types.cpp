#include "handles.hpp"

#include "dtype/dtype.hpp"

using namespace tensorlib;

namespace {

// The ABI's numbers and the list's are the same numbers, written twice: once for C, once for C++.
#define TL_DTYPE(name, id, format) constexpr tl_type type_##name = static_cast<tl_type>(core::DType::name);
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
static_assert(type_f32 == TL_TYPE_F32 && type_f16 == TL_TYPE_F16 && type_bf16 == TL_TYPE_BF16 && type_f64 == TL_TYPE_F64);
static_assert(type_i8 == TL_TYPE_I8 && type_i16 == TL_TYPE_I16 && type_i32 == TL_TYPE_I32 && type_i64 == TL_TYPE_I64);

}  // namespace

int64_t tl_type_block_size(tl_type type) {
    const auto *traits = core::find_traits(type);
    return traits ? traits->block_size : 0;
}

size_t tl_type_size(tl_type type) {
    const auto *traits = core::find_traits(type);
    return traits ? traits->size : 0;
}

const char *tl_type_name(tl_type type) {
    const auto *traits = core::find_traits(type);
    return traits ? traits->name : nullptr;
}

tl_status tl_type_from_name(const char *name, tl_type *out, tl_error *err) {
    return capi::guarded(err, [&] {
        capi::required(name, "type_from_name", "name");
        capi::required(out, "type_from_name", "out");
        *out = static_cast<tl_type>(core::traits_named("type_from_name", name).type);
    });
}
