// Calls of operations by name, through the C ABI, drawn from the descriptions: operands of all types, shapes and kinds of views, omitted,
// NULL, from another context, without data, of 2^62 elements; attributes inside and outside the valid range. Each call gives a tensor,
// which is computed if its data are small, or an error that names the operation. Nothing here knows an operation: accepted calls are kept
// and varied, so a good part of all calls is valid whatever the operations require of their operands.
//
// TENSORLIB_FUZZ_SECONDS is the duration (default 3) and TENSORLIB_FUZZ_SEED the random seed: a seed always gives the same calls, since
// the time only ends them. A failure prints its call.
#include "c_abi.hpp"
#include "draw.hpp"

#include "base/utf8.hpp"
#include "ops/op_def.hpp"

#include <sys/resource.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

namespace {

using namespace tensorlib;
using core::AttrDef;
using core::OpDef;
using support::COutcome;
using support::Draw;
using support::must;
using support::outcome_of;

using Shape = std::array<std::int64_t, 4>;

constexpr std::size_t mem_limit = std::size_t{4} << 20;
// Operands and results with more elements are not computed.
constexpr std::int64_t most_elements = 1 << 12;
constexpr std::int64_t hostile[] = {-1, INT64_MIN, INT64_MAX, std::int64_t{1} << 31, std::int64_t{1} << 40, std::int64_t{1} << 62};

// How an operand lies in memory. null: NULL. none: tl_none().
enum class Form { leaf, permuted, part, stride_0, expanded, node, constant, null, none };
constexpr const char *form_names[] = {"leaf", "permuted", "part", "stride 0", "expanded", "node", "constant", "NULL", "left out"};

struct OperandSpec {
    core::DType type = core::DType::f32;
    std::int32_t n_dims = 1;
    Shape ne{1, 1, 1, 1};
    Form form = Form::leaf;
    bool elsewhere = false;  // in another context
};

struct AttrSpec {
    std::string name;
    std::int32_t kind = TL_ATTR_INTS;
    std::int32_t n_ints = 0;
    std::array<std::int64_t, 6> ints{};
    double number = 0;
    std::string text;
};

// One call, as it can be made again.
struct CallSpec {
    const OpDef *def = nullptr;
    std::vector<OperandSpec> operands;
    std::vector<AttrSpec> attrs;
    bool no_data = false;  // in contexts of shapes only
    // Counts without what they count.
    bool null_src = false, null_attrs = false;

    std::string text() const {
        std::string text = std::string(def->name) + "(";
        for (const OperandSpec &o : operands) {
            text += &o == operands.data() ? "" : ", ";
            if (o.form != Form::null && o.form != Form::none) {
                text += std::string(core::traits(o.type).name) + " [";
                for (std::int32_t d = 0; d < o.n_dims; d++) text += (d ? ", " : "") + std::to_string(o.ne[static_cast<std::size_t>(d)]);
                text += "] ";
            }
            text += std::string(form_names[static_cast<int>(o.form)]) + (o.elsewhere ? " elsewhere" : "");
        }
        text += ")";
        for (const AttrSpec &a : attrs) {
            text += " " + a.name + "=";
            for (std::int32_t i = 0; a.kind == TL_ATTR_INTS && i < std::min(a.n_ints, 6); i++)
                text += (i ? "," : "") + std::to_string(a.ints[static_cast<std::size_t>(i)]);
            if (a.kind == TL_ATTR_INTS) text += " (" + std::to_string(a.n_ints) + ")";
            if (a.kind == TL_ATTR_NUMBER) text += std::to_string(a.number);
            if (a.kind == TL_ATTR_TEXT) text += "'" + a.text.substr(0, 40) + "'";
            if (a.kind < TL_ATTR_INTS || a.kind > TL_ATTR_TEXT) text += "of kind " + std::to_string(a.kind);
        }
        return text + (no_data ? ", without data" : "") + (null_src ? ", src NULL" : "") + (null_attrs ? ", attrs NULL" : "");
    }
};

// What an operand or an attribute may name as a type.
const core::DTypeTraits &any_type(Draw &draw) {
    return core::dtype_at(static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(core::dtype_count()))));
}

// ---- Drawing calls.

class Calls {
public:
    explicit Calls(std::uint64_t seed) : draw(seed) {
        // Blind draws never meet a valid call if all operands must have one shape and type, and the settings one size.
        struct Given {
            const char *op;
            std::int64_t settings;
        };
        for (const auto &[op, settings] :
             {Given{"opt_step_sgd", 2}, {"opt_step_momentum", 3}, {"opt_step_adamw", 7}, {"opt_step_lion", 4}}) {
            CallSpec call;
            call.def = core::find_op(op);
            call.operands.assign(call.def->operands.size(), {core::DType::f32, 1, {5, 1, 1, 1}});
            call.operands.back().ne[0] = settings;
            keep(call);
        }
        {
            // Seven operands whose extents depend on each other; pages of one row divide any number of rows.
            CallSpec call;
            call.def = core::find_op("paged_attention");
            const auto f32 = core::DType::f32, i32 = core::DType::i32;
            call.operands = {{f32, 3, {8, 3, 2, 1}}, {f32, 3, {8, 2, 9, 1}}, {f32, 3, {8, 2, 9, 1}}, {i32, 2, {4, 2, 1, 1}},
                             {i32, 1, {3, 1, 1, 1}}, {i32, 1, {3, 1, 1, 1}}, {f32, 1, {2, 1, 1, 1}}};
            call.attrs.push_back({"page", TL_ATTR_INTS, 1, {1}, 0, ""});
            keep(call);
        }
        keep_recurrent();
        for (const char *equation : {"ab,ab->ab", "ab,ac->cb", "ab,ab->", "ba,ab->b"}) {
            CallSpec call;
            call.def = core::find_op("einsum");
            call.operands.assign(2, {core::DType::f32, 2, {5, 5, 1, 1}});
            call.attrs.push_back({"equation", TL_ATTR_TEXT, 0, {}, 0, equation});
            keep(call);
        }
    }

    CallSpec next(const OpDef &def) {
        const std::vector<CallSpec> &kept = kept_[&def];
        if (kept.empty() || draw.percent(20)) return blind(def);
        CallSpec call = draw.of(kept);
        const int how = static_cast<int>(draw.below(100));
        if (how < 55) resize(call);
        if (how < 75) {
            for (OperandSpec &operand : call.operands) reform(operand, 30);
            return call;
        }
        disturb(call);
        return call;
    }

    bool has_kept(const OpDef &def) { return !kept_[&def].empty(); }

    // A call that was accepted: what comes later is made of it.
    void keep(const CallSpec &call) {
        constexpr std::size_t most = 64;
        std::vector<CallSpec> &kept = kept_[call.def];
        if (kept.size() < most) {
            kept.push_back(call);
        } else {
            kept[static_cast<std::size_t>(draw.below(most))] = call;
        }
    }

    Draw draw;

private:
    // Recurrent layers: five to seven operands whose extents depend on each other, and states of a product of extents.
    void keep_recurrent() {
        const auto keep_with = [&](const char *op, std::vector<Shape> shapes, std::vector<AttrSpec> attrs = {}) {
            CallSpec call;
            call.def = core::find_op(op);
            for (const Shape &ne : shapes) call.operands.push_back({core::DType::f32, 4, ne});
            call.attrs = std::move(attrs);
            if (call.def->op == core::Op::ssm_scan) call.operands.back().type = core::DType::i32;
            keep(call);
        };
        const Shape delta{4, 2, 3, 1}, gate{1, 2, 3, 1}, mixed{2, 1, 3, 1}, state{4, 1, 1, 1};
        keep_with("gated_delta_net", {delta, delta, delta, gate, gate, {4, 4, 2, 1}});
        keep_with("ssm_scan", {{4, 3, 2, 1}, {3, 2, 5, 1}, {2, 5, 1, 1}, {1, 2, 1, 1}, {4, 1, 5, 1}, {4, 1, 5, 1}, {1, 1, 1, 1}});
        keep_with("rwkv_wkv6", {mixed, mixed, mixed, {2, 1, 1, 1}, mixed, state});
        keep_with("rwkv_wkv7", {mixed, mixed, mixed, mixed, mixed, mixed, state});
        keep_with("gated_linear_attn", {mixed, mixed, mixed, mixed, state}, {{"scale", TL_ATTR_NUMBER, 0, {}, 0.5, ""}});
    }

    core::DType type(core::Role role) {
        constexpr core::DType floats[] = {core::DType::f32, core::DType::f32, core::DType::f16, core::DType::bf16};
        constexpr core::DType numbers[] = {core::DType::i32, core::DType::i32, core::DType::i64};
        if ((role == core::Role::indices || role == core::Role::integers) && !draw.percent(10)) return draw.of(numbers);
        return draw.percent(70) ? draw.of(floats) : any_type(draw).type;
    }

    std::int64_t extent() {
        constexpr std::int64_t extents[] = {1, 1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 63};
        return draw.percent(4) ? 0 : draw.of(extents);
    }

    // Takes sizes from a few numbers that all operands share, so that some shapes match.
    void shape(OperandSpec &operand, const std::array<std::int64_t, 4> &shared) {
        operand.n_dims = 1 + static_cast<std::int32_t>(draw.below(4));
        operand.ne = {1, 1, 1, 1};
        for (std::int32_t d = 0; d < operand.n_dims; d++)
            operand.ne[static_cast<std::size_t>(d)] = draw.percent(15) ? extent() : draw.of(shared);
        if (draw.percent(40)) operand.ne[0] = shared[0];
        fit(operand);
    }

    // To whole blocks, and to what can be computed.
    void fit(OperandSpec &operand) {
        const std::int64_t block = core::traits(operand.type).block_size;
        operand.ne[0] = (operand.ne[0] + block - 1) / block * block;
        for (std::size_t d = 3; d > 0 && std::accumulate(operand.ne.begin(), operand.ne.end(), 1.0, std::multiplies<>()) > most_elements;
             d--)
            operand.ne[d] = std::min<std::int64_t>(operand.ne[d], 2);
    }

    // One of an operand's extents in place of what is there.
    void reform(OperandSpec &operand, int percent) {
        constexpr Form forms[] = {Form::leaf, Form::permuted, Form::part, Form::node, Form::constant, Form::stride_0, Form::expanded};
        if (operand.form == Form::null || operand.form == Form::none) return;
        operand.form = draw.percent(percent) ? draw.of(forms) : Form::leaf;
        operand.elsewhere = draw.percent(percent / 2);
    }

    CallSpec blind(const OpDef &def) {
        CallSpec call;
        call.def = &def;
        std::array<std::int64_t, 4> shared;
        for (std::int64_t &n : shared) n = extent();
        for (const core::Operand &described : def.operands) {
            OperandSpec operand;
            operand.type = type(described.role);
            const bool same = !call.operands.empty() && draw.percent(30);
            if (same) {
                const core::DType own = operand.type;
                operand = draw.of(call.operands);
                operand.type = own;
                fit(operand);
            } else {
                shape(operand, shared);
            }
            reform(operand, 20);
            if (described.optional && draw.percent(40)) operand.form = Form::none;
            call.operands.push_back(operand);
        }
        // Some calls with few options: of many, one is soon wrong.
        constexpr int given[] = {5, 50, 80};
        const int percent = draw.of(given);
        for (const AttrDef &described : def.attrs) {
            if (draw.percent(described.required ? 97 : percent)) call.attrs.push_back(attr(described, shared));
        }
        return call;
    }

    AttrSpec attr(const AttrDef &described, const std::array<std::int64_t, 4> &shared) {
        AttrSpec a;
        a.name = described.name;
        switch (described.kind) {
            case core::AttrKind::ints:
                a.n_ints = described.min_ints + static_cast<std::int32_t>(draw.below(described.max_ints - described.min_ints + 1));
                if (a.n_ints > 1 && draw.percent(40)) {  // a permutation
                    std::iota(a.ints.begin(), a.ints.end(), 0);
                    for (std::int32_t i = 0; i < a.n_ints; i++)
                        std::swap(a.ints[static_cast<std::size_t>(i)], a.ints[static_cast<std::size_t>(draw.below(a.n_ints))]);
                } else {
                    for (std::int32_t i = 0; i < a.n_ints; i++) a.ints[static_cast<std::size_t>(i)] = integer(described, shared);
                }
                break;
            case core::AttrKind::number:
                a.kind = TL_ATTR_NUMBER;
                a.number = number(described);
                break;
            case core::AttrKind::text:
                a.kind = TL_ATTR_TEXT;
                a.text = described.values.empty() ? any_type(draw).name : draw.of(described.values);
                break;
        }
        return a;
    }

    std::int64_t integer(const AttrDef &described, const std::array<std::int64_t, 4> &shared) {
        const bool bounded = std::isfinite(described.least) && std::isfinite(described.most);
        const auto least = bounded ? static_cast<std::int64_t>(described.least) : 0;
        const auto most = bounded ? static_cast<std::int64_t>(described.most) : 4;
        const int how = static_cast<int>(draw.below(100));
        if (how < 50) return least + draw.below(std::min<std::int64_t>(most - least, 16) + 1);
        if (how < 80) return draw.of(shared);
        if (how < 85) return bounded ? most : -1;
        if (how < 93) return 4 * draw.of(shared);
        return bounded ? draw.percent(50) ? least - 1 : most + 1 : draw.of(hostile);
    }

    double number(const AttrDef &described) {
        constexpr double some[] = {0, -0.0, 1, -1, 0.5, 2, 1e-5, 100, 1e300, 5e-324};
        constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
        const int how = static_cast<int>(draw.below(100));
        const bool bounded = std::isfinite(described.least) && std::isfinite(described.most);
        if (how < 50 && bounded) return described.least + (described.most - described.least) * static_cast<double>(draw.below(1025)) / 1024;
        if (how < 85) return draw.of(some);
        if (how < 90) return draw.percent(50) ? described.least : described.most;
        if (how < 94) return std::nextafter(draw.percent(50) ? described.least : described.most, draw.percent(50) ? inf : -inf);
        return how < 97 ? nan : draw.percent(50) ? inf : -inf;
    }

    // Another number for each of the extents that there are, the same for all operands that share it, so that what was equal stays so.
    // Some stay as they are: there are operands of which one shape alone is valid.
    void resize(CallSpec &call) {
        std::map<std::int64_t, std::int64_t> others;
        for (const OperandSpec &operand : call.operands) {
            const std::int64_t block = core::traits(operand.type).block_size;
            for (std::size_t d = 0; d < 4; d++) {
                const std::int64_t now = operand.ne[d];
                if (now <= 1) continue;
                std::int64_t &other = others.try_emplace(now, draw.percent(40) ? now : extent()).first->second;
                if (d == 0 && other % block != 0) other = block * (1 + draw.below(2));
            }
        }
        for (OperandSpec &operand : call.operands) {
            for (std::int64_t &n : operand.ne) n = others.contains(n) ? others[n] : n;
        }
    }

    // One thing becomes something else, mostly wrong.
    void disturb(CallSpec &call) {
        if (call.operands.empty()) return disturb_attrs(call, {extent(), extent(), 1, 2});
        OperandSpec &operand = call.operands[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(call.operands.size())))];
        const std::array<std::int64_t, 4> shared{extent(), operand.ne[0], operand.ne[1], 2};
        switch (draw.below(13)) {
            case 0: operand.ne[static_cast<std::size_t>(draw.below(4))] = extent(); break;
            case 1: operand.type = any_type(draw).type; break;
            case 2: shape(operand, shared); break;
            case 3: operand.form = draw.percent(50) ? Form::null : Form::none; break;
            case 4: call.operands.push_back(operand); break;
            case 5: call.operands.pop_back(); break;
            case 6:  // of a size that nothing has; its blocks are whole, or it is refused as a leaf
                operand.ne[static_cast<std::size_t>(draw.below(4))] = draw.of(hostile);
                operand.n_dims = 4;
                call.no_data = draw.percent(70);
                if (draw.percent(30)) operand.form = Form::stride_0;
                break;
            case 7: call.no_data = true; break;
            case 8: (draw.percent(50) ? call.null_src : call.null_attrs) = true; break;
            default: disturb_attrs(call, shared);
        }
    }

    void disturb_attrs(CallSpec &call, const std::array<std::int64_t, 4> &shared) {
        constexpr double numbers[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1e300, 0.5, 1, 0};
        constexpr std::int32_t counts[] = {0, -1, 1, 2, 3, 4, 5, 6, 7, INT32_MAX, INT32_MIN};
        constexpr std::int32_t kinds[] = {TL_ATTR_INTS, TL_ATTR_NUMBER, TL_ATTR_TEXT, -1, 3, INT32_MAX};
        const std::string texts[] = {"", "f99", "f16", std::string(1000, 'x'), "\xff\xfe", "%s%n"};
        AttrSpec more;
        more.n_ints = 1;
        more.name = draw.percent(50) ? "no_such_attribute" : draw.of(texts);
        if (call.attrs.empty()) {
            call.attrs.push_back(more);
            return;
        }
        const auto which = static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(call.attrs.size())));
        AttrSpec &a = call.attrs[which];
        switch (draw.below(10)) {
            case 0: call.attrs.erase(call.attrs.begin() + static_cast<std::ptrdiff_t>(which)); break;
            case 1: call.attrs.push_back(AttrSpec(a)); break;
            case 2: call.attrs.push_back(more); break;
            case 3: call.attrs.resize(core::Attrs::most + 1, more); break;
            case 4: a.kind = draw.of(kinds); break;
            case 5: a.n_ints = draw.of(counts); break;
            case 6: a.ints[static_cast<std::size_t>(draw.below(6))] = draw.percent(50) ? draw.of(hostile) : draw.of(shared); break;
            case 7: a.number = draw.of(numbers); break;
            case 8: a.text = draw.of(texts); break;
            default: a = redrawn(call, a, shared);
        }
    }

    AttrSpec redrawn(const CallSpec &call, const AttrSpec &a, const std::array<std::int64_t, 4> &shared) {
        const auto described = std::ranges::find(call.def->attrs, a.name, [](const AttrDef &def) { return std::string_view(def.name); });
        return described == call.def->attrs.end() ? a : attr(*described, shared);
    }

    std::map<const OpDef *, std::vector<CallSpec>> kept_;
};

// ---- Making calls.

// What came of the calls of one operation.
struct Counts {
    int calls = 0, accepted = 0, computed = 0, refused_data = 0;
};

class RandomCalls : public testing::Test {
protected:
    RandomCalls() {
        for (std::int32_t n = 1; n <= 3; n++) backends_.push_back(support::c_backend("cpu", n));
        // The process's first one has the number 1, which calls draw often.
        tl_custom_params params;
        tl_custom_params_init(&params, sizeof params);
        params.name = "numbered";
        params.compute = [](void *, const tl_custom_slice *slice, tl_error *) -> tl_status {
            const std::size_t size = tl_type_size(slice->dst.type);
            auto *bytes = static_cast<unsigned char *>(slice->dst.data);
            for (std::int64_t i = slice->begin; i < slice->end; i++) std::memset(bytes + static_cast<std::size_t>(i) * size, i % 2, size);
            return TL_STATUS_OK;
        };
        must([&](tl_error *err) { return tl_custom_op_create(&params, &custom_, err); });
        EXPECT_EQ(tl_custom_op_number(custom_), 1u);
        // So has the first group.
        must([&](tl_error *err) { return tl_group_create("self", nullptr, &group_, err); });
    }
    ~RandomCalls() override {
        tl_custom_op_free(custom_);
        tl_group_free(group_);
    }

    // The objects of one call.
    struct Scene {
        support::CContext home, elsewhere;
        std::vector<tl_tensor *> leafs, operands;
        std::vector<tl_attr> attrs;
    };

    static support::CContext context(const CallSpec &call) {
        tl_context_params params;
        tl_context_params_init(&params, sizeof params);
        params.mem_limit = mem_limit;
        params.no_alloc = call.no_data;
        return support::c_context(params);
    }

    // A leaf, or null where it is refused.
    static tl_tensor *leaf(Scene &scene, tl_context *ctx, const OperandSpec &spec, const Shape &ne) {
        tl_tensor *made = tl_tensor_new(ctx, static_cast<tl_type>(spec.type), spec.n_dims, ne.data());
        if (made) scene.leafs.push_back(made);
        return made;
    }

    // With data that stay, where it is of a size for them.
    tl_tensor *constant(Scene &scene, tl_context *ctx, const OperandSpec &spec) {
        tl_tensor *made = leaf(scene, ctx, spec, spec.ne);
        if (!made || !tl_tensor_data(made) || !is_small(made)) return made;
        fill(made);
        must([&](tl_error *err) { return tl_tensor_set_constant(made, err); });
        scene.leafs.pop_back();
        return made;
    }

    // An operand in its form, or null where the form is refused: a part of an I64 leaf of 2^62 elements is more than memory has.
    tl_tensor *operand(Scene &scene, const OperandSpec &spec) {
        tl_context *ctx = (spec.elsewhere ? scene.elsewhere : scene.home).get();
        Shape ne = spec.ne;
        switch (spec.form) {
            case Form::null: return nullptr;
            case Form::none: return tl_none();
            case Form::leaf: return leaf(scene, ctx, spec, ne);
            case Form::node: return tl_dup(ctx, leaf(scene, ctx, spec, ne));
            case Form::constant: return constant(scene, ctx, spec);
            case Form::permuted: {
                // Dimension 0 of blocks stays.
                std::array<std::int32_t, 4> axes{0, 1, 2, 3};
                const std::int64_t first = core::traits(spec.type).block_size > 1 ? 1 : 0;
                for (std::int64_t i = first; i < 4; i++)
                    std::swap(axes[static_cast<std::size_t>(i)], axes[static_cast<std::size_t>(first + calls_.draw.below(4 - first))]);
                for (std::size_t i = 0; i < 4; i++) ne[i] = spec.ne[static_cast<std::size_t>(axes[i])];
                OperandSpec source = spec;
                source.n_dims = 4;
                return tl_permute(ctx, leaf(scene, ctx, source, ne), axes.data());
            }
            case Form::part: {
                Shape start{};
                const std::int64_t block = core::traits(spec.type).block_size;
                for (std::size_t d = 0; d < 4; d++) {
                    const std::int64_t step = d == 0 ? block : 1, more = calls_.draw.below(3);
                    if (ne[d] > INT64_MAX - 2 * step) continue;
                    ne[d] += step * more;
                    start[d] = step * calls_.draw.below(more + 1);
                }
                OperandSpec source = spec;
                source.n_dims = 4;
                return tl_slice(ctx, leaf(scene, ctx, source, ne), 4, start.data(), spec.ne.data());
            }
            case Form::stride_0: {
                OperandSpec source = spec;
                source.n_dims = 1;
                tl_tensor *row = leaf(scene, ctx, source, {ne[0], 1, 1, 1});
                const std::array<std::size_t, 3> nb{};
                return tl_view(ctx, row, 4, ne.data(), nb.data(), 0);
            }
            case Form::expanded: {
                const std::size_t first = core::traits(spec.type).block_size > 1 ? 1 : 0;
                for (std::size_t d = first; d < 4; d++) ne[d] = calls_.draw.percent(50) ? 1 : ne[d];
                return tl_expand(ctx, leaf(scene, ctx, spec, ne), 4, spec.ne.data());
            }
        }
        return nullptr;
    }

    // An error that says what was refused, by whom.
    static void expect_named(const COutcome &outcome, const std::string &name) {
        EXPECT_NE(outcome.status, TL_STATUS_OK);
        EXPECT_NE(outcome.status, TL_STATUS_INTERNAL) << outcome.message;
        EXPECT_NE(outcome.message.find(name), std::string::npos) << outcome.message;
        EXPECT_EQ(core::valid_utf8(outcome.message), outcome.message.size()) << outcome.message;
    }

    void call(const CallSpec &spec) {
        Scene scene;
        scene.home = context(spec);
        scene.elsewhere = context(spec);
        bool hollow = false;
        for (const OperandSpec &described : spec.operands) {
            tl_tensor *made = operand(scene, described);
            hollow = hollow || (!made && described.form != Form::null);
            scene.operands.push_back(made);
        }
        for (tl_context *ctx : {scene.home.get(), scene.elsewhere.get()}) {
            const COutcome refused = support::last_error(ctx);
            EXPECT_TRUE(refused.status == TL_STATUS_OK || refused.message.size() > 10) << refused.message;
        }
        if (hollow) {
            unmade_++;
            return;
        }
        for (const AttrSpec &a : spec.attrs) {
            tl_attr raw{};
            raw.name = a.name.c_str();
            raw.kind = a.kind;
            raw.n_ints = a.n_ints;
            std::ranges::copy(a.ints, raw.ints);
            raw.number = a.number;
            raw.text = a.text.c_str();
            scene.attrs.push_back(raw);
        }
        make(spec, scene);
    }

    void make(const CallSpec &spec, Scene &scene) {
        const std::string name = spec.def->name;
        Counts &counts = counts_[spec.def];
        counts.calls++;
        tl_context *ctx = scene.home.get();
        const std::size_t used = tl_context_used_memory(ctx);
        tl_tensor *made = tl_op(ctx, name.c_str(), spec.null_src ? nullptr : scene.operands.data(), scene.operands.size(),
                                spec.null_attrs ? nullptr : scene.attrs.data(), scene.attrs.size());
        const COutcome error = support::last_error(ctx);
        if (!made) {
            expect_named(error, name);
            EXPECT_EQ(tl_context_used_memory(ctx), used) << "a node that was refused has left something";
            return;
        }
        counts.accepted++;
        EXPECT_EQ(error.status, TL_STATUS_OK) << error.message;
        EXPECT_TRUE(spec.def->compose || spec.def->n_results > 1 || tl_tensor_op(made) == name) << tl_tensor_op(made);
        expect_type(spec, made);
        if (!spec.no_data && is_small(made) && std::ranges::all_of(scene.operands, is_small)) {
            calls_.keep(spec);
            compute(spec, scene, made, counts);
        }
        for (tl_context *each : {ctx, scene.elsewhere.get()}) EXPECT_LE(tl_context_peak_memory(each), mem_limit);
    }

    static void expect_type(const CallSpec &spec, const tl_tensor *made) {
        switch (spec.def->result) {
            case core::ResultType::by_hand: return;
            case core::ResultType::of_first: EXPECT_EQ(tl_tensor_type(made), static_cast<tl_type>(spec.operands[0].type)); return;
            case core::ResultType::f32: EXPECT_EQ(tl_tensor_type(made), TL_TYPE_F32); return;
            case core::ResultType::i32: EXPECT_EQ(tl_tensor_type(made), TL_TYPE_I32); return;
            case core::ResultType::i64: EXPECT_EQ(tl_tensor_type(made), TL_TYPE_I64); return;
        }
    }

    static bool is_small(const tl_tensor *t) { return t == tl_none() || tl_tensor_n_elements(t) <= most_elements; }

    // Numbers that are some row's, small floats, or any bits: NaN, infinities and denormals are among them.
    void fill(tl_tensor *leaf) {
        Draw &draw = calls_.draw;
        std::vector<unsigned char> bytes(tl_tensor_nbytes(leaf));
        const int how = static_cast<int>(draw.below(3));
        const core::DTypeTraits &type = core::traits(static_cast<core::DType>(tl_tensor_type(leaf)));
        if (how == 0 || (how == 1 && type.kind == core::Kind::weight)) {
            for (unsigned char &byte : bytes) byte = static_cast<unsigned char>(draw.bits());
        } else if (type.kind == core::Kind::integer) {
            // Little-endian, as all systems are that this runs on.
            for (std::size_t i = 0; i < bytes.size(); i += type.size) bytes[i] = static_cast<unsigned char>(draw.below(how == 1 ? 1 : 3));
        }
        if (how == 2 && type.kind == core::Kind::floating) {
            std::vector<float> values(static_cast<std::size_t>(tl_tensor_n_elements(leaf)));
            for (float &value : values) value = static_cast<float>(draw.below(4096) - 2048) / 512;
            must([&](tl_error *err) { return tl_tensor_write_f32(leaf, values.data(), values.size(), err); });
            return;
        }
        if (type.type == core::DType::boolean) {
            for (unsigned char &byte : bytes) byte &= 1;  // other bytes cannot be written
        }
        must([&](tl_error *err) { return tl_tensor_write(leaf, bytes.data(), 0, bytes.size(), err); });
    }

    static std::vector<unsigned char> bytes_of(const tl_tensor *t) {
        std::vector<unsigned char> bytes(tl_tensor_nbytes(t));
        must([&](tl_error *err) { return tl_tensor_read(t, bytes.data(), 0, bytes.size(), err); });
        return bytes;
    }

    // By 1 to 3 threads: the same bits, or the same refusal of some value.
    void compute(const CallSpec &spec, const Scene &scene, tl_tensor *made, Counts &counts) {
        std::vector<std::vector<unsigned char>> data;
        for (tl_tensor *leaf : scene.leafs) {
            fill(leaf);
            data.push_back(bytes_of(leaf));
        }
        tl_graph *raw = nullptr;
        const COutcome graph_made = outcome_of([&](tl_error *err) { return tl_graph_create(scene.home.get(), &made, 1, &raw, err); });
        const support::CGraph graph(raw);
        if (graph_made.status == TL_STATUS_OUT_OF_MEMORY) return;
        ASSERT_EQ(graph_made.status, TL_STATUS_OK) << graph_made.message;
        std::vector<unsigned char> first;
        COutcome first_outcome;
        const std::size_t begin = static_cast<std::size_t>(calls_.draw.below(3));
        for (std::size_t i = 0; i < 2; i++) {
            // What was written by the run before would be the operands of this one.
            for (std::size_t leaf = 0; leaf < data.size(); leaf++) {
                must([&](tl_error *err) { return tl_tensor_write(scene.leafs[leaf], data[leaf].data(), 0, data[leaf].size(), err); });
            }
            tl_backend *backend = backends_[(begin + i) % backends_.size()].get();
            const COutcome outcome = outcome_of([&](tl_error *err) { return tl_graph_compute(graph.get(), backend, err); });
            if (outcome.status == TL_STATUS_OUT_OF_MEMORY) return;
            // An empty operand of an absurd extent, of which the result has nothing.
            if (outcome.status == TL_STATUS_UNSUPPORTED && outcome.message.find("more than 2^58 elements") != std::string::npos) return;
            if (outcome.status != TL_STATUS_OK) {
                // That of the node, which is another operation's if this one is composed.
                expect_named(outcome, spec.def->compose ? "graph_compute: " : spec.def->name);
                EXPECT_TRUE(outcome.status == TL_STATUS_INVALID_ARGUMENT || outcome.status == TL_STATUS_GROUP) << outcome.message;
            }
            const std::vector<unsigned char> bytes = outcome.status == TL_STATUS_OK ? bytes_of(made) : std::vector<unsigned char>();
            if (i == 0) {
                first = bytes;
                first_outcome = outcome;
                continue;
            }
            EXPECT_EQ(outcome.status, first_outcome.status) << outcome.message << first_outcome.message;
            EXPECT_EQ(outcome.message, first_outcome.message);
            EXPECT_TRUE(bytes == first) << "other bits with another number of threads";
        }
        (first_outcome.status == TL_STATUS_OK ? counts.computed : counts.refused_data)++;
    }

    tl_custom_op *custom_ = nullptr;
    tl_group *group_ = nullptr;
    std::vector<support::CBackend> backends_;
    Calls calls_{static_cast<std::uint64_t>(std::atoll(setting("TENSORLIB_FUZZ_SEED", "1")))};
    std::map<const OpDef *, Counts> counts_;
    int unmade_ = 0;  // calls of which an operand was refused

    static const char *setting(const char *name, const char *otherwise) {
        const char *value = std::getenv(name);
        return value && *value ? value : otherwise;
    }
    static long peak_megabytes() {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss >> 10;
    }
};

TEST_F(RandomCalls, each_gives_a_tensor_or_an_error_that_names_the_operation) {
    using Clock = std::chrono::steady_clock;
    const double seconds = std::atof(setting("TENSORLIB_FUZZ_SECONDS", "3"));
    ASSERT_GT(seconds, 0);
    const auto begin = Clock::now();
    const auto since = [](Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); };
    const long before = peak_megabytes();
    std::int64_t n = 0;
    double longest = 0;
    std::string longest_call;
    // Where an operation requires one shape and type, one blind draw in 300 is valid. Calls are therefore counted from when each operation
    // has had a valid one. With one in 300, 5000 draws are not enough with a probability of e^-16.
    for (const OpDef *def : core::all_ops()) {
        for (int i = 0; i < 5000 && !calls_.has_kept(*def) && !HasFailure(); i++) {
            const CallSpec spec = calls_.next(*def);
            SCOPED_TRACE(std::string("TENSORLIB_FUZZ_SEED=") + setting("TENSORLIB_FUZZ_SEED", "1") +
                         ", before calls are counted: " + spec.text());
            ASSERT_NO_THROW(call(spec));
        }
    }
    counts_.clear();
    // On a machine that does other things too the time is over before shares of calls say anything.
    constexpr std::int64_t fewest_rounds = 400;
    const auto n_ops = static_cast<std::int64_t>(core::all_ops().size());
    while ((since(begin) < seconds || n < fewest_rounds * n_ops) && !HasFailure()) {
        for (const OpDef *def : core::all_ops()) {
            const CallSpec spec = calls_.next(*def);
            SCOPED_TRACE(std::string("TENSORLIB_FUZZ_SEED=") + setting("TENSORLIB_FUZZ_SEED", "1") + ", call " + std::to_string(n++) +
                         ": " + spec.text());
            const auto called = Clock::now();
            ASSERT_NO_THROW(call(spec));
            if (const double took = since(called); took > longest) {
                longest = took;
                longest_call = spec.text();
            }
        }
    }
    if (HasFailure()) return;
    std::printf("%lld calls, %d operands refused before; the longest took %.3f s: %s\n", static_cast<long long>(n), unmade_, longest,
                longest_call.c_str());
    // Most take microseconds, encoding 4096 elements as IQ1_S up to 30 ms: under sanitizers, on a machine that does other things
    // too, 2 s.
    EXPECT_LT(longest, 20) << longest_call;
    // Calls hold 8 MiB at most, backends little more; AddressSanitizer keeps 256 MiB that were freed.
    EXPECT_LT(peak_megabytes() - before, 512);
    for (const OpDef *def : core::all_ops()) {
        const Counts &of = counts_[def];
        std::printf("  %-12s %7d calls, %7d accepted, %7d computed, %7d refused for their data\n", def->name, of.calls, of.accepted,
                    of.computed, of.refused_data);
        // Whatever an operation asks of its operands: a tenth of the calls is valid (19 % of those of rope, which asks the most), and most
        // of these are computed.
        EXPECT_GE(of.calls, 100) << def->name;
        EXPECT_GE(of.accepted * 10, of.calls) << def->name;
        EXPECT_LT(of.accepted, of.calls) << def->name;
        EXPECT_GE((of.computed + of.refused_data) * 2, of.accepted) << def->name;
        // What is sent has to be received in the same graph, which has one node here.
        const bool takes_two = def->op == core::Op::send || def->op == core::Op::receive;
        EXPECT_EQ(of.computed > 0, !takes_two) << def->name;
    }
}

}  // namespace
