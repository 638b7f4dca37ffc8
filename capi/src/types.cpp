#include "handles.hpp"

#include "dtype/dtype.hpp"

using namespace tensorlib;

namespace {

// The type numbers are written twice, for C and for C++; check that they are equal.
#define TL_DTYPE(name, id, format) constexpr tl_type type_##name = static_cast<tl_type>(core::DType::name);
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
static_assert(type_f32 == TL_TYPE_F32);
static_assert(type_f16 == TL_TYPE_F16);
static_assert(type_q4_0 == TL_TYPE_Q4_0);
static_assert(type_q4_1 == TL_TYPE_Q4_1);
static_assert(type_q5_0 == TL_TYPE_Q5_0);
static_assert(type_q5_1 == TL_TYPE_Q5_1);
static_assert(type_q8_0 == TL_TYPE_Q8_0);
static_assert(type_q8_1 == TL_TYPE_Q8_1);
static_assert(type_q2_K == TL_TYPE_Q2_K);
static_assert(type_q3_K == TL_TYPE_Q3_K);
static_assert(type_q4_K == TL_TYPE_Q4_K);
static_assert(type_q5_K == TL_TYPE_Q5_K);
static_assert(type_q6_K == TL_TYPE_Q6_K);
static_assert(type_q8_K == TL_TYPE_Q8_K);
static_assert(type_iq2_xxs == TL_TYPE_IQ2_XXS);
static_assert(type_iq2_xs == TL_TYPE_IQ2_XS);
static_assert(type_iq3_xxs == TL_TYPE_IQ3_XXS);
static_assert(type_iq1_s == TL_TYPE_IQ1_S);
static_assert(type_iq4_nl == TL_TYPE_IQ4_NL);
static_assert(type_iq3_s == TL_TYPE_IQ3_S);
static_assert(type_iq2_s == TL_TYPE_IQ2_S);
static_assert(type_iq4_xs == TL_TYPE_IQ4_XS);
static_assert(type_i8 == TL_TYPE_I8);
static_assert(type_i16 == TL_TYPE_I16);
static_assert(type_i32 == TL_TYPE_I32);
static_assert(type_i64 == TL_TYPE_I64);
static_assert(type_f64 == TL_TYPE_F64);
static_assert(type_iq1_m == TL_TYPE_IQ1_M);
static_assert(type_bf16 == TL_TYPE_BF16);
static_assert(type_tq1_0 == TL_TYPE_TQ1_0);
static_assert(type_tq2_0 == TL_TYPE_TQ2_0);
static_assert(type_mxfp4 == TL_TYPE_MXFP4);
static_assert(type_nvfp4 == TL_TYPE_NVFP4);
static_assert(type_q1_0 == TL_TYPE_Q1_0);
static_assert(type_q2_0 == TL_TYPE_Q2_0);
static_assert(type_u8 == TL_TYPE_U8);
static_assert(type_boolean == TL_TYPE_BOOL);
static_assert(TL_KIND_FLOATING == static_cast<int>(core::Kind::floating) && TL_KIND_INTEGER == static_cast<int>(core::Kind::integer));
static_assert(TL_KIND_WEIGHT == static_cast<int>(core::Kind::weight) && TL_KIND_ACTIVATION == static_cast<int>(core::Kind::activation));

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

tl_kind tl_type_kind(tl_type type) {
    const auto *traits = core::find_traits(type);
    return traits ? static_cast<tl_kind>(traits->kind) : -1;
}

tl_type tl_type_partner(tl_type type) {
    const auto *traits = core::find_traits(type);
    return traits ? static_cast<tl_type>(traits->partner) : -1;
}

size_t tl_type_count(void) { return core::dtype_count(); }

tl_type tl_type_at(size_t index) { return index < core::dtype_count() ? static_cast<tl_type>(core::dtype_at(index).type) : -1; }

tl_status tl_type_from_name(const char *name, tl_type *out, tl_error *err) {
    return capi::guarded(err, [&] {
        capi::required(name, "type_from_name", "name");
        capi::required(out, "type_from_name", "out");
        *out = static_cast<tl_type>(core::traits_named("type_from_name", name).type);
    });
}
