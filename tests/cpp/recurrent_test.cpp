// Recurrent layers beyond the shared cases: the bits do not depend on threads or on where a sequence is divided, and sizes around the
// vectors of every ISA agree with double.
#include "recurrent_layers.hpp"

#include <array>
#include <cmath>
#include <cstring>

namespace {

namespace tl = tensorlib;
using Floats = std::vector<float>;
using recurrent::Layer;
using recurrent::layers;
using recurrent::small;
using recurrent::tokens;

Floats computed(const tl::Tensor &t, const std::string &isa, int threads) {
    support::backend(isa, threads).compute({t});
    return t.read_f32();
}

bool same_bits(const Floats &a, const Floats &b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(Recurrent, has_the_same_bits_at_any_number_of_threads_and_in_parts) {
    for (const std::int64_t size : {1, 3, 8, 16, 33, 70}) {
        for (const Layer &layer : layers(size)) {
            for (const std::string &isa : support::isas()) {
                tl::Context ctx;
                const tl::Tensor first = small(ctx, layer.state, 9), whole = layer.run(ctx, 0, tokens, first), states = whole.result(1);
                const Floats results = computed(whole, isa, 1), after = computed(states, isa, 1);
                const std::string what = layer.name + " of " + std::to_string(size) + " on " + isa;
                for (const int threads : {2, 3, 8})
                    EXPECT_TRUE(same_bits(computed(whole, isa, threads), results)) << what << ", " << threads << " threads";
                for (const std::int64_t cut : {std::int64_t{0}, std::int64_t{1}, std::int64_t{4}, tokens}) {
                    const tl::Tensor one = layer.run(ctx, 0, cut, first),
                                     other = layer.run(ctx, cut, tokens, one.result(1).reshape(layer.state));
                    EXPECT_TRUE(same_bits(computed(other.result(1), isa, 2), after)) << what << ", cut at " << cut;
                    Floats both = computed(one, isa, 2);
                    const Floats rest = computed(other, isa, 2);
                    both.insert(both.end(), rest.begin(), rest.end());
                    EXPECT_TRUE(same_bits(both, results)) << what << ", cut at " << cut;
                }
            }
        }
    }
}

// Rows of adjacent floats are read where they are, others are copied first.
TEST(Recurrent, reads_states_of_any_strides) {
    for (const std::int64_t size : {5, 33}) {
        for (const Layer &layer : layers(size)) {
            for (const std::string &isa : support::isas()) {
                tl::Context ctx;
                std::vector<std::int64_t> wide{2};
                wide.insert(wide.end(), layer.state.begin(), layer.state.end());
                wide.resize(4, 1);  // the last dimension of a state is 1
                const tl::Tensor apart = small(ctx, wide, 9).narrow(0, 1, 1).permute({3, 0, 1, 2});
                const tl::Tensor want = layer.run(ctx, 0, tokens, cont(apart)), got = layer.run(ctx, 0, tokens, apart);
                for (const std::int32_t number : {0, 1})
                    EXPECT_TRUE(same_bits(computed(got.result(number), isa, 2), computed(want.result(number), isa, 2)))
                        << layer.name << " of " << size << " on " << isa << ", result " << number;
            }
        }
    }
}

// ISAs add in different orders: each agrees with the first as closely as sums of so few numbers can.
TEST(Recurrent, agrees_on_every_isa) {
    for (const std::int64_t size : {5, 16, 31, 64, 100}) {
        for (const Layer &layer : layers(size)) {
            tl::Context ctx;
            const tl::Tensor whole = layer.run(ctx, 0, tokens, small(ctx, layer.state, 9));
            const Floats want = computed(whole, support::isas().front(), 1);
            for (const std::string &isa : support::isas()) {
                const Floats got = computed(whole, isa, 1);
                for (std::size_t i = 0; i < want.size(); i++)
                    ASSERT_NEAR(got[i], want[i], 1e-5 * (1 + std::fabs(want[i])))
                        << layer.name << " of " << size << " on " << isa << ", element " << i;
            }
        }
    }
}

TEST(Recurrent, further_results_are_read_as_the_first) {
    tl::Context ctx;
    const Layer layer = layers(4).front();
    const tl::Tensor c = layer.run(ctx, 0, tokens, small(ctx, layer.state, 9));
    EXPECT_EQ(c.result(1).shape(), (std::array<std::int64_t, 4>{4, 4, 2, 1}));
    support::backend(support::isas().front(), 1).compute({c, c.result(1)});
    EXPECT_EQ(c.result(0).read_f32(), c.read_f32());
    support::expect_error(tl::Status::invalid_argument, {"result", "gated_delta_net has the results 0 to 1"}, [&] { c.result(2); });
}

}  // namespace
