// im2col and the convolutions of convolution.toml: checks, shapes and costs. pooling.cpp has the pooling operations of
// that file.
#include "ops/convolution.hpp"

#include "base/fail.hpp"
#include "ops/elementwise.hpp"
#include "ops/sliding_check.hpp"

#include <algorithm>

namespace tensorlib::core::ops {

namespace {

// An operation's attributes, for two dimensions.
struct Form {
    bool flat;  // the operation works on signals, which have one dimension
    std::int64_t stride[2], padding[2], dilation[2];
};

template <class A>
Form form_of(const A &attrs) noexcept {
    if constexpr (requires { attrs.stride; }) {
        return {false, {attrs.stride, attrs.stride}, {attrs.p0, attrs.p1}, {attrs.d0, attrs.d1}};
    } else if constexpr (requires { attrs.is_2D; }) {
        if (!attrs.is_2D) return {true, {attrs.s0, 1}, {attrs.p0, 0}, {attrs.d0, 1}};
        return {false, {attrs.s0, attrs.s1}, {attrs.p0, attrs.p1}, {attrs.d0, attrs.d1}};
    } else if constexpr (requires { attrs.s0; }) {
        return {false, {attrs.s0, attrs.s1}, {attrs.p0, attrs.p1}, {attrs.d0, attrs.d1}};
    } else {
        return {true, {attrs.s, 1}, {attrs.p, 0}, {attrs.d, 1}};
    }
}

Form form_of(const Tensor &node) noexcept {
    switch (node.op) {
        case Op::im2col: return form_of(attrs_of<Im2colAttrs>(node));
        case Op::conv_1d: return form_of(attrs_of<Conv1dAttrs>(node));
        case Op::conv_2d: return form_of(attrs_of<Conv2dAttrs>(node));
        case Op::conv_1d_dw: return form_of(attrs_of<Conv1dDwAttrs>(node));
        case Op::conv_2d_dw: return form_of(attrs_of<Conv2dDwAttrs>(node));
        case Op::conv_transpose_1d: return form_of(attrs_of<ConvTranspose1dAttrs>(node));
        default: return form_of(attrs_of<ConvTranspose2dAttrs>(node));
    }
}

// The windows in dimension d, from the attributes and operands. The caller counts the number of elements or positions
// that these leave open.
Sliding sliding(const Form &form, std::size_t d, const Extents &a, const Extents &b, bool transposed) noexcept {
    if (d == 1 && form.flat) return {};
    Sliding s{.taps = a[d], .stride = form.stride[d], .padding = form.padding[d], .dilation = form.dilation[d]};
    (transposed ? s.positions : s.elements) = b[d];
    return s;
}

// Without the number of positions or elements of the windows, which count() determines.
Convolution convolution(Op op, const Form &form, const Layout &a, const Layout &b) noexcept {
    Convolution c;
    c.transposed = op == Op::conv_transpose_1d || op == Op::conv_transpose_2d;
    c.by_channel = op == Op::conv_1d_dw || op == Op::conv_2d_dw;
    c.x = sliding(form, 0, a.ne, b.ne, c.transposed), c.y = sliding(form, 1, a.ne, b.ne, c.transposed);
    // The dimensions of channels, which images follow, and the dimension of a's outputs.
    const std::size_t channel = form.flat ? 1 : 2, a_channel = channel + (c.transposed ? 1 : 0), output = channel + (c.transposed ? 0 : 1);
    const auto stride = [](const Layout &t, std::size_t d) { return static_cast<std::int64_t>(t.nb[d]); };
    c.channels = a.ne[a_channel], c.outputs = a.ne[output], c.images = b.ne[channel + 1];
    c.image = {stride(b, 0), form.flat ? 0 : stride(b, 1), stride(b, channel), stride(b, channel + 1)};
    c.kernel = {stride(a, 0), form.flat ? 0 : stride(a, 1), stride(a, a_channel), stride(a, output)};
    return c;
}

const char *valid_shapes(Op op, bool flat) noexcept {
    switch (op) {
        case Op::conv_1d_dw: return "a {k, 1, channels} and b {n, channels, signals}";
        case Op::conv_2d_dw: return "a {kw, kh, 1, channels} and b {w, h, channels, images}";
        case Op::conv_transpose_1d: return "a {k, outputs, channels} and b {n, channels, signals}";
        case Op::conv_transpose_2d: return "a {kw, kh, outputs, channels} and b {w, h, channels, images}";
        default:
            return flat ? "a {k, channels, outputs} and b {n, channels, signals}"
                        : "a {kw, kh, channels, outputs} and b {w, h, channels, images}";
    }
}

void check_shapes(const OpFacts &def, std::span<Tensor *const> src, const Form &form, const Convolution &c) {
    const Extents &a = src[0]->layout.ne, &b = src[1]->layout.ne;
    const std::int64_t channels = b[form.flat ? 1 : 2];
    const bool channels_fit = c.by_channel ? c.channels == 1 && c.outputs == channels : c.channels == channels;
    if (!channels_fit || (form.flat && (a[3] != 1 || b[3] != 1)))
        fail(Status::shape_mismatch, "%s: %s: %s are valid", def.name, operands_text(def, src).c_str(), valid_shapes(def.op, form.flat));
}

// Counts the elements or positions that b does not determine.
void count(const OpFacts &def, std::span<Tensor *const> src, int dim, bool transposed, Sliding &windows) {
    if (transposed) {
        check_elements(def, src, dim, windows);
    } else {
        check_windows(def, src, dim, windows);
    }
}

Convolution checked(const OpFacts &def, std::span<Tensor *const> src, const Form &form) {
    check_floats(def, src);
    Convolution c = convolution(def.op, form, src[0]->layout, src[1]->layout);
    check_shapes(def, src, form, c);
    count(def, src, 0, c.transposed, c.x);
    if (!form.flat) count(def, src, 1, c.transposed, c.y);
    std::int64_t products;
    if (__builtin_mul_overflow(c.x.taps, c.y.taps, &products) || __builtin_mul_overflow(products, c.channels, &products))
        fail(Status::invalid_argument, "%s: %s: more than 2^63 - 1 products", def.name, operands_text(def, src).c_str());
    return c;
}

std::size_t dims_of(const Tensor &b, bool flat) noexcept { return static_cast<std::size_t>(std::max(b.layout.n_dims, flat ? 2 : 3)); }

template <class A>
void convolution_infer(std::span<Tensor *const> src, const A &attrs, NodeSpec &result) {
    const OpDef &def = op_def(A::operation);
    const Form form = form_of(attrs);
    const Convolution c = checked(def, src, form);
    const auto extent = [&](const Sliding &s) { return c.transposed ? s.elements : s.positions; };
    const Extents ne = form.flat ? Extents{extent(c.x), c.outputs, c.images, 1} : Extents{extent(c.x), extent(c.y), c.outputs, c.images};
    result.layout = contiguous_layout(def.name, DType::f32, {ne.data(), dims_of(*src[1], form.flat)});
}

void im2col_infer(std::span<Tensor *const> src, const Im2colAttrs &attrs, NodeSpec &result) {
    const Form form = form_of(attrs);
    const Convolution c = checked(facts::im2col, src, form);
    const DType type = attrs.to == Im2colTo::f32 ? DType::f32 : attrs.to == Im2colTo::f16 ? DType::f16 : DType::bf16;
    const Extents ne =
        form.flat ? Extents{c.products(), c.x.positions, c.images, 1} : Extents{c.products(), c.x.positions, c.y.positions, c.images};
    result.layout = contiguous_layout("im2col", type, {ne.data(), dims_of(*src[1], form.flat)});
}

// Only a's shape is used, so its bytes do not count.
Cost im2col_cost(const Tensor &node) { return {0, static_cast<double>(node.src[1]->layout.nbytes() + node.layout.nbytes())}; }

// A multiplication and an addition for each tap and channel of each element of the result, or of b if the convolution
// is transposed.
Cost convolution_cost(const Tensor &node) {
    const Convolution c = convolution_of(node);
    const Layout &b = node.src[1]->layout;
    const double sums = c.transposed
                            ? static_cast<double>(b.ne[0]) * static_cast<double>(c.y.positions) * static_cast<double>(c.outputs * c.images)
                            : static_cast<double>(node.layout.n_elements());
    Cost cost = copy_cost(node);
    cost.flops = 2 * sums * static_cast<double>(c.products());
    return cost;
}

template <class A>
constexpr OpCode convolution_code{.infer = with_attrs<A, convolution_infer<A>>, .cost = convolution_cost};

}  // namespace

Convolution convolution_of(const Tensor &node) noexcept {
    const Form form = form_of(node);
    Convolution c = convolution(node.op, form, node.src[0]->layout, node.src[1]->layout);
    const Extents &ne = node.layout.ne;
    const std::size_t first = node.op == Op::im2col ? 1 : 0;
    (c.transposed ? c.x.elements : c.x.positions) = ne[first];
    if (!form.flat) (c.transposed ? c.y.elements : c.y.positions) = ne[first + 1];
    return c;
}

constexpr OpDef im2col{facts::im2col, {.infer = with_attrs<Im2colAttrs, im2col_infer>, .cost = im2col_cost}};

constexpr OpDef conv_1d{facts::conv_1d, convolution_code<Conv1dAttrs>};

constexpr OpDef conv_2d{facts::conv_2d, convolution_code<Conv2dAttrs>};

constexpr OpDef conv_1d_dw{facts::conv_1d_dw, convolution_code<Conv1dDwAttrs>};

constexpr OpDef conv_2d_dw{facts::conv_2d_dw, convolution_code<Conv2dDwAttrs>};

constexpr OpDef conv_transpose_1d{facts::conv_transpose_1d, convolution_code<ConvTranspose1dAttrs>};

constexpr OpDef conv_transpose_2d{facts::conv_transpose_2d, convolution_code<ConvTranspose2dAttrs>};

}  // namespace tensorlib::core::ops
