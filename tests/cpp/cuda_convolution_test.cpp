// Pooling, upscaling and convolutions on the first CUDA device.
#include "convolutions.hpp"
#include "cuda_support.hpp"

using namespace convolutions;

namespace {

class CudaConvolutions : public support::CudaTest, public testing::WithParamInterface<Operation> {};
INSTANTIATE_TEST_SUITE_P(operations, CudaConvolutions, testing::ValuesIn(all_operations),
                         [](const auto &info) { return info.param.name(); });

TEST_P(CudaConvolutions, are_within_their_bounds) {
    const std::vector<core::Ref<core::Backend>> device{core::open_backend("cuda:0", {})};
    expect_values(GetParam(), {&device, 1}, support::repeats(40, 2000));
}

}  // namespace
