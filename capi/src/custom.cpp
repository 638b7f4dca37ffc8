#include "handles.hpp"
#include "nodes.hpp"

#include "ops/custom.hpp"
#include "ops/op_def.hpp"

#include <algorithm>
#include <array>
#include <vector>

using namespace tensorlib;
using capi::constructed;
using capi::guarded;
using capi::required;
using capi::unwrap;
using capi::wrap;

namespace {

static_assert(sizeof(tl_custom_view) == 80 && sizeof(tl_custom_slice) == 128 && sizeof(tl_custom_result) == 48 &&
              sizeof(tl_custom_params) == 72);
constexpr std::size_t first_params = 72;

const core::CustomOp *unwrap(const tl_custom_op *op) { return reinterpret_cast<const core::CustomOp *>(op); }

// What a caller's function says of its failure.
class Report {
public:
    tl_error *error() noexcept { return &error_; }
    bool is_set() const noexcept { return error_.code != TL_STATUS_OK; }
    [[noreturn]] void raise(tl_status status) {
        error_.message[sizeof error_.message - 1] = '\0';
        core::fail(static_cast<Status>(status), "%s", error_.message[0] != '\0' ? error_.message : "it failed without a message");
    }
    void check(tl_status status) {
        if (status != TL_STATUS_OK) raise(status);
    }

private:
    tl_error error_{sizeof(tl_error), TL_STATUS_OK, "", 0};
};

tl_custom_view view_of(std::byte *data, const core::Layout &layout) noexcept {
    tl_custom_view view{data, static_cast<tl_type>(layout.type), layout.n_dims, {}, {}};
    for (std::size_t d = 0; d < core::max_dims; d++) view.ne[d] = layout.ne[d], view.nb[d] = layout.nb[d];
    return view;
}

class CallersOp final : public core::CustomOp {
public:
    CallersOp(Properties properties, const tl_custom_params &params) : CustomOp(std::move(properties)), params_(params) {}
    ~CallersOp() override {
        if (params_.destroy) params_.destroy(params_.user_data);
    }

    core::Layout result_of(std::span<core::Tensor *const> src) const override {
        const core::Layout &first = src[0]->layout;
        tl_custom_result result{sizeof(tl_custom_result), static_cast<tl_type>(first.type), first.n_dims, {}};
        std::copy(first.ne.begin(), first.ne.end(), result.ne);
        if (params_.shape) {
            std::vector<tl_tensor *> operands;
            for (core::Tensor *source : src) operands.push_back(wrap(source));
            Report report;
            const tl_status status = params_.shape(params_.user_data, operands.data(), operands.size(), &result, report.error());
            try {
                report.check(status);
            } catch (const Error &error) {
                core::fail(error.code(), "custom '%s': %s: %s", name().c_str(), operands_of(src).c_str(), error.what());
            }
        }
        const std::string what = "custom '" + name() + "'";
        if (result.n_dims < 1 || result.n_dims > core::max_dims) {
            core::fail(Status::invalid_argument, "%s: %s: its result has %d dimensions: 1 to 4 are valid", what.c_str(),
                       operands_of(src).c_str(), result.n_dims);
        }
        return core::contiguous_layout(what.c_str(), core::traits_numbered(what.c_str(), result.type).type,
                                       {result.ne, static_cast<std::size_t>(result.n_dims)});
    }

    void compute(const core::CustomSlice &slice) const override {
        std::array<tl_custom_view, core::max_sources> src;
        for (std::size_t i = 0; i < slice.src.size(); i++) src[i] = view_of(slice.src[i].data, *slice.src[i].layout);
        const tl_custom_slice given{sizeof(tl_custom_slice),
                                    src.data(),
                                    slice.src.size(),
                                    view_of(slice.dst.data, *slice.dst.layout),
                                    slice.begin,
                                    slice.end,
                                    slice.thread};
        Report report;
        report.check(params_.compute(params_.user_data, &given, report.error()));
    }

    bool has_gradient() const noexcept override { return params_.gradient != nullptr; }

    core::Tensor *gradient(core::Context &context, core::Tensor &node, core::Tensor &gradient, std::size_t operand) const override {
        Report report;
        tl_tensor *made = params_.gradient(params_.user_data, wrap(&context), wrap(node.known()), wrap(&gradient), operand, report.error());
        if (made) return unwrap(made);
        if (report.is_set()) report.raise(report.error()->code);
        if (const auto error = context.take_error()) throw *error;
        return nullptr;
    }

private:
    static std::string operands_of(std::span<core::Tensor *const> src) { return core::operands_text(core::op_def(core::Op::custom), src); }

    const tl_custom_params params_;
};

}  // namespace

void tl_custom_params_init(tl_custom_params *params, size_t struct_size) { capi::init_params(params, struct_size); }

tl_status tl_custom_op_create(const tl_custom_params *params, tl_custom_op **out, tl_error *err) {
    constexpr const char *function = "custom_op_create";
    if (out) *out = nullptr;
    return guarded(err, [&] {
        required(out, function, "out");
        const tl_custom_params known = capi::read_params<first_params>(required(params, function, "params"), function);
        const std::string_view name = required(known.name, function, "name");
        if (!known.compute)
            core::fail(Status::invalid_argument, "%s: compute is NULL: the function of '%s' is required", function, known.name);
        *out = reinterpret_cast<tl_custom_op *>(
            static_cast<core::CustomOp *>(new CallersOp({std::string(name), known.slice_unit, known.cost}, known)));
    });
}

void tl_custom_op_free(tl_custom_op *op) {
    if (op) unwrap(op)->drop_ref();
}

tl_tensor *tl_custom(tl_context *ctx, const tl_custom_op *op, tl_tensor *const *src, size_t n_src) {
    return constructed(ctx, [&](core::Context &context) {
        required(op, "custom", "op");
        return core::build_custom(context, *unwrap(op), capi::operands_of(core::op_def(core::Op::custom), "src", src, n_src));
    });
}

uint64_t tl_custom_op_number(const tl_custom_op *op) { return op ? unwrap(op)->id() : 0; }
