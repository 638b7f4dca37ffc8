// Convolutions of volumes and of channels of sequences, and the sum of windows that overlap. They are made of other convolutions and of
// copies (convolution.toml). They check their operands first, so that errors name them and not what they are made of.
#include "base/checked.hpp"
#include "base/fail.hpp"
#include "ops/composed.hpp"
#include "ops/elementwise.hpp"
#include "ops/gen/op_facts.hpp"
#include "ops/sliding_check.hpp"

#include <limits>
#include <vector>

namespace tensorlib::core::ops {

namespace {

// A composed operation makes nodes for each plane or group of taps.
constexpr std::int64_t most_planes = 4096;
void check_planes(const OpFacts &def, std::span<Tensor *const> src, std::int64_t n, const char *what) {
    if (n > most_planes)
        fail(Status::invalid_argument, "%s: %s: %lld %s: up to %lld are valid", def.name, operands_text(def, src).c_str(), shown(n), what,
             shown(most_planes));
}

// A kernel {kw, kh, kd, channels outputs} and volumes {w, h, d, channels batch}, as images for each plane of the kernel.
class Planes {
public:
    template <class A>
    Planes(NodeBatch &nodes, const OpFacts &def, std::span<Tensor *const> src, const A &attrs)
        : nodes_(nodes), kernel_(src[0]), channels_(attrs.channels), stride_(attrs.s2), dilation_(attrs.d2) {
        check_floats(def, src);
        const Extents &a = src[0]->layout.ne, &b = src[1]->layout.ne;
        if (a[3] % channels_ != 0 || b[3] % channels_ != 0) {
            fail(Status::shape_mismatch,
                 "%s: %s: a {kw, kh, kd, %lld outputs} and b {w, h, d, %lld volumes} are valid, for channels = %lld", def.name,
                 operands_text(def, src).c_str(), shown(channels_), shown(channels_), shown(channels_));
        }
        outputs = a[3] / channels_, volumes = b[3] / channels_, taps = a[2];
        Sliding z{.elements = b[2], .taps = taps, .stride = stride_, .padding = attrs.p2, .dilation = dilation_};
        check_windows(def, src, 2, z);
        check_planes(def, src, taps, "planes of the kernel");
        positions = z.positions;
        if (positions == 1) stride_ = 1;
        // {w h, channels, d, volumes}: the images of a volume lie one after the other.
        Tensor *padded = src[1];
        if (attrs.p2 > 0) {
            padded = nodes.make(Op::pad, {padded},
                                {Attr::of_ints("p", Extents{0, 0, attrs.p2, 0}), Attr::of_ints("lp", Extents{0, 0, attrs.p2, 0})});
        }
        const Extents by_plane{b[0] * b[1], padded->layout.ne[2], channels_, volumes};
        images_ = nodes.make(Op::cont, {permuted(nodes, shaped(nodes, padded, by_plane), {0, 2, 1, 3})});
        width_ = b[0], height_ = b[1];
    }

    // Plane z of the kernel: {kw, kh, channels, outputs}.
    Tensor *kernel(std::int64_t z) const {
        const Extents &a = kernel_->layout.ne;
        Tensor *plane = nodes_.make(Op::view, {kernel_},
                                    {Attr::of_ints("ne", Extents{a[0], a[1], 1, a[3]}), Attr::of_ints("start", Extents{0, 0, z, 0})});
        return shaped(nodes_, plane, Extents{a[0], a[1], channels_, outputs});
    }
    // The images that meet plane z of the kernel: {w, h, channels, positions volumes}.
    Tensor *images(std::int64_t z) const {
        const Layout &b = images_->layout;
        const std::array<std::int64_t, 3> strides{static_cast<std::int64_t>(b.nb[1]), static_cast<std::int64_t>(b.nb[2]) * stride_,
                                                  static_cast<std::int64_t>(b.nb[3])};
        // A view without elements begins where its source does.
        const std::int64_t first = b.n_elements() == 0 ? 0 : z * dilation_ * static_cast<std::int64_t>(b.nb[2]);
        Tensor *some = nodes_.make(Op::view, {images_},
                                   {Attr::of_ints("ne", Extents{b.ne[0], channels_, positions, volumes}), Attr::of_ints("nb", strides),
                                    Attr::of_int("offset", first)});
        return shaped(nodes_, some, Extents{width_, height_, channels_, positions * volumes});
    }

    std::int64_t outputs, volumes, taps, positions;

private:
    NodeBatch &nodes_;
    Tensor *kernel_, *images_;
    std::int64_t channels_, stride_, dilation_, width_, height_;
};

template <class A>
std::array<Attr, 6> of_images(const A &attrs) {
    return {Attr::of_int("s0", attrs.s0), Attr::of_int("s1", attrs.s1), Attr::of_int("p0", attrs.p0),
            Attr::of_int("p1", attrs.p1), Attr::of_int("d0", attrs.d0), Attr::of_int("d1", attrs.d1)};
}

Tensor *conv_3d_compose(NodeBatch &nodes, std::span<Tensor *const> src, const Conv3dAttrs &attrs) {
    const Planes planes(nodes, facts::conv_3d, src, attrs);
    const auto form = of_images(attrs);
    Tensor *sum = nullptr;
    for (std::int64_t z = 0; z < planes.taps; z++) {
        Tensor *product = nodes.make(Op::conv_2d, std::array{planes.kernel(z), planes.images(z)}, form);
        sum = sum ? nodes.make(Op::add, {sum, product}) : product;
    }
    const Extents ne = sum->layout.ne;
    Tensor *by_volume = shaped(nodes, sum, Extents{ne[0] * ne[1], planes.outputs, planes.positions, planes.volumes});
    return shaped(nodes, permuted(nodes, by_volume, {0, 2, 1, 3}),
                  Extents{ne[0], ne[1], planes.positions, planes.outputs * planes.volumes});
}

Tensor *im2col_3d_compose(NodeBatch &nodes, std::span<Tensor *const> src, const Im2col3dAttrs &attrs) {
    const Planes planes(nodes, facts::im2col_3d, src, attrs);
    const auto form = of_images(attrs);
    std::vector<Attr> all(form.begin(), form.end());
    all.push_back(Attr::of_int("is_2D", 1));
    all.push_back(Attr::of_text("to", facts::im2col_3d_to_values[static_cast<std::size_t>(attrs.to)]));
    const Extents &a = src[0]->layout.ne;
    std::vector<Tensor *> parts;
    Extents ne{};
    for (std::int64_t z = 0; z < planes.taps; z++) {
        Tensor *columns = nodes.make(Op::im2col, std::array{planes.kernel(z), planes.images(z)}, all);
        ne = columns->layout.ne;
        parts.push_back(shaped(nodes, columns, Extents{a[0] * a[1], 1, attrs.channels, ne[1] * ne[2] * ne[3]}));
    }
    return shaped(nodes, joined(nodes, std::move(parts), 1), Extents{ne[0] * planes.taps, ne[1], ne[2], ne[3]});
}

// The taps are divided into groups of `stride`: the elements of a group do not overlap, and a group lies `stride` elements
// after the one before it.
Tensor *col2im_1d_compose(NodeBatch &nodes, std::span<Tensor *const> src, const Col2im1dAttrs &attrs) {
    const Layout &a = src[0]->layout;
    check_floats(facts::col2im_1d, src);
    if (a.ne[2] != 1 || a.ne[3] != 1 || a.ne[0] % attrs.channels != 0) {
        fail(Status::shape_mismatch, "col2im_1d: a is %s: {k %lld, n} is valid, for channels = %lld", tensor_text(*src[0]).c_str(),
             shown(attrs.channels), shown(attrs.channels));
    }
    Sliding windows{.taps = a.ne[0] / attrs.channels, .stride = attrs.stride, .padding = attrs.padding, .dilation = 1};
    windows.positions = a.ne[1];
    check_elements(facts::col2im_1d, src, 0, windows);
    // A longer stride than the taps leaves gaps, and no group overlaps another.
    const std::int64_t n = a.ne[1], stride = attrs.stride, groups = (windows.taps - 1) / stride + 1;
    check_planes(facts::col2im_1d, src, groups, "windows over an element");
    // Before the padding is cut off, there may be more elements than the result has.
    std::size_t all = 0;
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
    if (!checked_mul(static_cast<std::size_t>(n + groups - 1), static_cast<std::size_t>(stride), all) || all > most) {
        fail(Status::invalid_argument, "%s: sizes beyond 2^63 - 1",
             windows_text(facts::col2im_1d, src, 0, windows.positions, "positions", windows).c_str());
    }
    const auto length = static_cast<std::int64_t>(all);
    Tensor *taps = nodes.make(Op::cast, {src[0]}, {Attr::of_text("to", "f32")});
    taps = shaped(nodes, taps, Extents{windows.taps, attrs.channels, n, 1});
    Tensor *sum = nullptr;
    for (std::int64_t g = 0; g < groups; g++) {
        const std::int64_t some = std::min(stride, windows.taps - g * stride);
        Tensor *group =
            nodes.make(Op::view, {taps},
                       {Attr::of_ints("ne", Extents{some, attrs.channels, n, 1}), Attr::of_ints("start", Extents{g * stride, 0, 0, 0})});
        group = permuted(nodes, group, {0, 2, 1, 3});
        if (some < stride) group = nodes.make(Op::pad, {group}, {Attr::of_ints("p", Extents{stride - some, 0, 0, 0})});
        group = shaped(nodes, group, Extents{stride * n, attrs.channels, 1, 1});
        if (groups > 1) {
            const std::int64_t before = g * stride;
            group = nodes.make(
                Op::pad, {group},
                {Attr::of_ints("p", Extents{length - stride * n - before, 0, 0, 0}), Attr::of_ints("lp", Extents{before, 0, 0, 0})});
        }
        sum = sum ? nodes.make(Op::add, {sum, group}) : group;
    }
    Tensor *part = nodes.make(
        Op::view, {sum},
        {Attr::of_ints("ne", Extents{windows.elements, attrs.channels, 1, 1}), Attr::of_ints("start", Extents{attrs.padding, 0, 0, 0})});
    return nodes.make(Op::cast, {part}, {Attr::of_text("to", traits(a.type).name)});
}

Tensor *ssm_conv_compose(NodeBatch &nodes, std::span<Tensor *const> src, const SsmConvAttrs &attrs) {
    enum : std::size_t { sequences, kernel, state, bias };
    const Extents &x = src[sequences]->layout.ne, &w = src[kernel]->layout.ne;
    const auto refuse = [&] {
        fail(Status::shape_mismatch,
             "ssm_conv: %s: a {t, channels, sequences} with a state {k - 1, channels, sequences}, or {k - 1 + t, channels, sequences} "
             "without one, a kernel {k, channels} and a bias {channels} are valid",
             operands_text(facts::ssm_conv, src).c_str());
    };
    for (const Tensor *tensor : src) {
        if (tensor && !is_float(tensor->layout.type))
            fail(Status::type_mismatch, "ssm_conv: %s: each must be f32, f16 or bf16", operands_text(facts::ssm_conv, src).c_str());
    }
    const std::int64_t taps = w[0], before = src[state] ? src[state]->layout.ne[0] : 0;
    if (x[3] != 1 || w[1] != x[1] || w[2] != 1 || w[3] != 1 || taps < 1) refuse();
    if (src[state] && src[state]->layout.ne != Extents{taps - 1, x[1], x[2], 1}) refuse();
    if (src[bias] && src[bias]->layout.ne != Extents{x[1], 1, 1, 1}) refuse();
    if (x[0] + before < taps) refuse();
    const auto as_f32 = [&](Tensor *t) { return nodes.make(Op::cast, {t}, {Attr::of_text("to", "f32")}); };
    Tensor *all = src[sequences];
    if (before > 0) {
        const Attr along = Attr::of_int("dim", 0);
        const bool same = src[state]->layout.type == all->layout.type;
        const std::array parts{same ? src[state] : as_f32(src[state]), same ? all : as_f32(all)};
        all = nodes.make(Op::concat, parts, {&along, 1});
    }
    Tensor *sums = nodes.make(Op::conv_1d_dw, {shaped(nodes, src[kernel], Extents{taps, 1, w[1], 1}), all});
    sums = nodes.make(Op::cont, {permuted(nodes, sums, {1, 0, 2, 3})});
    if (src[bias]) sums = nodes.make(Op::add, {sums, src[bias]});
    return attrs.silu ? nodes.make(Op::silu, {sums}) : sums;
}

}  // namespace

constexpr OpDef conv_3d{facts::conv_3d, {.compose = composed<Conv3dAttrs, conv_3d_compose>}};

constexpr OpDef im2col_3d{facts::im2col_3d, {.compose = composed<Im2col3dAttrs, im2col_3d_compose>}};

constexpr OpDef ssm_conv{facts::ssm_conv, {.compose = composed<SsmConvAttrs, ssm_conv_compose>}};

constexpr OpDef col2im_1d{facts::col2im_1d, {.compose = composed<Col2im1dAttrs, col2im_1d_compose>}};

}  // namespace tensorlib::core::ops
