// Groups whose ranks compute on CUDA devices, real or simulated: exchanges go through the host's memory.
#include "cuda_support.hpp"
#include "ranks.hpp"

namespace {

class CudaGroups : public support::CudaTest {};

using support::errors_of_ranks;
using support::on_ranks;

// The ranks take the devices in turn.
tl::Backend device_of(int rank) {
    const std::vector<std::string> names = support::cuda_devices();
    return tl::Backend(names[static_cast<std::size_t>(rank) % names.size()]);
}

std::vector<float> values_of(int rank, const tl::Shape &shape) {
    const tl::Context ctx;
    return support::leaf(ctx, shape, 50 + static_cast<std::uint32_t>(rank)).read_f32();
}

TEST_F(CudaGroups, each_rank_gets_its_result) {
    constexpr int n = 3;
    on_ranks(n, [&](const tl::Group &group) {
        const tl::Backend device = device_of(group.rank());
        const tl::Context ctx(device);
        const tl::Shape shape{6, 5};
        const tl::Tensor a = support::leaf(ctx, shape, 50 + static_cast<std::uint32_t>(group.rank()));
        // Work before and after the exchange, and operands that are views.
        const tl::Tensor sum = (a * 2).all_sum(group) + 1, half = a.cast(tl::Type::f16).all_max(group).cast(tl::Type::f32);
        const tl::Tensor turned = a.transpose().all_gather(1, group), part = a.narrow(0, 1, 3).sum_scatter(0, group);
        const tl::Tensor root = a.broadcast(1, group), empty = ctx.zeros(tl::Type::f32, {0, 3}).all_sum(group);
        const tl::Tensor gradient = ctx.gradients({{(a.all_sum(group)).sqr().sum()}}, {{a}})[0];
        const tl::Graph graph{sum, half, turned, part, root, empty, gradient};
        // The second run would be recorded, and the third one played back.
        for (int run = 0; run < 3; run++) graph.compute(device);
        std::vector<float> want_sum(30, 1), most(30, -100), share(5), slope(30), gathered;
        for (int rank = 0; rank < n; rank++) {
            const std::vector<float> of = values_of(rank, shape);
            for (std::size_t i = 0; i < 30; i++) want_sum[i] += 2 * of[i], most[i] = std::max(most[i], of[i]), slope[i] += 2 * of[i];
            for (std::size_t r = 0; r < 5; r++) share[r] += of[r * 6 + 1 + static_cast<std::size_t>(group.rank())];
            for (std::size_t c = 0; c < 6; c++) {
                for (std::size_t r = 0; r < 5; r++) gathered.push_back(of[r * 6 + c]);
            }
        }
        const auto expect_near = [](const tl::Tensor &t, const std::vector<float> &want) {
            const std::vector<float> got = t.read_f32();
            ASSERT_EQ(got.size(), want.size());
            for (std::size_t i = 0; i < got.size(); i++) EXPECT_NEAR(got[i], want[i], 1e-5) << i;
        };
        expect_near(sum, want_sum);
        expect_near(turned, gathered);
        expect_near(part, share);
        expect_near(root, values_of(1, shape));
        expect_near(gradient, slope);
        for (std::size_t i = 0; i < 30; i++) EXPECT_NEAR(half.read_f32()[i], most[i], 1e-2);
        EXPECT_EQ(empty.read_f32().size(), 0u);
    });
}

TEST_F(CudaGroups, a_rank_that_leaves_is_an_error) {
    const auto run = [](const tl::Group &group) {
        if (group.rank() == 1) return;
        const tl::Backend device = device_of(0);
        const tl::Context ctx(device);
        device.compute({support::leaf(ctx, {4}, 1).all_sum(group)});
    };
    const std::vector<std::string> errors = errors_of_ranks(tl::Group::local(2), run);
    EXPECT_NE(errors[0].find("rank 1 has left the group"), std::string::npos) << errors[0];
    // The device goes on.
    const tl::Backend device = device_of(0);
    const tl::Context ctx(device);
    const tl::Tensor twice = ctx.tensor<float>({1}, {2}) * 2;
    device.compute({twice});
    EXPECT_EQ(twice.read_f32()[0], 4);
}

}  // namespace
