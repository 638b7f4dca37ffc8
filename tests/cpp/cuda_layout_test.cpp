// Operations that move elements, on the first CUDA device.
#include "cuda_support.hpp"
#include "scatters.hpp"

using namespace moves;

namespace {

class CudaMoves : public support::CudaTest, public testing::WithParamInterface<Move> {};
INSTANTIATE_TEST_SUITE_P(operations, CudaMoves, testing::ValuesIn(all_moves),
                         [](const auto &info) { return core::op_name(info.param.op); });

TEST_P(CudaMoves, put_every_unit_where_it_belongs) {
    const core::Ref<core::Backend> backend = core::open_backend("cuda:0", {});
    expect_right(GetParam(), {&backend, 1}, support::repeats(60, 2000));
}

class CudaSums : public support::CudaTest, public testing::WithParamInterface<Move> {};
INSTANTIATE_TEST_SUITE_P(operations, CudaSums, testing::ValuesIn(all_sums), [](const auto &info) { return core::op_name(info.param.op); });

TEST_P(CudaSums, are_where_they_belong) {
    const core::Ref<core::Backend> backend = core::open_backend("cuda:0", {});
    expect_sums(GetParam(), {&backend, 1}, support::repeats(60, 2000));
}

class CudaScatter : public support::CudaTest {};

TEST_F(CudaScatter, adds_in_order) {
    const core::Ref<core::Backend> backend = core::open_backend("cuda:0", {});
    expect_scattered({&backend, 1}, support::repeats(60, 2000));
}

}  // namespace
