// Recognises handwritten digits by their nearest neighbour: all squared distances |x|^2 + |y|^2 - 2 x.y between queries y
// and references x by one graph of a mul_mat and two adds. The factor and the norms are leafs that the host fills.
//
//     tl_cpp_digits [--device NAME] [--threads N] [--file CSV]
#include <tensorlib/tensorlib.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace tl = tensorlib;

namespace {

constexpr std::size_t pixels = 64, references = 1000;

struct Options {
    std::string device = "cpu", file = "examples/data/digits.csv";
    int threads = 0;
};

Options parse(int argc, char **argv) {
    Options options;
    for (int i = 1; i < argc; i++) {
        const std::string name = argv[i];
        if (i + 1 == argc) throw std::runtime_error(name + " needs a value");
        const std::string value = argv[++i];
        if (name == "--device") {
            options.device = value;
        } else if (name == "--file") {
            options.file = value;
        } else if (name == "--threads") {
            std::size_t end = 0;
            options.threads = std::stoi(value, &end);
            if (end != value.size()) throw std::runtime_error("--threads " + value + ": a number is valid");
        } else {
            throw std::runtime_error("unknown option " + name + ": --device, --threads and --file are valid");
        }
    }
    return options;
}

struct Digits {
    std::vector<float> pixel;  // 64 a digit
    std::vector<int> label;
};

// A line a digit: 64 pixels of 0 to 16 and the label; lines that begin with # are comments.
Digits read_digits(const std::string &path) {
    std::ifstream in(path);
    if (!in) throw std::runtime_error(path + ": cannot be read");
    Digits digits;
    std::size_t number = 0;
    const auto fail = [&](const std::string &what) { throw std::runtime_error(path + ":" + std::to_string(number) + ": " + what); };
    for (std::string line; std::getline(in, line);) {
        number++;
        if (line.empty() || line[0] == '#') continue;
        std::istringstream words(line);
        std::vector<int> values;
        for (std::string word; std::getline(words, word, ',');) {
            char *end = nullptr;
            const long value = std::strtol(word.c_str(), &end, 10);
            if (word.empty() || *end || value < 0 || value > 16) fail("'" + word + "' is not a whole number from 0 to 16");
            values.push_back(static_cast<int>(value));
        }
        if (values.size() != pixels + 1) fail(std::to_string(values.size()) + " values: 64 pixels and a digit are valid");
        if (values.back() > 9) fail("the label is " + std::to_string(values.back()) + ": 0 to 9 are digits");
        digits.label.push_back(values.back());
        for (std::size_t i = 0; i < pixels; i++) digits.pixel.push_back(static_cast<float>(values[i]));
    }
    if (digits.label.size() <= references)
        fail("the file ends after " + std::to_string(digits.label.size()) + " digits: more than 1000 are needed");
    return digits;
}

std::vector<float> norms(std::span<const float> values) {
    std::vector<float> sums(values.size() / pixels);
    for (std::size_t i = 0; i < values.size(); i++) sums[i / pixels] += values[i] * values[i];
    return sums;
}

void run(const Options &options) {
    const Digits digits = read_digits(options.file);
    const std::span<const float> all = digits.pixel, x = all.first(references * pixels), y = all.subspan(references * pixels);
    const auto n_references = static_cast<std::int64_t>(references), n_queries = static_cast<std::int64_t>(y.size() / pixels);
    std::vector<float> scaled(x.begin(), x.end());
    for (float &value : scaled) value *= -2;

    const tl::Backend backend(options.device, {options.threads});
    const tl::Context ctx(backend);
    const auto products =
        mul_mat(ctx.tensor<float>({64, n_references}, std::span<const float>(scaled)), ctx.tensor<float>({64, n_queries}, y));
    const auto distances = products + ctx.tensor({n_references}, norms(x)) + ctx.tensor({1, n_queries}, norms(y));
    const tl::Graph graph({distances});
    graph.compute(backend);  // the first run also plans
    const auto start = std::chrono::steady_clock::now();
    graph.compute(backend);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;

    const std::vector<float> values = distances.read<float>();
    int right = 0;
    for (std::int64_t query = 0; query < n_queries; query++) {
        const auto row = values.begin() + query * n_references;
        const auto nearest = std::min_element(row, row + n_references) - row;
        right += digits.label[static_cast<std::size_t>(nearest)] == digits.label[references + static_cast<std::size_t>(query)];
    }
    const double flops = (2.0 * pixels + 2) * static_cast<double>(n_references * n_queries);
    std::printf("%s, %d threads, %s: %.2f ms, %.1f GFLOP/s\n", backend.device().c_str(), backend.n_threads(), backend.isa().c_str(),
                time.count() * 1e3, flops / time.count() / 1e9);
    std::printf("accuracy %.2f %% (%d of %lld)\n", 100.0 * right / static_cast<double>(n_queries), right,
                static_cast<long long>(n_queries));
}

}  // namespace

int main(int argc, char **argv) {
    try {
        run(parse(argc, argv));
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "digits: %s\n", error.what());
        return 1;
    }
}
