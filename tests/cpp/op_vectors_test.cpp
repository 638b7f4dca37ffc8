// The reference implementation's results for operations (ops and ops2, .json and .safetensors, in ../shared/vectors). Runs each case of an
// existing operation, by its name and its attributes' names, on the device and the ISA that the environment requests.
#include "c_abi.hpp"
#include "json.hpp"
#include "vectors.hpp"

#include "ops/op_def.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <vector>

namespace {

using support::Json;
using support::must;

// What is no attribute among a case's parameters. Of argsort the order is one.
bool is_remark(const std::string &op, const std::string &name) {
    return name == "note" || name == "freq_factors" || name.ends_with("_permute") ||
           ((name == "order" || name == "t") && op.starts_with("opt_step_"));
}

std::string setting(const char *name, const char *otherwise) {
    const char *value = std::getenv(name);
    return value && *value ? value : otherwise;
}

// The operations that a case names: one, or two of which the second takes the first's result.
std::vector<std::string> ops_of(const Json &given) {
    const std::string op = given["op"].string;
    if (op == "permute_cont") return {"permute", "cont"};
    if (op == "transpose_cont") return {"transpose", "cont"};
    return {op};
}

bool is_any_of(std::string_view name, std::initializer_list<std::string_view> names) { return std::ranges::count(names, name) > 0; }

bool has_integers(const std::string &type) { return type[0] == 'i' && type.find('q') == std::string::npos; }

// The normalised mean square error that is right, by the vectors' README.
double tolerance_of(const Json &given) {
    const std::string op = given["op"].string, to = given["dst"]["type"].string;
    const bool encoded = !has_integers(to) && !is_any_of(to, {"f32", "f16", "bf16"});
    // A format's codes are the encoder's to choose: near what the reference chose.
    if (encoded) return 5e-4;
    if (has_integers(to)) return 0;
    // These move or convert elements, and decode them, each way exact.
    if (is_any_of(op, {"permute_cont", "transpose_cont", "cast", "get_rows", "repeat", "concat", "diag_mask_inf", "diag_mask_zero", "pad",
                       "pad_reflect_1d", "roll", "tri", "diag", "win_part", "win_unpart", "get_rel_pos", "im2col_3d"}))
        return 0;
    if (op.starts_with("pool_") && given["params"]["op"].string == "max") return 0;
    if (op.starts_with("mul_mat") || op.find("conv") != std::string::npos || op == "im2col" || op == "flash_attn_ext") return 5e-4;
    for (const Json &source : given["src"].array) {
        if (!has_integers(source["type"].string) && source["type"].string != "f32") return 5e-4;
    }
    const Json &params = given["params"];
    const std::string gate = params.has("op") ? params["op"].string : "";
    if (is_any_of(op, {"gelu", "gelu_quick"}) || is_any_of(gate, {"geglu", "geglu_quick"})) return 1e-6;
    return 1e-7;
}

// Sum of squared differences over sum of squared reference; what is not finite must be the same.
double error_of(const std::vector<float> &got, const std::vector<float> &want) {
    double off = 0, all = 0;
    for (std::size_t i = 0; i < want.size(); i++) {
        const double g = static_cast<double>(got[i]), w = static_cast<double>(want[i]);
        if (g == w || (std::isnan(g) && std::isnan(w))) {
            all += std::isfinite(w) ? w * w : 0;
            continue;
        }
        if (!std::isfinite(g) || !std::isfinite(w)) return std::numeric_limits<double>::infinity();
        off += (g - w) * (g - w);
        all += w * w;
    }
    return off == 0 ? 0 : off / std::max(all, std::numeric_limits<double>::min());
}

// What the engine refuses, with a reason in docs/ops.md: windows that do not fit.
bool is_refused(const std::string &id) { return id.starts_with("conv_2d_too_") || id.ends_with("_window_too_large"); }

// Where the reference is wrong, and ID/exact has what is right.
bool is_wrong(const std::string &id) { return id == "upscale_bilinear_antialias_align"; }

// A file of cases, and how many it has.
struct File {
    const char *name;
    std::size_t cases;
};
void PrintTo(const File &file, std::ostream *out) { *out << file.name; }

class OpVectors : public testing::TestWithParam<File> {
protected:
    OpVectors() : data_(std::string(GetParam().name) + ".safetensors") {}

    void load() {
        std::ifstream in(std::string(TENSORLIB_ROOT) + "/../shared/vectors/" + GetParam().name + ".json");
        const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
        cases_ = support::JsonReader::read(text).array;
        device_ = setting("TENSORLIB_DEVICE", "cpu");
        backend_ = support::c_backend(device_.c_str(), std::atoi(setting("TENSORLIB_TEST_THREADS", "2").c_str()));
        const std::string isa = tl_backend_isa(backend_.get());
        ASSERT_EQ(setting("TENSORLIB_ISA", isa.c_str()), isa);
    }

    // A leaf with a vector's bytes.
    tl_tensor *leaf(tl_context *ctx, const Json &what, const std::string &name) const {
        tl_type type;
        must([&](tl_error *err) { return tl_type_from_name(what["type"].string.c_str(), &type, err); });
        std::array<std::int64_t, 4> ne;
        for (std::size_t i = 0; i < 4; i++) ne[i] = static_cast<std::int64_t>(what["ne"].array.at(i).number);
        tl_tensor *tensor = tl_tensor_new(ctx, type, 4, ne.data());
        if (!tensor) throw std::runtime_error(support::last_error(ctx).message);
        const auto bytes = data_.get<std::uint8_t>(name);
        must([&](tl_error *err) { return tl_tensor_write(tensor, bytes.data(), 0, bytes.size(), err); });
        return tensor;
    }

    static tl_tensor *node(tl_context *ctx, const std::string &op, const std::vector<tl_tensor *> &src, const std::vector<tl_attr> &attrs) {
        tl_tensor *made = tl_op(ctx, op.c_str(), src.data(), src.size(), attrs.data(), attrs.size());
        if (!made) throw std::runtime_error(support::last_error(ctx).message);
        return made;
    }

    // The attributes by their names; the texts stay the case's.
    static std::vector<tl_attr> attrs_of(const Json &given) {
        std::vector<tl_attr> attrs;
        for (const auto &[name, value] : given["params"].object) {
            if (is_remark(given["op"].string, name)) continue;
            tl_attr attr{};
            attr.name = name.c_str();
            switch (value.kind) {
                case Json::Kind::string:
                    attr.kind = TL_ATTR_TEXT;
                    attr.text = value.string.c_str();
                    break;
                case Json::Kind::array:
                    attr.kind = TL_ATTR_INTS;
                    attr.n_ints = static_cast<std::int32_t>(value.array.size());
                    for (std::size_t i = 0; i < value.array.size(); i++) attr.ints[i] = static_cast<std::int64_t>(value.array[i].number);
                    break;
                default:  // A whole number stands for an integer.
                    attr.kind = TL_ATTR_NUMBER;
                    attr.number = value.kind == Json::Kind::boolean ? value.boolean : value.number;
            }
            attrs.push_back(attr);
        }
        // The reference's are over rows.
        const std::string &op = given["op"].string;
        if (op == "mean" || op == "argmax") {
            attrs.push_back({.name = "dims", .kind = TL_ATTR_INTS, .n_ints = 1, .ints = {0}, .number = 0, .text = nullptr});
            attrs.push_back({.name = "keep", .kind = TL_ATTR_INTS, .n_ints = 1, .ints = {op == "mean"}, .number = 0, .text = nullptr});
        }
        return attrs;
    }

    static std::vector<float> read(tl_tensor *t) {
        std::vector<float> values(static_cast<std::size_t>(tl_tensor_n_elements(t)));
        must([&](tl_error *err) { return tl_tensor_read_f32(t, values.data(), values.size(), err); });
        return values;
    }

    // The rows of a result in which only the set counts.
    static void sort_rows(std::vector<float> &values, std::int64_t length) {
        for (auto row = values.begin(); row != values.end(); row += length) std::sort(row, row + length);
    }

    // False where the device has no kernel for it; the CPU has all.
    bool run(const Json &given) const {
        const std::string id = given["id"].string;
        tl_context_params params;
        tl_context_params_init(&params, sizeof params);
        params.backend = backend_.get();
        const support::CContext context = support::c_context(params);
        tl_context *ctx = context.get();
        std::vector<tl_tensor *> src;
        const std::vector<Json> &sources = given["src"].array;
        for (std::size_t i = 0; i < sources.size(); i++) src.push_back(leaf(ctx, sources[i], id + "/src" + std::to_string(i)));
        for (std::size_t i = 0; i < src.size(); i++) {
            const std::string name = "src" + std::to_string(i) + "_permute";
            if (!given["params"].has(name)) continue;
            std::array<std::int32_t, 4> axes;
            for (std::size_t d = 0; d < 4; d++) axes[d] = static_cast<std::int32_t>(given["params"][name].array.at(d).number);
            src[i] = tl_permute(ctx, src[i], axes.data());
        }
        tl_tensor *want = leaf(ctx, given["dst"], id + (is_wrong(id) ? "/exact" : "/dst"));
        std::vector<tl_attr> attrs = attrs_of(given);
        tl_tensor *got = nullptr;
        for (const std::string &op : ops_of(given)) {
            got = node(ctx, op, src, attrs);
            src = {got};
            attrs.clear();
        }
        EXPECT_EQ(tl_tensor_type(got), tl_tensor_type(want));
        // The first file's states follow the outputs, as more rows.
        const bool packed = !given.has("dst1") && tensorlib::core::find_op(ops_of(given).back())->n_results > 1;
        for (std::int32_t d = 0; d < 4 && !packed; d++) EXPECT_EQ(tl_tensor_ne(got, d), tl_tensor_ne(want, d)) << "dimension " << d;
        if (HasFailure()) return true;
        // The second result is computed with the first.
        const bool has_further = packed || given.has("dst1");
        tl_tensor *further = has_further ? tl_result(ctx, got, 1) : nullptr;
        if (has_further && !further) throw std::runtime_error(support::last_error(ctx).message);
        tl_tensor *outputs[] = {got, further};
        tl_graph *made = nullptr;
        must([&](tl_error *err) { return tl_graph_create(ctx, outputs, further ? 2 : 1, &made, err); });
        const support::CGraph graph(made);
        const auto computed = support::outcome_of([&](tl_error *err) { return tl_graph_compute(graph.get(), backend_.get(), err); });
        if (computed.status == TL_STATUS_UNSUPPORTED && device_ != "cpu") return false;
        EXPECT_EQ(computed.status, TL_STATUS_OK) << computed.message;
        if (computed.status != TL_STATUS_OK) return true;
        std::vector<float> values = read(got), expected = read(want);
        if (packed) {
            const std::vector<float> states = read(further);
            values.insert(values.end(), states.begin(), states.end());
        }
        EXPECT_EQ(values.size(), expected.size());
        if (values.size() != expected.size()) return true;
        if (given["op"].string == "top_k") {
            sort_rows(values, tl_tensor_ne(want, 0));
            sort_rows(expected, tl_tensor_ne(want, 0));
        }
        EXPECT_LE(error_of(values, expected), tolerance_of(given));
        if (given.has("dst1")) {
            tl_tensor *states = leaf(ctx, given["dst1"], id + "/dst1");
            for (std::int32_t d = 0; d < 4; d++) EXPECT_EQ(tl_tensor_ne(further, d), tl_tensor_ne(states, d)) << "dst1, dimension " << d;
            EXPECT_LE(error_of(read(further), read(states)), tolerance_of(given)) << "dst1";
        }
        return true;
    }

    support::Vectors data_;
    std::vector<Json> cases_;
    std::string device_;
    support::CBackend backend_;
};

// The names of operations with how many cases of each: "rope 3, roll 1".
std::string counted(const std::map<std::string, int> &ops) {
    std::string text;
    for (const auto &[op, n] : ops) text += (text.empty() ? "" : ", ") + op + " " + std::to_string(n);
    return text.empty() ? "none" : text;
}

TEST_P(OpVectors, results_are_the_reference_implementations) {
    TL_SKIP_WITHOUT_VECTORS(data_);
    ASSERT_NO_FATAL_FAILURE(load());
    std::map<std::string, int> ran, waiting, unsupported, refused;
    for (const Json &given : cases_) {
        SCOPED_TRACE(given["id"].string);
        const std::string op = given["op"].string;
        if (is_refused(given["id"].string)) {
            EXPECT_THROW(run(given), std::runtime_error);
            refused[op]++;
            continue;
        }
        const auto there = [](const std::string &name) { return tensorlib::core::find_op(name) != nullptr; };
        if (!std::ranges::all_of(ops_of(given), there)) {
            waiting[op]++;
            continue;
        }
        try {
            (run(given) ? ran : unsupported)[op]++;
        } catch (const std::exception &error) {
            ADD_FAILURE() << error.what();
        }
    }
    const auto sum = [](const std::map<std::string, int> &ops) {
        int n = 0;
        for (const auto &[op, cases] : ops) n += cases;
        return n;
    };
    std::printf("vectors %s %s: %d cases ran (%s)\n", device_.c_str(), tl_backend_isa(backend_.get()), sum(ran), counted(ran).c_str());
    std::printf("vectors: %d cases wait for an operation (%s)\n", sum(waiting), counted(waiting).c_str());
    std::printf("vectors: %d cases are refused (%s)\n", sum(refused), counted(refused).c_str());
    std::printf("vectors: %d cases have no kernel on this device (%s)\n", sum(unsupported), counted(unsupported).c_str());
    EXPECT_EQ(cases_.size(), GetParam().cases);
    EXPECT_EQ(static_cast<std::size_t>(sum(ran) + sum(waiting) + sum(unsupported) + sum(refused)), cases_.size()) << "a case did not run";
    // Devices other than the CPU do not encode.
    unsupported.erase("cast");
    EXPECT_TRUE(unsupported.empty()) << "a kernel is missing: " << counted(unsupported);
}

INSTANTIATE_TEST_SUITE_P(Files, OpVectors, testing::Values(File{"ops", 153}, File{"ops2", 163}),
                         [](const auto &file) { return std::string(file.param.name); });

// What the comparison above is made of tells a wrong result from a right one.
TEST(OpVectorsError, counts_what_differs) {
    const float inf = INFINITY, nan = NAN;
    EXPECT_EQ(error_of({1, -inf, nan, -0.0f}, {1, -inf, nan, 0}), 0);
    EXPECT_EQ(error_of({1, 2}, {1, 1}), 0.5);
    EXPECT_EQ(error_of({inf}, {1}), INFINITY);
    EXPECT_EQ(error_of({nan, 1}, {1, 1}), INFINITY);
    EXPECT_EQ(error_of({1}, {nan}), INFINITY);
    EXPECT_GT(error_of({1e-30f}, {0}), 1);
}

}  // namespace
