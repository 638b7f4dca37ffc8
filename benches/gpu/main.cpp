// Measures a GPU through the C++ API: a Markdown table, each row with a limit that was measured in turn with it.
//
//     tl_bench_gpu [--device cuda:0] [--seconds 1] [--tiny]
//
// --seconds is the time for each row. --tiny takes sizes for a simulated GPU; its output only shows that the program
// works.
#include "rows.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace bench = tensorlib::bench;
namespace tl = tensorlib;

namespace {

struct Options {
    std::string device = "cuda:0";
    double seconds = 1;
    bool tiny = false;
};

Options parse(int argc, char **argv) {
    Options options;
    for (int i = 1; i < argc; i++) {
        const bool value = i + 1 < argc;
        if (std::strcmp(argv[i], "--tiny") == 0) {
            options.tiny = true;
        } else if (value && std::strcmp(argv[i], "--device") == 0) {
            options.device = argv[++i];
        } else if (value && std::strcmp(argv[i], "--seconds") == 0) {
            options.seconds = std::atof(argv[++i]);
        } else {
            bench::die(std::string("unknown option ") + argv[i] + ": --device NAME, --seconds S, --tiny");
        }
    }
    return options;
}

// "cuda:1" -> 1
int index_of(const std::string &device) {
    const std::size_t colon = device.find(':');
    if (colon == std::string::npos) bench::die(device + " is no GPU: --device cuda:0");
    return std::atoi(device.c_str() + colon + 1);
}

// The engine asks for the variable when a backend is opened.
tl::Backend without_cublaslt(const std::string &device) {
    setenv("TENSORLIB_CUBLASLT", "off", 1);
    tl::Backend backend(device);
    unsetenv("TENSORLIB_CUBLASLT");
    return backend;
}

void run(const Options &options) {
    const std::size_t copied = options.tiny ? 4096 : std::size_t{256} << 20;
    bench::Gpu gpu{tl::Backend(options.device), without_cublaslt(options.device),
                   bench::CopyLimit(index_of(options.device), copied, options.tiny ? 1 : 2), options.tiny ? 0 : options.seconds};
    std::printf("%s, %s\n\n", gpu.as_is.device().c_str(), gpu.as_is.isa().c_str());
    bench::print_head();
    const std::int64_t k = options.tiny ? 64 : 4096, elements = options.tiny ? 4096 : std::int64_t{64} << 20;
    for (const std::int64_t n : {1, 8, 512, 4096}) {
        if (options.tiny) {
            bench::mul_mat_row(gpu, k, k, n > 8 ? 32 : n, 2, 2);
        } else {
            // 8 weights of 64 MiB: more than any L2, so each product reads its own from memory.
            bench::mul_mat_row(gpu, k, k, n, 8, n <= bench::matvec_columns ? 32 : 8);
        }
    }
    for (const tl::Type type : {tl::Type::f16, tl::Type::q8_0, tl::Type::q4_K, tl::Type::iq4_nl}) {
        for (const std::int64_t n : {1, 8, 512}) {
            bench::weights_row(gpu, type, options.tiny ? 256 : k, options.tiny ? 16 : 2 * k, options.tiny && n > 8 ? 9 : n);
        }
    }
    bench::attention_row(gpu, 1, options.tiny ? 64 : 8192);
    bench::attention_row(gpu, options.tiny ? 2 : 512, options.tiny ? 64 : 4096);
    bench::delta_row(gpu, 1, options.tiny ? 8 : 128);
    bench::delta_row(gpu, options.tiny ? 2 : 1024, options.tiny ? 8 : 128);
    bench::row_rows(gpu, options.tiny ? 64 : 4096, elements);
    bench::add_row(gpu, elements);
    bench::program_row(gpu, elements);
    bench::cpy_row(gpu, elements, tl::Type::f32);
    bench::cpy_row(gpu, elements, tl::Type::f16);
}

}  // namespace

int main(int argc, char **argv) {
    try {
        run(parse(argc, argv));
        return 0;
    } catch (const std::exception &error) {
        bench::die(error.what());
    }
}
