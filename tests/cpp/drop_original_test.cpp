// Constants whose original was dropped: all readers give equal bits on every ISA, the memory is really given back, and constants that
// cannot be dropped stay unchanged.
#include "dtype/formats.hpp"

#include "blocks.hpp"
#include "gguf_files.hpp"
#include "support.hpp"

#include <tensorlib/gguf.hpp>

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <thread>

using namespace tl::core;
using support::backend;
using support::expect_error;
using Bits = std::vector<std::byte>;

namespace {

bool comes_back(DType type) {
    return visit(type, [](auto format) { return HasInverse<decltype(format)>; });
}

// Types that products read packed, whose bytes can or cannot be restored from the copy.
std::vector<DType> types(bool that_come_back) {
    std::vector<DType> all;
    if (that_come_back) all = {DType::f32, DType::f16, DType::bf16};
    for (const DType type : support::weights()) {
        if (traits(type).block_size > 1 && comes_back(type) == that_come_back) all.push_back(type);
    }
    return all;
}

// Replaces the bytes by those that an encoder would write for the same values.
void make_canonical(DType type, Bits &bytes) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned>(bytes[i]); };
    if (type == DType::tq1_0) {
        for (std::size_t i = 0; i < bytes.size(); i++) {
            if (i % 54 >= 52) continue;
            const unsigned number = i % 54 < 48 ? at(i) % 243 : at(i) % 81 * 3;
            bytes[i] = static_cast<std::byte>((number * 256 + 242) / 243);
        }
    } else if (type == DType::nvfp4) {
        for (std::size_t i = 0; i < bytes.size(); i++) {
            if (i % 36 < 4) bytes[i] = static_cast<std::byte>(at(i) % 127);
        }
    }
}

tl::Tensor weights_leaf(const tl::Context &ctx, DType type, const tl::Shape &shape, unsigned seed = 1) {
    const tl::Tensor t = ctx.zeros(static_cast<tl::Type>(type), shape);
    Bits bytes = support::random_blocks(type, t.n_elements(), seed);
    make_canonical(type, bytes);
    t.write_bytes(bytes.data(), 0, bytes.size());
    t.set_constant();
    return t;
}

Bits bits(const tl::Tensor &t) {
    Bits all(t.nbytes());
    t.read_bytes(all.data(), 0, all.size());
    return all;
}

// Makes the backend's copy of all of it.
void multiply(const tl::Tensor &a, const tl::Backend &cpu) {
    const auto ne = a.shape();
    const auto c = mul_mat(a, support::leaf(tl::Context(), {ne[0], 1, ne[2], ne[3]}, 9));
    cpu.compute({c});
}

bool has_integers(const std::string &isa) {
    tl::Context ctx;
    const auto a = weights_leaf(ctx, DType::q4_0, {32, 32});
    const auto cpu = backend(isa, 1);
    multiply(a, cpu);
    return cpu.packed_memory() != 0;
}

// Nodes of all kinds that read a, {k, m} or {k, m, x} or {k, m, x, y}.
std::vector<tl::Tensor> readers(const tl::Context &ctx, const tl::Tensor &a) {
    const auto ne = a.shape();
    const std::int64_t k = ne[0], m = ne[1], x = ne[2], y = ne[3];
    const auto size = traits(static_cast<DType>(a.type()));
    const std::size_t row = static_cast<std::size_t>(k / size.block_size) * size.size;
    const auto b = support::leaf(ctx, {k, 3, 2 * x, y}, 2), column = support::leaf(ctx, {k, 1, x, y}, 3);
    std::vector<std::int32_t> some;
    for (std::int64_t i = 0; i < 5 * x * y; i++) some.push_back(static_cast<std::int32_t>((i * 7 + 3) % m));
    const auto ids = ctx.tensor<std::int32_t>({5, x, y}, some);
    const auto as_f32 = ctx.zeros(tl::Type::f32, {k, m, x, y}), as_it_is = ctx.zeros(a.type(), {k, m, x, y});
    std::vector<tl::Tensor> all{mul_mat(a, b), mul_mat(a, column), mul_mat_exact(a, b), mul_mat_exact(a, column)};
    all.push_back(mul_mat(a, b) + support::leaf(ctx, {m}, 6));
    all.push_back(mul_mat_exact(a, b) + support::leaf(ctx, {m}, 6));
    all.push_back(get_rows(a, ids));
    all.push_back(a.cast(tl::Type::f32));
    all.push_back(a.cast(tl::Type::q8_0));
    all.push_back(a.dup());
    all.push_back(cpy(a, as_f32));
    all.push_back(cpy(a, as_it_is));
    // Views: rows 2 .., two rows as one and back, rows of another order, one block of each row.
    const std::vector<std::size_t> strides{row, row * static_cast<std::size_t>(m), row * static_cast<std::size_t>(m * x)};
    const auto later = a.view({k, m - 2, x, y}, strides, 2 * row), swapped = a.permute({0, 2, 1, 3});
    const auto first_blocks = a.view({size.block_size, m, x, y}, strides, row - size.size);
    all.push_back(mul_mat(later, column));
    all.push_back(mul_mat_exact(later, b));
    all.push_back(later.cont());
    all.push_back(get_rows(later, ctx.tensor<std::int32_t>({1, x, y}, std::vector<std::int32_t>(static_cast<std::size_t>(x * y), 1))));
    all.push_back(swapped.cont());
    all.push_back(first_blocks.cast(tl::Type::f32));
    all.push_back(get_rows(first_blocks, ids));
    all.push_back(mul_mat(a.reshape({k * x, m * y}), support::leaf(ctx, {k * x, 4}, 4)));
    all.push_back(a.reshape({k, m * x * y}).cast(tl::Type::f32));
    if (y == 1 && x > 1) {
        const auto tokens = support::leaf(ctx, {k, 2, 30}, 5);
        std::vector<std::int32_t> experts;
        for (int i = 0; i < 60; i++) experts.push_back(static_cast<std::int32_t>(i % 7 == 0 ? i % x : 1));
        const auto numbers = ctx.tensor<std::int32_t>({2, 30}, experts);
        all.push_back(mul_mat_id(a, tokens, numbers));
        all.push_back(ctx.op("mul_mat_id", {a, tokens, numbers}, {{"exact", {1}, ""}}));
        all.push_back(mul_mat_id(later, tokens, numbers));
    }
    return all;
}

std::vector<Bits> results(const std::vector<tl::Tensor> &nodes) {
    std::vector<Bits> all;
    for (const tl::Tensor &t : nodes) all.push_back(bits(t));
    return all;
}

void expect_same(const std::vector<tl::Tensor> &nodes, const std::vector<Bits> &before, const std::string &where) {
    for (std::size_t i = 0; i < nodes.size(); i++)
        EXPECT_EQ(bits(nodes[i]) == before[i], true) << where << ": reader " << i << ", " << nodes[i].op();
}

// The ways to read a tensor, into memory that is not aligned too.
std::vector<Bits> read_all_ways(const tl::Tensor &a) {
    std::vector<Bits> all{bits(a)};
    Bits odd(a.nbytes());
    if (odd.size() > 10) a.read_bytes(odd.data() + 3, 7, odd.size() - 10);
    all.push_back(odd);
    const std::vector<float> values = a.read_f32();
    all.emplace_back(values.size() * sizeof(float));
    std::memcpy(all.back().data(), values.data(), all.back().size());
    const auto swapped = a.permute({0, 2, 1, 3});
    all.push_back(bits(swapped));
    all.push_back(bits(a.reshape({a.n_elements()})));
    return all;
}

class DropOriginal : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(all, DropOriginal, testing::ValuesIn(types(true)),
                         [](const auto &info) { return std::string(traits(info.param).name); });

TEST_P(DropOriginal, everything_reads_the_same_bits) {
    const DType type = GetParam();
    const std::int64_t block = traits(type).block_size;
    struct Size {
        std::int64_t blocks, m, x, y;
    };
    // Whole and short pieces of 256, whole panels and ends of one.
    for (const Size &s : {Size{std::max<std::int64_t>(1, 32 / block), 64, 1, 1},
                          {std::max<std::int64_t>(1, 288 / block), 17, 3, 1},
                          {std::max<std::int64_t>(2, 1120 / block), 33, 1, 1},
                          {std::max<std::int64_t>(1, 512 / block), 47, 2, 3}}) {
        for (const std::string &isa : support::isas()) {
            if (!has_integers(isa)) continue;
            const std::string where = isa + ", " + std::to_string(s.blocks) + " blocks, " + std::to_string(s.m) + " rows";
            const auto cpu = backend(isa, 3);
            tl::Context model, ctx;
            const auto a = weights_leaf(model, type, {s.blocks * block, s.m, s.x, s.y});
            const auto nodes = readers(ctx, a);
            const tl::Graph graph(nodes);
            graph.compute(cpu);
            const auto before = results(nodes), read_before = read_all_ways(a);
            const std::size_t used = model.used_memory(), copies = cpu.packed_memory();
            a.drop_original();
            EXPECT_LT(cpu.packed_memory(), copies);
            const std::size_t counted = (a.nbytes() + 63) / 64 * 64;
            EXPECT_EQ(model.used_memory(), used - counted + (copies - cpu.packed_memory()));
            EXPECT_TRUE(read_all_ways(a) == read_before) << where;
            graph.compute(cpu);
            expect_same(nodes, before, where);
            EXPECT_LT(cpu.packed_memory(), copies) << "the stand-in is used";
            EXPECT_NE(graph.plan_text(cpu).find("rebuilt"), std::string::npos) << graph.plan_text(cpu);
            const auto few = readers(ctx, a);
            tl::Graph(few).compute(cpu);
            expect_same(few, before, where + ", built later");
        }
    }
}

// Each ISA, of which some multiply in integers, on leafs whose copy is another one's.
TEST_P(DropOriginal, other_backends_read_the_same_bits) {
    const DType type = GetParam();
    for (const std::string &isa : support::isas()) {
        if (!has_integers(isa)) continue;
        for (const std::string &other : support::isas()) {
            tl::Context model, ctx;
            const auto a = weights_leaf(model, type, {std::max<std::int64_t>(traits(type).block_size * 3, 96), 41, 2});
            const auto nodes = readers(ctx, a);
            const tl::Graph graph(nodes);
            const auto second = backend(other, 2);
            std::vector<Bits> before, read_before;
            {
                const auto first = backend(isa, 2);
                multiply(a, first);
                graph.compute(second);
                before = results(nodes), read_before = read_all_ways(a);
                const std::size_t copies = second.packed_memory();
                a.drop_original();
                EXPECT_EQ(first.packed_memory(), 0u);
                // One copy serves both backends of an ISA.
                EXPECT_EQ(second.packed_memory() < copies, isa == other);
            }
            // The backend that made it is gone.
            EXPECT_TRUE(read_all_ways(a) == read_before);
            graph.compute(second);
            expect_same(nodes, before, isa + " read by " + other);
            const auto third = backend(other, 1);
            graph.compute(third);
            expect_same(nodes, before, isa + " read by a new " + other);
        }
    }
}

TEST_P(DropOriginal, files_are_written_from_rebuilt_rows) {
    const std::string isa = support::isas().front();
    if (!has_integers(isa)) GTEST_SKIP() << "no integer products at " << isa;
    const support::TempFolder folder;
    tl::Context model;
    const auto a = weights_leaf(model, GetParam(), {traits(GetParam()).block_size * 2, 70});
    const auto cpu = backend(isa, 2);
    const Bits before = bits(a);
    multiply(a, cpu);
    a.drop_original();
    a.set_name("a");
    tl::GgufWriter writer(folder.path("a.gguf"));
    writer.add(a);
    writer.finish();
    tl::Context read;
    EXPECT_TRUE(bits(tl::Gguf::open(folder.path("a.gguf")).tensor(read, "a")) == before);
}

// An ISA with integer products, else nothing is packed.
class Drop : public testing::Test {
protected:
    void SetUp() override {
        if (!has_integers(isa)) GTEST_SKIP() << "no integer products at " << isa;
    }
    std::string isa = support::isas().front();
    tl::Backend cpu = backend(isa, 2);
    tl::Context model;
};

TEST_F(Drop, needs_a_copy_of_all) {
    const auto a = weights_leaf(model, DType::q4_0, {64, 40, 2});
    const Bits before = bits(a);
    const auto none = [&] {
        expect_error(tl::Status::unsupported, {"drop_original", "no packed copy", "product"}, [&] { a.drop_original(); });
    };
    none();
    // A view's copy is the view's.
    const auto c = mul_mat(a.view({64, 40}), support::leaf(tl::Context(), {64, 1}, 2));
    cpu.compute({c});
    EXPECT_NE(cpu.packed_memory(), 0u);
    none();
    EXPECT_TRUE(bits(a) == before);
    multiply(a, cpu);
    a.drop_original();
    EXPECT_TRUE(bits(a) == before);
    cpu.compute({c});
    // Twice is once.
    const std::size_t used = model.used_memory();
    a.drop_original();
    EXPECT_EQ(model.used_memory(), used);
    EXPECT_TRUE(bits(a) == before);
}

// Rows of elements without blocks may have any length, and any bits: NaNs of all kinds too.
TEST_F(Drop, of_odd_rows_of_any_bits) {
    for (const tl::Type type : {tl::Type::f32, tl::Type::f16, tl::Type::bf16}) {
        for (const std::int64_t k : {2, 31, 64, 77, 130}) {
            if (type == tl::Type::bf16 && k % 2 != 0) continue;
            tl::Context own;
            const auto a = own.zeros(type, {k, 37, 2});
            Bits before(a.nbytes());
            std::mt19937 random(41);
            for (std::byte &b : before) b = static_cast<std::byte>(random());
            // Every second element gets the exponent of NaN and infinity.
            const std::size_t size = type == tl::Type::f32 ? 4 : 2;
            for (std::size_t i = size - 1; i < before.size(); i += 2 * size) before[i] |= std::byte{0x7f}, before[i - 1] |= std::byte{0x80};
            a.write_bytes(before.data(), 0, before.size());
            // Columns: each of their elements is in another row.
            const auto columns = a.transpose(), later = a.view({k, 20}, {}, 3 * static_cast<std::size_t>(k) * size).transpose();
            const Bits before_columns = bits(columns), before_later = bits(later);
            a.set_constant();
            multiply(a, cpu);
            a.drop_original();
            EXPECT_TRUE(bits(a) == before) << tl::type_name(type) << " k " << k;
            EXPECT_TRUE(bits(columns) == before_columns);
            EXPECT_TRUE(bits(later) == before_later);
            Bits part(before.size() - 9);
            a.read_bytes(part.data(), 5, part.size());
            EXPECT_EQ(std::memcmp(part.data(), before.data() + 5, part.size()), 0);
        }
    }
}

TEST_F(Drop, is_for_constant_leafs) {
    const auto a = model.zeros(tl::Type::q4_0, {64, 40});
    expect_error(tl::Status::invalid_argument, {"constant"}, [&] { a.drop_original(); });
    a.set_constant();
    expect_error(tl::Status::invalid_argument, {"constant"}, [&] { a.view({64, 40}).drop_original(); });
    // No copy is packed for some types.
    const auto doubles = support::leaf(model, {64, 40}, 3, tl::Type::f64);
    doubles.set_constant();
    multiply(doubles, cpu);
    expect_error(tl::Status::unsupported, {"packed"}, [&] { doubles.drop_original(); });
}

TEST_F(Drop, refuses_what_does_not_come_back) {
    // Blocks over grids.
    for (const DType type : types(false)) {
        const auto a = weights_leaf(model, type, {256, 32});
        const Bits before = bits(a);
        multiply(a, cpu);
        const std::size_t used = model.used_memory();
        expect_error(tl::Status::unsupported, {traits(type).name, "packed copy"}, [&] { a.drop_original(); });
        EXPECT_EQ(model.used_memory(), used);
        EXPECT_TRUE(bits(a) == before) << traits(type).name;
    }
    // A byte in the last row that means what another one means; a NaN that is not quiet.
    struct Case {
        DType type;
        std::size_t byte, n;
        unsigned value;
    };
    for (const Case &c :
         {Case{DType::tq1_0, 5, 1, 1}, Case{DType::nvfp4, 1, 1, 0x85}, Case{DType::nvfp4, 2, 1, 0x7f}, Case{DType::q4_0, 0, 2, 0x7c01}}) {
        const std::int64_t k = traits(c.type).block_size * 3;
        tl::Context own;
        const auto source = weights_leaf(own, c.type, {k, 33}), a = own.zeros(source.type(), {k, 33});
        Bits before = bits(source);
        for (std::size_t i = 0; i < c.n; i++)
            before[before.size() - traits(c.type).size + c.byte + i] = static_cast<std::byte>(c.value >> 8 * i);
        a.write_bytes(before.data(), 0, before.size());
        a.set_constant();
        multiply(a, cpu);
        const std::size_t used = own.used_memory(), copies = cpu.packed_memory();
        expect_error(tl::Status::unsupported, {traits(c.type).name, "byte"}, [&] { a.drop_original(); });
        EXPECT_EQ(own.used_memory(), used);
        EXPECT_EQ(cpu.packed_memory(), copies);
        EXPECT_TRUE(bits(a) == before) << traits(c.type).name;
    }
}

// Scales that are no numbers, quiet as arithmetic makes them, come back with sign and payload; so do infinities and zeros of both signs.
TEST_F(Drop, keeps_scales_that_are_no_numbers) {
    for (const DType type : types(true)) {
        if (traits(type).block_size == 1 || type == DType::mxfp4 || type == DType::nvfp4) continue;  // no scale of theirs is one
        const std::int64_t k = traits(type).block_size;
        const auto a = model.zeros(static_cast<tl::Type>(type), {k, 36});
        Bits before = support::random_blocks(type, a.n_elements(), 3);
        make_canonical(type, before);
        const std::uint16_t odd[] = {0x7e00, 0xfe00, 0x7e15, 0xffff, 0x7c00, 0xfc00, 0, 0x8000, 1, 0x83ff};
        visit(type, [&](auto format) {
            using Block = typename decltype(format)::Block;
            for (std::size_t i = 0; i * sizeof(Block) < before.size(); i++) {
                Block block;
                std::memcpy(&block, before.data() + i * sizeof block, sizeof block);
                if constexpr (requires { block.d; }) {
                    if constexpr (sizeof block.d == 2) block.d = odd[i % std::size(odd)];
                }
                if constexpr (requires { block.m; }) block.m = odd[i / 2 % std::size(odd)];
                if constexpr (requires { block.dmin; }) block.dmin = odd[i / 2 % std::size(odd)];
                std::memcpy(before.data() + i * sizeof block, &block, sizeof block);
            }
        });
        a.write_bytes(before.data(), 0, before.size());
        a.set_constant();
        multiply(a, cpu);
        a.drop_original();
        EXPECT_TRUE(bits(a) == before) << traits(type).name;
    }
}

// Pages of this process that are in memory, in bytes.
std::size_t resident() {
    std::ifstream file("/proc/self/statm");
    std::size_t size = 0, pages = 0;
    file >> size >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST_F(Drop, gives_memory_back) {
    if (resident() == 0) GTEST_SKIP() << "no /proc/self/statm";
    const auto a = weights_leaf(model, DType::q8_0, {4096, 8192});
    multiply(a, cpu);
    const Bits before = bits(a);
    const std::size_t had = resident(), used = model.used_memory(), copy = cpu.packed_memory();
    a.drop_original();
    EXPECT_LT(resident() + a.nbytes() / 10 * 9, had);
    EXPECT_EQ(model.used_memory(), used - a.nbytes() + copy);
    EXPECT_TRUE(bits(a) == before);
    // The room is the context's again, and reads as zeros in a new leaf.
    const auto next = model.zeros(tl::Type::q8_0, {4096, 8192});
    EXPECT_EQ(bits(next), Bits(next.nbytes()));
}

TEST_F(Drop, keeps_to_the_limit) {
    for (const bool fits : {false, true}) {
        // 33 rows take panels of whole 16 or 32: more than they took.
        const auto needed = [&] {
            tl::Context counted;
            const auto a = weights_leaf(counted, DType::q6_K, {256, 33});
            const auto probe = backend(isa, 1);
            multiply(a, probe);
            return counted.used_memory() - (a.nbytes() + 63) / 64 * 64 + probe.packed_memory();
        }();
        tl::Context limited(tl::ContextOptions{needed - (fits ? 0 : 1)});
        const auto a = weights_leaf(limited, DType::q6_K, {256, 33});
        const Bits before = bits(a);
        multiply(a, cpu);
        const std::size_t used = limited.used_memory();
        if (fits) {
            a.drop_original();
            EXPECT_EQ(limited.used_memory(), needed);
            EXPECT_EQ(limited.peak_memory(), needed);
        } else {
            const std::size_t copies = cpu.packed_memory();
            expect_error(tl::Status::out_of_memory, {"mem_limit", std::to_string(a.nbytes())}, [&] { a.drop_original(); });
            EXPECT_EQ(limited.used_memory(), used);
            EXPECT_EQ(cpu.packed_memory(), copies);
        }
        EXPECT_TRUE(bits(a) == before);
    }
}

TEST_F(Drop, is_not_for_a_callers_buffer) {
    std::vector<std::byte> buffer(1 << 16);
    tl::Context own(tl::ContextOptions{0, buffer});
    const auto a = weights_leaf(own, DType::q4_0, {64, 40});
    const Bits before = bits(a);
    multiply(a, cpu);
    expect_error(tl::Status::unsupported, {"buffer"}, [&] { a.drop_original(); });
    EXPECT_TRUE(bits(a) == before);
}

TEST_F(Drop, ends_with_a_reset) {
    std::size_t used = 0;
    for (int round = 0; round < 3; round++) {
        Bits before;
        {
            const auto a = weights_leaf(model, DType::q4_K, {512, 40}, static_cast<unsigned>(round) + 1);
            before = bits(a);
            multiply(a, cpu);
            a.drop_original();
            EXPECT_TRUE(bits(a) == before);
            if (round == 0) used = model.used_memory();
            EXPECT_EQ(model.used_memory(), used);
        }
        model.reset();
        EXPECT_EQ(model.used_memory(), 0u);
        EXPECT_EQ(cpu.packed_memory(), 0u);
    }
}

TEST_F(Drop, of_an_index_that_is_none_is_the_same_error) {
    tl::Context ctx;
    const auto a = weights_leaf(model, DType::q4_0, {64, 40});
    const auto rows = get_rows(a, ctx.tensor<std::int32_t>({2}, {3, 40}));
    multiply(a, cpu);
    a.drop_original();
    expect_error(tl::Status::invalid_argument, {"get_rows", "40"}, [&] { cpu.compute({rows}); });
    // An infinity where integers are to be: found in what was rebuilt, whose place others take before the message is made.
    Bits bytes = support::random_blocks(DType::q4_0, 64 * 40, 5);
    bytes[0] = std::byte{0x00}, bytes[1] = std::byte{0x7c}, bytes[2] = std::byte{0xff};
    const auto infinite = model.zeros(tl::Type::q4_0, {64, 40});
    infinite.write_bytes(bytes.data(), 0, bytes.size());
    infinite.set_constant();
    multiply(infinite, cpu);
    infinite.drop_original();
    const auto integers = infinite.cast(tl::Type::i32), after = a.cast(tl::Type::f32);
    expect_error(tl::Status::invalid_argument, {"element 0 ", "inf"}, [&] { cpu.compute({integers, after}); });
}

TEST_F(Drop, is_busy_while_a_graph_runs) {
    const auto a = weights_leaf(model, DType::q4_0, {64, 40});
    const auto c = mul_mat(a, support::leaf(tl::Context(), {64, 2}, 2));
    const tl::Graph graph({c});
    graph.compute(cpu);
    int calls = 0;
    graph.set_progress([&](std::size_t, std::size_t) {
        expect_error(tl::Status::busy, {"drop_original", "in use"}, [&] { a.drop_original(); });
        return ++calls > 0;
    });
    graph.compute(cpu);
    EXPECT_GT(calls, 0);
    a.drop_original();
    graph.compute(cpu);
}

// One thread drops leafs, others read and multiply: BUSY or success, and always the same bits.
TEST_F(Drop, beside_readers) {
    struct Leaf {
        tl::Context ctx;
        tl::Tensor a;
        Bits bytes;
    };
    std::vector<Leaf> leafs;
    for (unsigned i = 0; i < 8; i++) {
        tl::Context ctx;
        const auto a = weights_leaf(ctx, DType::q5_K, {256, 40}, i + 1);
        multiply(a, cpu);
        leafs.push_back({ctx, a, bits(a)});
    }
    std::atomic<bool> done{false};
    const auto or_busy = [](const auto &f) {
        try {
            f();
            return true;
        } catch (const tl::Error &error) {
            EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(tl::Status::busy)) << error.what();
            return false;
        }
    };
    const auto own = backend(isa, 1);
    const auto work = [&](int number) {
        while (!done) {
            for (const Leaf &leaf : leafs) {
                Bits got;
                const bool has_read = or_busy([&] { got = bits(leaf.a); });
                EXPECT_TRUE(!has_read || got == leaf.bytes);
                if (number == 0) or_busy([&] { multiply(leaf.a, own); });
            }
        }
    };
    std::thread one(work, 0), other(work, 1);
    for (const Leaf &leaf : leafs) {
        while (!or_busy([&] { leaf.a.drop_original(); })) std::this_thread::yield();
    }
    done = true;
    one.join(), other.join();
    for (const Leaf &leaf : leafs) EXPECT_TRUE(bits(leaf.a) == leaf.bytes);
}

// A file with one q4_0 tensor of {64, 4096}.
std::string gguf_file(const Bits &data) {
    support::Bytes file;
    file.head(1, 0).tensor("a", {64, 4096}, 2, 0).pad();
    return file.raw(std::string(reinterpret_cast<const char *>(data.data()), data.size())).str();
}

TEST_F(Drop, of_a_mapped_file_gives_its_pages_back) {
    const support::TempFolder folder;
    const Bits data = support::random_blocks(DType::q4_0, 64 * 4096, 7);
    const std::string path = folder.write("a.gguf", gguf_file(data));
    const auto a = tl::Gguf::open(path).tensor(model, "a");
    expect_error(tl::Status::unsupported, {"no packed copy"}, [&] { a.drop_original(); });
    multiply(a, cpu);
    EXPECT_TRUE(bits(a) == data);
    const std::size_t used = model.used_memory(), copies = cpu.packed_memory(), had = resident();
    a.drop_original();
    EXPECT_TRUE(had == 0 || resident() + a.nbytes() / 2 < had);
    EXPECT_EQ(model.used_memory(), used);
    EXPECT_EQ(cpu.packed_memory(), copies);
    EXPECT_TRUE(bits(a) == data);
    a.drop_original();
    multiply(a, cpu);
    EXPECT_TRUE(bits(a) == data);
    // Read as a whole: no part of it can go.
    tl::Context other;
    const auto copied = tl::Gguf::open_copy(path).tensor(other, "a");
    multiply(copied, cpu);
    expect_error(tl::Status::unsupported, {"read into memory"}, [&] { copied.drop_original(); });
    EXPECT_TRUE(bits(copied) == data);
    // Bytes that lie where kernels cannot read them were copied: the copy is the context's.
    std::vector<std::byte> memory(gguf_file(data).size() + 1);
    std::memcpy(memory.data() + 1, gguf_file(data).data(), memory.size() - 1);
    tl::Context third;
    const auto moved = tl::Gguf::open_memory(std::span(memory).subspan(1)).tensor(third, "a");
    multiply(moved, cpu);
    const std::size_t before = third.used_memory(), packed = cpu.packed_memory();
    moved.drop_original();
    EXPECT_EQ(third.used_memory(), before - moved.nbytes() + (packed - cpu.packed_memory()));
    EXPECT_TRUE(bits(moved) == data);
}

}  // namespace
