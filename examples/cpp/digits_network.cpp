// A network learns handwritten digits: 64 pixels, 256 hidden units, 10 classes.
//
//     tl_cpp_digits_network [--file CSV]
//
// Images 1 to 1000 of the file train it, the others test it. The nodes of a step (answers, loss, gradients, AdamW) are made once for each
// size of batch; then leafs are rewritten and the graph is computed again. First values, order and rates are those of
// examples/rust/digits_network.rs, so that the same numbers come out in every language.
#include <tensorlib/tensorlib.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numbers>
#include <numeric>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tl = tensorlib;

namespace {

constexpr std::int64_t pixels = 64, hidden = 256, classes = 10;
constexpr std::size_t n_train = 1000, batch_size = 32, epochs = 60, warm_up = 50;
constexpr std::uint64_t seed = 1;

struct Images {
    std::vector<std::array<float, pixels>> pixels_of;  // 0 to 1
    std::vector<std::int32_t> digit_of;
};

// A line an image: 64 pixels of 0 to 16 and the digit, separated by commas; lines that begin with # are comments.
Images read_images(const std::string &path) {
    std::ifstream in(path);
    if (!in) throw std::runtime_error(path + ": cannot be read");
    Images images;
    std::size_t number = 0;
    const auto fail = [&](const std::string &what) { throw std::runtime_error(path + ":" + std::to_string(number) + ": " + what); };
    for (std::string line; std::getline(in, line);) {
        number++;
        if (line.empty() || line[0] == '#') continue;
        std::istringstream words(line);
        std::vector<long> values;
        for (std::string word; std::getline(words, word, ',');) {
            char *end = nullptr;
            values.push_back(std::strtol(word.c_str(), &end, 10));
            if (word.empty() || *end || values.back() < 0 || values.back() > 16) fail("'" + word + "' is not a whole number from 0 to 16");
        }
        if (values.size() != pixels + 1) fail(std::to_string(values.size()) + " values: 64 pixels and a digit are valid");
        if (values.back() > 9) fail("the digit is " + std::to_string(values.back()) + ": 0 to 9 are valid");
        auto &image = images.pixels_of.emplace_back();
        for (std::size_t i = 0; i < image.size(); i++) image[i] = static_cast<float>(values[i]) / 16;
        images.digit_of.push_back(static_cast<std::int32_t>(values.back()));
    }
    if (images.digit_of.size() <= n_train) fail(std::to_string(images.digit_of.size()) + " images: more than 1000 are needed");
    return images;
}

// A parameter and what AdamW remembers of it.
struct Parameter {
    tl::Tensor value, m, v;
};

// Each first value from -1 / sqrt(inputs) to 1 / sqrt(inputs) is as likely, by the seed and the parameter's number.
Parameter parameter(const tl::Context &ctx, const tl::Backend &backend, std::int64_t number, std::int64_t inputs,
                    const std::vector<std::int64_t> &shape) {
    const Parameter made{ctx.zeros(tl::Type::f32, shape), ctx.zeros(tl::Type::f32, shape), ctx.zeros(tl::Type::f32, shape)};
    const auto state = ctx.tensor<std::int64_t>({2}, {static_cast<std::int64_t>(seed), number});
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    const auto values = state.random_uniform({made.value.n_elements()}, -bound, bound, 0);
    backend.compute({values});
    made.value.write<float>(values.read<float>());
    return made;
}

// The leafs of n images and what is computed of them.
struct Batch {
    std::size_t n;
    tl::Tensor x, digits, loss, right;  // right: how many answers are, when testing
    tl::Graph graph;
};

Batch make_batch(const tl::Context &ctx, std::span<const Parameter> p, std::size_t n, const tl::Tensor *settings) {
    const auto columns = static_cast<std::int64_t>(n);
    const auto x = ctx.zeros(tl::Type::f32, {pixels, columns}), digits = ctx.zeros(tl::Type::i32, {1, columns});
    const auto logits = mul_mat(p[2].value, relu(mul_mat(p[0].value, x) + p[1].value)) + p[3].value;  // {10, n}
    const auto loss = sum(gather(log_soft_max(logits), digits, 0)).scale(-1.0 / static_cast<double>(n));
    if (!settings) {
        const auto right = count_equal(argmax(logits, {.dims = {0}}).reshape({1, -1}), digits);
        return {n, x, digits, loss, right, tl::Graph({loss, right})};
    }
    std::vector<tl::Tensor> outputs{loss};
    const auto gradients = loss.gradients({p[0].value, p[1].value, p[2].value, p[3].value});
    for (std::size_t i = 0; i < p.size(); i++) outputs.push_back(opt_step_adamw(p[i].value, gradients[i], p[i].m, p[i].v, *settings));
    return {n, x, digits, loss, {}, tl::Graph(outputs)};
}

// Computes a batch of the images with these numbers; gives the loss.
double compute(const Batch &batch, const tl::Backend &backend, const Images &images, std::span<const std::size_t> numbers) {
    std::vector<float> x;
    std::vector<std::int32_t> digits;
    for (const std::size_t number : numbers.first(batch.n)) {
        x.insert(x.end(), images.pixels_of[number].begin(), images.pixels_of[number].end());
        digits.push_back(images.digit_of[number]);
    }
    batch.x.write<float>(x);
    batch.digits.write<std::int32_t>(digits);
    batch.graph.compute(backend);
    return batch.loss.read<float>()[0];
}

// What a step is told: its rate, which rises over the first steps and falls along half a cosine, and AdamW's numbers.
std::array<float, 7> settings_of(std::size_t step, std::size_t steps) {
    constexpr double rate = 0.01, last_factor = 0.01, decay = 0.1, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    const auto at = static_cast<double>(step);
    const double part = (at - warm_up) / (static_cast<double>(steps) - warm_up), half_cosine = (1 + std::cos(std::numbers::pi * part)) / 2;
    const double factor = step < warm_up ? (at + 1) / warm_up : last_factor + (1 - last_factor) * half_cosine;
    const double unbias1 = 1 / (1 - std::pow(beta1, at + 1)), unbias2 = 1 / (1 - std::pow(beta2, at + 1));
    const std::array<double, 7> values{rate * factor, beta1, beta2, epsilon, decay, unbias1, unbias2};
    std::array<float, 7> rounded{};
    for (std::size_t i = 0; i < 7; i++) rounded[i] = static_cast<float>(values[i]);
    return rounded;
}

// SplitMix64 (Steele, Lea, Flood, 2014): the sequence of a seed with a number.
class Random {
public:
    Random(std::uint64_t from, std::uint64_t number) : state_(mix(from + gamma) ^ mix(number * gamma + 1)) {}
    std::uint64_t next() { return mix(state_ += gamma); }
    // From 0 on and below n, which is less than 2^32: the upper 64 bits of a product. Each is as likely but for 2^-53.
    std::size_t below(std::uint64_t n) {
        const std::uint64_t random = next();
        return static_cast<std::size_t>(((random >> 32) * n + (((random & 0xffffffff) * n) >> 32)) >> 32);
    }

private:
    static constexpr std::uint64_t gamma = 0x9e3779b97f4a7c15;
    static std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    std::uint64_t state_;
};

// The numbers below n in the order of an epoch (Durstenfeld, 1964).
std::vector<std::size_t> shuffled(std::size_t n, std::size_t epoch) {
    Random random(Random(seed, epoch).next(), ~std::uint64_t{0});
    std::vector<std::size_t> numbers(n);
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    for (std::size_t i = n - 1; i > 0; i--) std::swap(numbers[i], numbers[random.below(i + 1)]);
    return numbers;
}

void run(const std::string &path) {
    const Images images = read_images(path);
    const tl::Backend backend;
    const tl::Context ctx;
    const std::array<Parameter, 4> parameters{
        parameter(ctx, backend, 0, pixels, {pixels, hidden}), parameter(ctx, backend, 1, pixels, {hidden}),
        parameter(ctx, backend, 2, hidden, {hidden, classes}), parameter(ctx, backend, 3, hidden, {classes})};
    const auto settings = ctx.zeros(tl::Type::f32, {7});
    const Batch whole = make_batch(ctx, parameters, batch_size, &settings);
    const Batch rest = make_batch(ctx, parameters, n_train % batch_size, &settings);

    const std::size_t steps = epochs * ((n_train + batch_size - 1) / batch_size);
    for (std::size_t epoch = 0, step = 0; epoch < epochs; epoch++) {
        double sum = 0;
        const auto numbers = shuffled(n_train, epoch);
        for (std::size_t at = 0; at < n_train; at += batch_size, step++) {
            const Batch &batch = n_train - at < batch_size ? rest : whole;
            settings.write<float>(settings_of(step, steps));
            sum += compute(batch, backend, images, std::span(numbers).subspan(at)) * static_cast<double>(batch.n);
        }
        if ((epoch + 1) % 10 == 0) std::printf("epoch %zu: loss %.12f\n", epoch + 1, sum / n_train);
    }
    std::vector<std::size_t> numbers(images.digit_of.size() - n_train);
    std::iota(numbers.begin(), numbers.end(), n_train);
    const Batch test = make_batch(ctx, parameters, numbers.size(), nullptr);
    compute(test, backend, images, numbers);
    const auto right = static_cast<double>(test.right.read<std::int64_t>()[0]);
    std::printf("accuracy %.2f %%\n", 100 * right / static_cast<double>(test.n));
}

}  // namespace

int main(int argc, char **argv) try {
    if (argc != 1 && (argc != 3 || std::string(argv[1]) != "--file")) throw std::runtime_error("--file CSV is valid");
    run(argc == 3 ? argv[2] : "examples/data/digits.csv");
} catch (const std::exception &error) {
    std::fprintf(stderr, "digits_network: %s\n", error.what());
    return 1;
}
