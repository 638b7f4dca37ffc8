// The value of f(x) = a x^2 + b and its gradient. The nodes are made once; then x is rewritten and they are computed again.
#include <tensorlib/tensorlib.hpp>

#include <cstdio>

namespace tl = tensorlib;

int main() try {
    const tl::Backend cpu;
    const tl::Context ctx;
    const auto a = ctx.tensor<float>({1}, {3}), b = ctx.tensor<float>({1}, {2}), x = ctx.tensor<float>({1}, {0});

    const auto f = a * sqr(x) + b;
    const auto slope = f.gradients({x}).front();  // one for each of the list: here df/dx
    const tl::Graph graph({f, slope});

    for (const float value : {2.F, 0.F, -1.5F, 10.F}) {
        x.write_f32({&value, 1});
        graph.compute(cpu);
        std::printf("x = %g: f(x) = %g, df/dx = %g\n", value, f.read<float>()[0], slope.read<float>()[0]);
    }
} catch (const tl::Error &error) {
    std::fprintf(stderr, "value_and_gradient: %s\n", error.what());
    return 1;
}
