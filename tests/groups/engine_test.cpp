// What only the engine of MPI does: more bytes than one call of the library counts, several groups, and a group's text.
#include "ranks.hpp"

#include "groups/mpi.hpp"

#include <cstddef>
#include <cstring>

namespace {

namespace core = tensorlib::core;

using support::on_ranks;

std::vector<std::byte> bytes_of(int rank, std::size_t n) {
    std::vector<std::byte> bytes(n);
    for (std::size_t i = 0; i < n; i++) bytes[i] = static_cast<std::byte>((i * 7 + static_cast<std::size_t>(rank) * 31 + i / 251) & 255);
    return bytes;
}

void finish(const core::GroupEngine::Started &exchange) {
    while (!exchange->advance()) {
    }
}

// Parts of 1000 bytes stand for those of 1 GiB.
TEST(Mpi, exchanges_are_divided_into_parts_that_the_library_can_count) {
    const std::unique_ptr<core::GroupEngine> engine = core::mpi_engine(std::chrono::seconds(20), 1000);
    const int own = engine->rank();
    const auto n = static_cast<std::size_t>(engine->size());
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{999}, std::size_t{1000}, std::size_t{1001}, std::size_t{5432}}) {
        std::vector<std::byte> all(n * bytes + 1), wanted(all.size());
        finish(engine->gather(bytes_of(own, bytes).data(), all.data(), bytes));
        for (std::size_t rank = 0; rank < n; rank++) {
            const std::vector<std::byte> part = bytes_of(static_cast<int>(rank), bytes);
            std::copy(part.begin(), part.end(), wanted.begin() + static_cast<std::ptrdiff_t>(rank * bytes));
        }
        EXPECT_EQ(all, wanted) << bytes;

        const std::vector<std::byte> whole = bytes_of(own, n * bytes);
        finish(engine->swap_parts(whole.data(), all.data(), bytes));
        for (std::size_t rank = 0; rank < n; rank++) {
            const std::vector<std::byte> other = bytes_of(static_cast<int>(rank), n * bytes);
            const auto from = other.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(own) * bytes);
            std::copy_n(from, bytes, wanted.begin() + static_cast<std::ptrdiff_t>(rank * bytes));
        }
        EXPECT_EQ(all, wanted) << bytes;

        for (int root = 0; root < engine->size(); root++) {
            std::vector<std::byte> got(bytes);
            const std::vector<std::byte> mine = bytes_of(own, bytes);
            finish(engine->broadcast(mine.data(), got.data(), bytes, root));
            EXPECT_EQ(got, bytes_of(root, bytes)) << bytes;
        }

        const int to = (own + 1) % engine->size(), from = (own + engine->size() - 1) % engine->size();
        std::vector<std::byte> got(bytes);
        for (int i = 0; i < 3; i++) {
            engine->send(bytes_of(own + i, bytes).data(), bytes, to);
        }
        for (int i = 0; i < 3; i++) {
            finish(engine->receive(got.data(), bytes, from));
            EXPECT_EQ(got, bytes_of(from + i, bytes)) << bytes;
        }
    }
    for (const std::size_t count : {std::size_t{1}, std::size_t{125}, std::size_t{126}, std::size_t{777}}) {
        std::vector<std::int64_t> values(count), sum(count), most(count);
        for (std::size_t i = 0; i < count; i++) values[i] = static_cast<std::int64_t>(i) + own;
        const auto bytes = reinterpret_cast<const std::byte *>(values.data());
        const auto elements = static_cast<std::int64_t>(count);
        finish(engine->all_reduce(core::Reduction::sum, core::DType::i64, bytes, reinterpret_cast<std::byte *>(sum.data()), elements));
        finish(engine->all_reduce(core::Reduction::max, core::DType::i64, bytes, reinterpret_cast<std::byte *>(most.data()), elements));
        for (std::size_t i = 0; i < count; i++) {
            const auto ranks = static_cast<std::int64_t>(n), first = static_cast<std::int64_t>(i);
            ASSERT_EQ(sum[i], first * ranks + ranks * (ranks - 1) / 2) << count;
            ASSERT_EQ(most[i], first + ranks - 1) << count;
        }
    }
}

// Runs of two groups of the same processes go on at the same time, on threads of each.
TEST(Mpi, groups_are_independent) {
    const tl::Group one("mpi"), two("mpi");
    const auto run = [](const tl::Group &group, float factor) {
        const tl::Context ctx;
        const tl::Tensor sum = ctx.tensor<float>({2}, {factor, static_cast<float>(group.rank())}).all_sum(group);
        const tl::Graph graph{sum};
        const tl::Backend cpu("cpu", {1});
        for (int i = 0; i < 200; i++) graph.compute(cpu);
        const auto n = static_cast<float>(group.size());
        EXPECT_EQ(sum.read_f32(), (std::vector<float>{factor * n, n * (n - 1) / 2}));
    };
    std::thread other([&] { run(one, 3); });
    run(two, 5);
    other.join();
}

TEST(Mpi, the_text_names_library_and_version) {
    const tl::Group group("mpi");
    EXPECT_NE(group.text().find("mpi: " + std::to_string(group.size()) + " process"), std::string::npos) << group.text();
    EXPECT_NE(group.text().find("MPI"), std::string::npos) << group.text();
    EXPECT_NE(group.text().find(".so"), std::string::npos) << group.text();
    EXPECT_EQ(tl::Group{}.size(), group.size());
}

}  // namespace
