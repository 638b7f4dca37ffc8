// Tensors that are shared with other libraries through DLPack: each check and message, shapes and strides, lifetimes in every order, and
// what else must not touch shared memory.
#include "api/dlpack.hpp"
#include "c_abi.hpp"
#include "gguf_files.hpp"
#include "graph/context.hpp"
#include "support.hpp"

#include <tensorlib/gguf.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <thread>

// DLPack's structs, as its header defines them. tensorlib's headers, which declare one of them, are included before.
struct DLTensor {
    void *data;
    struct {
        std::int32_t device_type, device_id;
    } device;
    std::int32_t ndim;
    struct {
        std::uint8_t code, bits;
        std::uint16_t lanes;
    } dtype;
    std::int64_t *shape, *strides;
    std::uint64_t byte_offset;
};

struct DLManagedTensorVersioned {
    struct {
        std::uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(DLManagedTensorVersioned *self);
    std::uint64_t flags;
    DLTensor dl_tensor;
};

namespace {

using support::expect_error;
using support::leaf;
using Lists = std::vector<std::int64_t>;

// What the last owner of an exported tensor does.
struct Delete {
    void operator()(DLManagedTensorVersioned *managed) const { managed->deleter(managed); }
};
using Exported = std::unique_ptr<DLManagedTensorVersioned, Delete>;

Exported exported(const tl::Tensor &t) { return Exported(t.to_dlpack()); }

Lists shape_of(const Exported &e) { return {e->dl_tensor.shape, e->dl_tensor.shape + e->dl_tensor.ndim}; }
Lists strides_of(const Exported &e) { return {e->dl_tensor.strides, e->dl_tensor.strides + e->dl_tensor.ndim}; }
bool is_read_only(const Exported &e) { return e->flags & 1; }
float *floats(const Exported &e) { return static_cast<float *>(e->dl_tensor.data); }

// Another library's tensor of F32, over floats that count up from 0 and start on a cache line. Its deleter counts. It outlives the
// contexts that import it.
class Foreign {
public:
    explicit Foreign(Lists shape, Lists strides = {}) : shape_(std::move(shape)), strides_(std::move(strides)) {
        std::iota(values.begin(), values.end(), 0.f);
        managed.version = {1, 1};
        managed.manager_ctx = this;
        managed.deleter = [](DLManagedTensorVersioned *self) {
            auto *foreign = static_cast<Foreign *>(self->manager_ctx);
            foreign->deleted++;
            if (foreign->on_delete) foreign->on_delete();
        };
        managed.dl_tensor = {values.data(),
                             {1, 0},
                             static_cast<std::int32_t>(shape_.size()),
                             {2, 32, 1},
                             shape_.data(),
                             strides_.empty() ? nullptr : strides_.data(),
                             0};
    }
    Foreign(const Foreign &) = delete;
    Foreign &operator=(const Foreign &) = delete;

    alignas(64) std::array<float, 64> values;
    std::atomic<int> deleted{0};
    std::function<void()> on_delete;
    DLManagedTensorVersioned managed{};

private:
    Lists shape_, strides_;
};

// Imports, and gives the handle's context back with it.
tl::Tensor imported(Foreign &foreign, const tl::Context &ctx = tl::Context()) { return ctx.from_dlpack(&foreign.managed); }

support::CContext c_context() {
    tl_context_params params;
    tl_context_params_init(&params, sizeof params);
    return support::c_context(params);
}

Lists shape_of(const tl::Tensor &t) {
    const auto shape = t.shape();
    return {shape.begin(), shape.begin() + t.n_dims()};
}

TEST(Export, shows_the_memory_with_the_shape_reversed) {
    const tl::Context ctx;
    const auto t = leaf(ctx, {4, 3, 2}, 1);
    const Exported e = exported(t);
    EXPECT_EQ(e->version.major, 1u);
    EXPECT_EQ(e->dl_tensor.device.device_type, 1);
    EXPECT_EQ(shape_of(e), Lists({2, 3, 4}));
    EXPECT_EQ(strides_of(e), Lists({12, 4, 1}));
    EXPECT_EQ(e->dl_tensor.byte_offset, 0u);
    EXPECT_FALSE(is_read_only(e));
    EXPECT_EQ(std::vector<float>(floats(e), floats(e) + 24), t.read<float>());
    floats(e)[5] = 77;
    EXPECT_EQ(t.read<float>()[5], 77.f);
    t.set({0, 0, 0}, 78.f);
    EXPECT_EQ(floats(e)[0], 78.f);
}

TEST(Export, has_every_plain_type) {
    const struct {
        tl::Type type;
        int code, bits;
    } types[] = {{tl::Type::f32, 2, 32}, {tl::Type::f16, 2, 16},   {tl::Type::bf16, 4, 16}, {tl::Type::f64, 2, 64},
                 {tl::Type::i8, 0, 8},   {tl::Type::i16, 0, 16},   {tl::Type::i32, 0, 32},  {tl::Type::i64, 0, 64},
                 {tl::Type::u8, 1, 8},   {tl::Type::boolean, 6, 8}};
    const tl::Context ctx, other;
    for (const auto &[type, code, bits] : types) {
        // Without negative numbers, which U8 lacks.
        const auto t = abs(leaf(ctx, {5, 2}, 3)).cast(type);
        tl::Backend().compute({t});
        Exported e = exported(t);
        EXPECT_EQ(e->dl_tensor.dtype.code, code);
        EXPECT_EQ(e->dl_tensor.dtype.bits, bits);
        EXPECT_EQ(e->dl_tensor.dtype.lanes, 1);
        EXPECT_EQ(strides_of(e), Lists({5, 1})) << tl::type_name(type);
        const auto back = other.from_dlpack(e.get());
        (void)e.release();
        EXPECT_EQ(back.type(), type);
        EXPECT_EQ(back.read_f32(), t.read_f32()) << tl::type_name(type);
    }
}

TEST(Export, of_views_has_their_strides) {
    const tl::Context ctx;
    const auto t = leaf(ctx, {4, 3, 2}, 1);
    const Exported e = exported(t.permute({1, 0, 2, 3}));
    EXPECT_EQ(shape_of(e), Lists({2, 4, 3}));
    EXPECT_EQ(strides_of(e), Lists({12, 1, 4}));
    const Exported part = exported(t.slice({1, 1, 0}, {2, 2, 2}));
    EXPECT_EQ(shape_of(part), Lists({2, 2, 2}));
    EXPECT_EQ(strides_of(part), Lists({12, 4, 1}));
    EXPECT_EQ(floats(part)[0], t.read<float>()[5]);
    EXPECT_FALSE(is_read_only(part));
}

TEST(Export, of_elements_that_share_bytes_is_read_only) {
    const tl::Context ctx;
    const Exported e = exported(expand(leaf(ctx, {1, 3}, 1), {4, 3}));
    EXPECT_EQ(strides_of(e), Lists({1, 0}));
    EXPECT_TRUE(is_read_only(e));
}

TEST(Export, of_no_elements_has_no_address) {
    const tl::Context ctx;
    const Exported e = exported(ctx.zeros(tl::Type::f32, {4, 0}));
    EXPECT_EQ(e->dl_tensor.data, nullptr);
    EXPECT_EQ(shape_of(e), Lists({0, 4}));
}

TEST(Export, of_results_needs_them_computed) {
    const tl::Backend cpu("cpu", {2});
    const tl::Context ctx;
    const auto a = leaf(ctx, {8}, 1);
    const auto sum = a + a;
    expect_error(tl::Status::invalid_argument, {"tensor_to_dlpack", "add", "not computed", "output"}, [&] { (void)sum.to_dlpack(); });
    cpu.compute({sum});
    const Exported e = exported(sum);
    EXPECT_EQ(floats(e)[3], 2 * a.read<float>()[3]);
    a.write<float>(std::vector<float>(8, 2.f));
    cpu.compute({sum});
    EXPECT_EQ(floats(e)[3], 4.f);
    const tl::Context shapes(tl::ContextOptions{.no_alloc = true});
    const auto none = shapes.zeros(tl::Type::f32, {4});
    expect_error(tl::Status::invalid_argument, {"tensor_to_dlpack", "no data yet"}, [&] { (void)none.to_dlpack(); });
    shapes.allocate();
    EXPECT_EQ(floats(exported(none))[0], 0.f);
}

TEST(Export, of_quantised_types_names_those_that_are_valid) {
    const tl::Context ctx;
    const auto t = leaf(ctx, {32}, 1, tl::Type::q8_0);
    expect_error(tl::Status::type_mismatch, {"tensor_to_dlpack", "q8_0", "f32", "bf16", "i64", "cast"}, [&] { (void)t.to_dlpack(); });
}

TEST(Export, of_constants_is_read_only) {
    const tl::Context ctx;
    const auto t = leaf(ctx, {8, 2}, 1);
    EXPECT_FALSE(is_read_only(exported(t)));
    t.set_constant();
    EXPECT_TRUE(is_read_only(exported(t)));
    EXPECT_TRUE(is_read_only(exported(t.narrow(1, 1, 1))));
}

TEST(Export, of_files_is_read_only_and_keeps_them) {
    const std::string bytes = support::Bytes().head(1, 0).tensor("w", {4}, 0, 0).pad().floats(1, 4).str();
    const support::TempFolder folder;
    std::ofstream(folder.path("file.gguf"), std::ios::binary) << bytes;
    Exported e;
    {
        const tl::Context ctx;
        e = exported(tl::Gguf::open(folder.path("file.gguf")).tensor(ctx, "w"));
    }
    EXPECT_TRUE(is_read_only(e));
    EXPECT_EQ(floats(e)[3], 4.f);
}

TEST(Export, is_busy_while_the_tensor_is_written) {
    const support::CContext ctx = c_context();
    tl_tensor *t = tl_tensor_new_1d(ctx.get(), TL_TYPE_F32, 4);
    void *data = nullptr;
    DLManagedTensorVersioned *managed = nullptr;
    support::must([&](tl_error *err) { return tl_tensor_map(t, TL_ACCESS_WRITE, &data, err); });
    EXPECT_EQ(tl_tensor_to_dlpack(t, &managed, nullptr), TL_STATUS_BUSY);
    EXPECT_EQ(managed, nullptr);
    tl_tensor_unmap(t, TL_ACCESS_WRITE);
    support::must([&](tl_error *err) { return tl_tensor_to_dlpack(t, &managed, err); });
    EXPECT_EQ(managed->dl_tensor.data, data);
    Exported{managed};
    EXPECT_EQ(tl_tensor_to_dlpack(t, nullptr, nullptr), TL_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(tl_tensor_to_dlpack(nullptr, &managed, nullptr), TL_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(tl_tensor_to_dlpack(tl_none(), &managed, nullptr), TL_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(managed, nullptr);
}

TEST(Export, keeps_the_memory) {
    Exported e, of_view;
    std::vector<float> expected;
    {
        const tl::Context weights, request;
        const auto t = leaf(weights, {1 << 20}, 1);
        expected = t.read<float>();
        e = exported(t);
        of_view = exported(request.op("reshape", {t.narrow(0, 10, 8)}, {{"ne", {4, 2}, {}, 0}}));
    }
    EXPECT_EQ(std::vector<float>(floats(e), floats(e) + expected.size()), expected);
    std::thread([&] { e.reset(); }).join();
    EXPECT_EQ(floats(of_view)[0], expected[10]);
}

TEST(Export, keeps_the_context_from_reset) {
    tl::Context ctx;
    Exported e = exported(leaf(ctx, {4}, 1)), again = exported(leaf(ctx, {4}, 1));
    e.reset();
    expect_error(tl::Status::busy, {"context_reset", "exported tensor"}, [&] { ctx.reset(); });
    again.reset();
    ctx.reset();
}

TEST(Export, keeps_an_original_from_being_dropped) {
    const tl::Backend cpu("cpu", {2});
    const tl::Context ctx, request;
    const auto w = leaf(ctx, {256, 256}, 1);
    Exported e = exported(w);
    w.set_constant();
    cpu.compute({mul_mat(w, leaf(request, {256, 64}, 2))});
    const std::vector<float> values = w.read<float>();
    expect_error(tl::Status::busy, {"tensor_drop_original", "1 tensors", "tensor_to_dlpack"}, [&] { w.drop_original(); });
    EXPECT_EQ(std::vector<float>(floats(e), floats(e) + values.size()), values);
    e.reset();
    w.drop_original();
    expect_error(tl::Status::unavailable, {"tensor_to_dlpack", "dropped", "tensor_read"}, [&] { (void)w.to_dlpack(); });
}

TEST(Export, of_many_threads) {
    const tl::Context ctx;
    const auto t = leaf(ctx, {64}, 1);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&] {
            for (int n = 0; n < support::repeats(200, 20000); n++) {
                Exported e = exported(t);
                EXPECT_EQ(e->dl_tensor.ndim, 1);
            }
        });
    }
    for (auto &thread : threads) thread.join();
}

TEST(Import, shows_the_memory_with_the_shape_reversed) {
    Foreign foreign({2, 3, 4});
    {
        const auto t = imported(foreign);
        EXPECT_EQ(t.op(), "leaf");
        EXPECT_EQ(shape_of(t), Lists({4, 3, 2}));
        EXPECT_EQ(t.read<float>(), std::vector<float>(foreign.values.begin(), foreign.values.begin() + 24));
        t.set({1, 2, 1}, 5.f);
        EXPECT_EQ(foreign.values[21], 5.f);
        foreign.values[0] = 8;
        EXPECT_EQ(t.get({0, 0, 0}), 8.f);
        EXPECT_EQ(floats(exported(t)), foreign.values.data());
        EXPECT_EQ(foreign.deleted, 0);
    }
    EXPECT_EQ(foreign.deleted, 1);
}

TEST(Import, computes_with_the_memory_and_into_it) {
    const tl::Backend cpu("cpu", {2});
    Foreign from({4, 8}), to({4, 8});
    const tl::Context ctx;
    const auto a = imported(from, ctx), b = imported(to, ctx);
    const auto product = mul_mat(a, b);
    cpu.compute({product});
    EXPECT_EQ(support::first_wrong(product.read<float>(), support::mul_mat(a.read<float>(), a.shape(), b.read<float>(), b.shape())), "");
    cpu.compute({cpy(a + a, b)});
    EXPECT_EQ(to.values[31], 62.f);
    EXPECT_EQ(from.values[31], 31.f);
}

// Each shape with its strides, in DLPack's order, against the elements that NumPy would show.
TEST(Import, of_any_strides_has_the_same_elements) {
    const struct {
        Lists shape, strides;
    } layouts[] = {
        {{3, 4}, {4, 1}},                 // contiguous
        {{4, 3}, {1, 4}},                 // transposed
        {{3, 2}, {8, 2}},                 // every second row and column
        {{5}, {3}},                       // every third
        {{5}, {0}},                       // one element, repeated
        {{2, 3, 4}, {12, 1, 3}},          // permuted
        {{2, 3, 4}, {1, 8, 2}},           // the slowest dimension is contiguous
        {{2, 3, 4}, {24, 8, 2}},          // no dimension is contiguous
        {{2, 1, 3, 4}, {24, 999, 8, 2}},  // with one of one element
        {{1, 3}, {-7, 2}},                // its stride may be anything
        {{2, 2, 2, 2}, {24, 12, 1, 6}},   // four, of which one is contiguous
        {{2, 2, 2, 2}, {1, 2, 4, 8}},     // reversed
        {{3, 4}, {0, 1}},                 // a row, repeated
        {{3, 4}, {1, 0}},                 // a column, repeated
        {{4, 3}, {1, 1}},                 // windows
        {{1, 1}, {5, 7}},
    };
    for (const auto &[shape, strides] : layouts) {
        SCOPED_TRACE(testing::PrintToString(shape) + testing::PrintToString(strides));
        Foreign foreign(shape, strides);
        std::vector<float> expected{0.f};
        for (std::size_t d = 0; d < shape.size(); d++) {
            std::vector<float> longer;
            for (const float at : expected) {
                for (std::int64_t i = 0; i < shape[d]; i++) longer.push_back(at + static_cast<float>(shape[d] == 1 ? 0 : i * strides[d]));
            }
            expected = longer;
        }
        {
            const auto t = imported(foreign);
            EXPECT_EQ(shape_of(t), Lists(shape.rbegin(), shape.rend()));
            EXPECT_EQ(t.read<float>(), expected);
            const Exported back = exported(t);
            EXPECT_EQ(shape_of(back), shape);
            for (std::size_t d = 0; d < shape.size(); d++) {
                EXPECT_TRUE(shape[d] == 1 || strides_of(back)[d] == strides[d]) << d;
            }
            EXPECT_EQ(floats(back), foreign.values.data());
        }
        EXPECT_EQ(foreign.deleted, 1);
    }
}

TEST(Import, of_a_transposed_array_has_gradients) {
    const tl::Backend cpu("cpu", {2});
    Foreign foreign({4, 3}, {1, 4});
    const tl::Context ctx;
    const auto x = imported(foreign, ctx);
    const auto gradient = sum(x * x).gradients({x}).front();
    cpu.compute({gradient});
    std::vector<float> expected = x.read<float>();
    for (float &value : expected) value *= 2;
    EXPECT_EQ(gradient.read<float>(), expected);
}

TEST(Import, of_no_dimensions_is_one_element) {
    Foreign foreign({});
    foreign.managed.dl_tensor.shape = nullptr;
    EXPECT_EQ(shape_of(imported(foreign)), Lists({1}));
}

TEST(Import, of_no_elements_needs_no_memory) {
    Foreign foreign({3, 0}, {-1, -1});
    foreign.managed.dl_tensor.data = nullptr;
    const tl::Backend cpu("cpu", {2});
    const auto t = imported(foreign);
    EXPECT_EQ(shape_of(t), Lists({0, 3}));
    EXPECT_TRUE(t.read<float>().empty());
    const auto doubled = t + t;
    cpu.compute({doubled});
    EXPECT_TRUE(doubled.read<float>().empty());
}

TEST(Import, begins_at_the_byte_offset) {
    Foreign foreign({4});
    foreign.managed.dl_tensor.byte_offset = 12;
    EXPECT_EQ(imported(foreign).read<float>(), std::vector<float>({3, 4, 5, 6}));
}

TEST(Import, has_data_in_a_context_without) {
    Foreign foreign({4});
    EXPECT_EQ(imported(foreign, tl::Context(tl::ContextOptions{.no_alloc = true})).get({2}), 2.f);
}

TEST(Import, takes_pinned_memory) {
    Foreign foreign({4});
    foreign.managed.dl_tensor.device.device_type = 3;
    EXPECT_EQ(imported(foreign).get({2}), 2.f);
}

TEST(Import, needs_no_deleter) {
    Foreign foreign({4});
    foreign.managed.deleter = nullptr;
    EXPECT_EQ(imported(foreign).get({2}), 2.f);
}

TEST(Import, of_read_only_memory_cannot_be_written) {
    const tl::Backend cpu("cpu", {2});
    for (const Lists &strides : {Lists({4, 1}), Lists({1, 4})}) {
        Foreign foreign({4, 4}, strides);
        foreign.managed.flags = 1;
        const tl::Context ctx;
        const auto t = imported(foreign, ctx);
        const std::vector<float> zeros(16);
        expect_error(tl::Status::invalid_argument, {"tensor_write", "read-only", "copy"}, [&] { t.write<float>(zeros); });
        expect_error(tl::Status::invalid_argument, {"tensor_set_f32", "read-only"}, [&] { t.narrow(0, 1, 2).set({0, 0}, 1.f); });
        expect_error(tl::Status::invalid_argument, {"cpy", "read-only"}, [&] { (void)cpy(leaf(ctx, {4, 4}, 1), t); });
        EXPECT_EQ(tl_tensor_data(t.handle()), nullptr);
        EXPECT_TRUE(is_read_only(exported(t)));
        const auto sum = t + t;
        cpu.compute({sum});
        EXPECT_EQ(sum.read<float>().back(), 30.f);
    }
}

TEST(Import, is_no_constant_until_that_is_promised) {
    const tl::Backend cpu("cpu", {2});
    alignas(64) static std::array<float, 64 * 64> values;
    std::ranges::fill(values, 1.f);
    Foreign foreign({64, 64});
    const tl::Context ctx;
    foreign.managed.flags = 1;
    foreign.managed.dl_tensor.data = values.data();
    const auto w = imported(foreign, ctx), x = leaf(ctx, {64, 32}, 1);
    const auto product = mul_mat(w, x);
    tl::Graph graph{product};
    graph.compute(cpu);
    const float before = product.get({0, 0});
    std::ranges::fill(values, 2.f);
    graph.compute(cpu);
    EXPECT_EQ(product.get({0, 0}), 2 * before);
    EXPECT_EQ(cpu.packed_memory(), 0u);
    w.set_constant();
    graph.compute(cpu);
    EXPECT_EQ(product.get({0, 0}), 2 * before);
    EXPECT_NE(cpu.packed_memory(), 0u);
    expect_error(tl::Status::unsupported, {"tensor_drop_original", "another library"}, [&] { w.drop_original(); });
    EXPECT_EQ(values[5], 2.f);
}

TEST(Import, refuses_and_leaves_it_with_the_caller) {
    using Managed = DLManagedTensorVersioned;
    static std::int64_t negative[] = {4, -1}, huge[] = {std::int64_t{1} << 40, std::int64_t{1} << 40}, far[] = {std::int64_t{1} << 62, 1};
    static std::int64_t fourfold[] = {2, 2, 2, 2, 2}, strided[] = {24, 12, 6, 2}, ascending[] = {-4, 1};
    const struct {
        const char *what;
        tl::Status status;
        std::vector<std::string> words;
        std::function<void(Managed &)> change;
    } refusals[] = {
        {"version", tl::Status::unsupported, {"version 2.3", "major version 1"}, [](Managed &m) { m.version = {2, 3}; }},
        {"version 0", tl::Status::unsupported, {"version 0.8"}, [](Managed &m) { m.version = {0, 8}; }},
        {"CUDA", tl::Status::unavailable, {"type 2", "CPU (1)", "(3)"}, [](Managed &m) { m.dl_tensor.device.device_type = 2; }},
        {"managed", tl::Status::unavailable, {"type 13"}, [](Managed &m) { m.dl_tensor.device.device_type = 13; }},
        {"lanes", tl::Status::type_mismatch, {"float32 of 4 lanes", "f32", "i64"}, [](Managed &m) { m.dl_tensor.dtype.lanes = 4; }},
        {"no lanes", tl::Status::type_mismatch, {"0 lanes"}, [](Managed &m) { m.dl_tensor.dtype.lanes = 0; }},
        {"uint16", tl::Status::type_mismatch, {"uint16", "u8"}, [](Managed &m) { m.dl_tensor.dtype = {1, 16, 1}; }},
        {"bool of 16 bits", tl::Status::type_mismatch, {"bool16", "bool"}, [](Managed &m) { m.dl_tensor.dtype = {6, 16, 1}; }},
        {"complex", tl::Status::type_mismatch, {"complex64"}, [](Managed &m) { m.dl_tensor.dtype = {5, 64, 1}; }},
        {"unknown", tl::Status::type_mismatch, {"code 10, 8 bits"}, [](Managed &m) { m.dl_tensor.dtype = {10, 8, 1}; }},
        {"ndim",
         tl::Status::invalid_argument,
         {"5 dimensions", "0 to 4"},
         [](Managed &m) { m.dl_tensor.ndim = 5, m.dl_tensor.shape = fourfold; }},
        {"ndim < 0", tl::Status::invalid_argument, {"-1 dimensions"}, [](Managed &m) { m.dl_tensor.ndim = -1; }},
        {"shape", tl::Status::invalid_argument, {"shape is NULL"}, [](Managed &m) { m.dl_tensor.shape = nullptr; }},
        {"extent", tl::Status::invalid_argument, {"-1"}, [](Managed &m) { m.dl_tensor.shape = negative; }},
        {"elements", tl::Status::invalid_argument, {"1099511627776"}, [](Managed &m) { m.dl_tensor.shape = huge; }},
        {"stride", tl::Status::invalid_argument, {"[2, 3]", "[-4, 1]", "0 or more"}, [](Managed &m) { m.dl_tensor.strides = ascending; }},
        {"far", tl::Status::invalid_argument, {"address space", "4611686018427387904"}, [](Managed &m) { m.dl_tensor.strides = far; }},
        {"strides",
         tl::Status::invalid_argument,
         {"[24, 12, 6, 2]", "stride 1", "copy"},
         [](Managed &m) { m.dl_tensor.ndim = 4, m.dl_tensor.shape = fourfold, m.dl_tensor.strides = strided; }},
        {"offset", tl::Status::invalid_argument, {"address space"}, [](Managed &m) { m.dl_tensor.byte_offset = ~std::uint64_t{0} - 3; }},
        {"data", tl::Status::invalid_argument, {"data is NULL", "6 elements"}, [](Managed &m) { m.dl_tensor.data = nullptr; }},
        {"alignment", tl::Status::invalid_argument, {"not aligned for f32", "copy"}, [](Managed &m) { m.dl_tensor.byte_offset = 2; }},
    };
    const tl::Context ctx;
    for (const auto &[what, status, words, change] : refusals) {
        SCOPED_TRACE(what);
        Foreign foreign({2, 3});
        change(foreign.managed);
        expect_error(status, words, [&] { (void)ctx.from_dlpack(&foreign.managed); });
        expect_error(status, {"tensor_from_dlpack"}, [&] { (void)ctx.from_dlpack(&foreign.managed); });
        EXPECT_EQ(foreign.deleted, 0);
    }
    expect_error(tl::Status::invalid_argument, {"managed is NULL"}, [&] { (void)ctx.from_dlpack(nullptr); });
    EXPECT_TRUE(ctx.tensors().empty());
    Foreign foreign({2, 3});
    ctx.freeze();
    expect_error(tl::Status::invalid_argument, {"tensor_from_dlpack", "frozen"}, [&] { (void)ctx.from_dlpack(&foreign.managed); });
    EXPECT_EQ(foreign.deleted, 0);
}

TEST(Import, that_finds_no_memory_leaves_nothing) {
    for (const Lists &strides : {Lists({4, 1}), Lists({1, 4}), Lists({8, 2})}) {
        for (std::size_t limit = 64;; limit += 64) {
            ASSERT_LT(limit, 1u << 16);
            Foreign foreign({4, 4}, strides);
            bool fits = false;
            {
                const tl::Context ctx(tl::ContextOptions{.mem_limit = limit});
                try {
                    (void)ctx.from_dlpack(&foreign.managed);
                    fits = true;
                } catch (const tl::Error &error) {
                    EXPECT_EQ(error.code(), tl::Status::out_of_memory) << error.what();
                    EXPECT_TRUE(ctx.tensors().empty());
                    EXPECT_EQ(ctx.used_memory(), 0u);
                }
                EXPECT_EQ(foreign.deleted, 0);
            }
            EXPECT_EQ(foreign.deleted, fits ? 1 : 0);
            if (fits) break;
        }
    }
}

TEST(Import, ends_with_a_reset) {
    Foreign foreign({4}), again({4});
    tl::Context ctx;
    // The deleter may use the context: no lock is held.
    foreign.on_delete = [&] { (void)leaf(ctx, {4}, 1).read<float>(); };
    (void)imported(foreign, ctx);
    (void)imported(again, ctx);
    ctx.reset();
    EXPECT_EQ(foreign.deleted, 1);
    EXPECT_EQ(again.deleted, 1);
    EXPECT_EQ(ctx.tensors().size(), 1u);
}

TEST(Import, lives_as_long_as_nodes_need_it) {
    const tl::Backend cpu("cpu", {2});
    Foreign foreign({8});
    {
        tl::Tensor sum;
        {
            const auto t = imported(foreign);
            const tl::Context request;
            sum = request.op("add", {t, t});
        }
        EXPECT_EQ(foreign.deleted, 0);
        cpu.compute({sum});
        EXPECT_EQ(sum.read<float>()[7], 14.f);
    }
    EXPECT_EQ(foreign.deleted, 1);
}

TEST(Import, of_an_export_keeps_the_exporter) {
    for (int order = 0; order < 4; order++) {
        auto from = std::make_unique<tl::Context>(), to = std::make_unique<tl::Context>();
        auto original = std::make_unique<tl::Tensor>(leaf(*from, {4, 2}, 1));
        const auto values = original->read<float>();
        const auto shown = std::make_unique<tl::Tensor>(to->from_dlpack(original->to_dlpack()));
        if (order & 1) original.reset(), from.reset();
        if (order & 2) to.reset();
        EXPECT_EQ(shown->read<float>(), values);
    }
}

// Memory of a device that the host cannot see.
class FarMemory final : public tl::core::DeviceMemory {
public:
    const char *device() const noexcept override { return "far:0"; }
    bool host_accessible() const noexcept override { return false; }
    std::size_t alignment() const noexcept override { return 64; }
    void *acquire(std::size_t size) override { return host_.acquire(size); }
    void release(void *memory, std::size_t size) noexcept override { host_.release(memory, size); }
    void zero(void *memory, std::size_t size) override { host_.zero(memory, size); }
    void write(void *to, const void *from, std::size_t size) override { host_.write(to, from, size); }
    void read(void *to, const void *from, std::size_t size) override { host_.read(to, from, size); }

private:
    tl::core::DeviceMemory &host_ = tl::core::host_memory();
};

TEST(Devices, share_nothing) {
    FarMemory far;
    tl::core::ContextParams params;
    params.memory = &far;
    const auto ctx = tl::core::Context::create(params);
    tl::core::Tensor *t = ctx->new_leaf(tl::core::contiguous_layout("test", tl::core::DType::f32, Lists{4}));
    expect_error(tl::Status::unavailable, {"tensor_to_dlpack", "far:0", "tensor_read"}, [&] { (void)tl::core::to_dlpack(*t); });
    Foreign foreign({2, 3});
    expect_error(tl::Status::unavailable, {"tensor_from_dlpack", "far:0", "host memory"},
                 [&] { (void)tl::core::from_dlpack(*ctx, &foreign.managed); });
    EXPECT_EQ(foreign.deleted, 0);
}

TEST(Import, refuses_circles) {
    const tl::Context one, two, three;
    const auto a = leaf(one, {4}, 1);
    Exported own = exported(a);
    expect_error(tl::Status::context_mismatch, {"tensor_from_dlpack", "itself"}, [&] { (void)one.from_dlpack(own.get()); });
    const auto b = two.from_dlpack(own.get());
    (void)own.release();
    const auto c = three.op("add", {b, b});
    const tl::Backend cpu("cpu", {2});
    cpu.compute({c});
    Exported back = exported(c);
    expect_error(tl::Status::context_mismatch, {"tensor_from_dlpack", "refers"}, [&] { (void)one.from_dlpack(back.get()); });
    expect_error(tl::Status::context_mismatch, {"refers"}, [&] { one.op("add", {a, c}); });
    EXPECT_NO_THROW(three.op("add", {a, c}));
}

// Each context owns memory that the one before it exported: freeing the last one frees them all.
TEST(Import, of_a_long_chain_of_contexts_ends_without_recursion) {
    Foreign foreign({4});
    {
        auto t = imported(foreign);
        for (int i = 0; i < support::repeats(20000, 60000); i++) t = tl::Context().from_dlpack(t.to_dlpack());
        EXPECT_EQ(t.get({3}), 3.f);
        EXPECT_EQ(foreign.deleted, 0);
    }
    EXPECT_EQ(foreign.deleted, 1);
}

TEST(Import, may_end_on_any_thread) {
    for (int i = 0; i < support::repeats(50, 5000); i++) {
        Foreign foreign({4, 4}, {1, 4});
        auto t = std::make_unique<tl::Tensor>(imported(foreign));
        auto again = std::make_unique<tl::Tensor>(*t);
        std::thread one([&] { t.reset(); }), two([&] { again.reset(); });
        one.join();
        two.join();
        EXPECT_EQ(foreign.deleted, 1);
    }
}

TEST(Import, by_the_c_abi) {
    Foreign foreign({2, 3});
    const support::CContext ctx = c_context();
    EXPECT_EQ(tl_tensor_from_dlpack(nullptr, &foreign.managed), nullptr);
    EXPECT_EQ(tl_tensor_from_dlpack(ctx.get(), nullptr), nullptr);
    EXPECT_EQ(support::last_error(ctx.get()).status, TL_STATUS_INVALID_ARGUMENT);
    tl_tensor *t = tl_tensor_from_dlpack(ctx.get(), &foreign.managed);
    ASSERT_NE(t, nullptr);
    EXPECT_EQ(tl_tensor_ne(t, 0), 3);
    EXPECT_EQ(tl_tensor_data(t), foreign.values.data());
    EXPECT_EQ(foreign.deleted, 0);
    support::must([&](tl_error *err) { return tl_context_reset(ctx.get(), err); });
    EXPECT_EQ(foreign.deleted, 1);
}

}  // namespace
