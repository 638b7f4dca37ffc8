// The C++ quickstart, as a program outside the tree.
#include <cstdio>

#include <tensorlib/tensorlib.hpp>

namespace tl = tensorlib;

int main() {
    try {
        tl::Backend cpu;
        tl::Context ctx;
        const float a_data[] = {2, 8, 5, 1, 4, 2, 8, 6}, b_data[] = {10, 5, 9, 9, 5, 4};
        auto a = ctx.tensor<float>({2, 4}, a_data);
        auto b = ctx.tensor<float>({2, 3}, b_data);
        auto c = mul_mat(a, b);
        cpu.compute({c});
        int column = 0;
        for (float value : c.read<float>()) std::printf("%g%c", value, ++column % 4 == 0 ? '\n' : ' ');
        return 0;
    } catch (const tl::Error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
