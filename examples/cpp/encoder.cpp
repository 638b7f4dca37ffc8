// A text encoder of the BERT family: prints the vector of a text, given as tokens.
//
//     tl_cpp_encoder MODEL.gguf TOKEN...
//
// MODEL.gguf has the architecture bert. The vector is the mean of the tokens' vectors in the last layer, whatever pooling
// the file names, divided by its length. It is printed one element a line, with six digits after the point.
// TENSORLIB_DEVICE names the device; the CPU is the default.
#include <tensorlib/gguf.hpp>
#include <tensorlib/tensorlib.hpp>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tl = tensorlib;

namespace {

class Encoder {
public:
    Encoder(const std::string &path, const tl::Backend &backend);
    std::int64_t vocabulary() const { return embeddings_.shape()[1]; }
    // The vector of these tokens, each below vocabulary().
    std::vector<float> encode(const std::vector<std::int32_t> &tokens) const;

private:
    tl::Tensor weight(const std::string &name) const { return file_.tensor(model_, name); }
    tl::Tensor linear(const std::string &name, const tl::Tensor &x) const {
        return mul_mat(weight(name + ".weight"), x) + weight(name + ".bias");
    }
    tl::Tensor norm(const std::string &name, const tl::Tensor &x) const {
        return x.norm(eps_) * weight(name + ".weight") + weight(name + ".bias");
    }
    tl::Tensor split_heads(const tl::Tensor &x) const;
    tl::Tensor layer(std::int64_t number, const tl::Tensor &x) const;

    tl::Backend backend_;
    tl::Context model_;  // the weights and the nodes
    tl::Gguf file_;
    tl::Tensor embeddings_;  // {width, vocabulary}
    std::int64_t width_, layers_, heads_;
    double eps_;
};

std::int64_t count(const tl::Gguf &file, const std::string &key) {
    const std::int64_t value = file.i64(key);
    if (value < 1) throw std::runtime_error(key + " is " + std::to_string(value) + ": 1 or more is valid");
    return value;
}

Encoder::Encoder(const std::string &path, const tl::Backend &backend) : backend_(backend), model_(backend), file_(tl::Gguf::open(path)) {
    const std::string architecture = file_.string("general.architecture");
    if (architecture != "bert") throw std::runtime_error("the architecture is '" + architecture + "': bert is valid");
    layers_ = count(file_, "bert.block_count");
    heads_ = count(file_, "bert.attention.head_count");
    eps_ = file_.f64("bert.attention.layer_norm_epsilon");
    embeddings_ = weight("token_embd.weight");
    width_ = embeddings_.shape()[0];
    if (width_ % heads_ != 0)
        throw std::runtime_error(std::to_string(heads_) + " heads do not divide the width, " + std::to_string(width_));
}

// {width, tokens} as {width / heads, tokens, heads}.
tl::Tensor Encoder::split_heads(const tl::Tensor &x) const { return x.reshape({width_ / heads_, heads_, -1}).permute({0, 2, 1, 3}); }

tl::Tensor Encoder::layer(std::int64_t number, const tl::Tensor &x) const {
    const std::string blk = "blk." + std::to_string(number) + ".";
    const auto q = split_heads(linear(blk + "attn_q", x));
    const auto k = split_heads(linear(blk + "attn_k", x));
    const auto v = split_heads(linear(blk + "attn_v", x));
    const auto attended = flash_attn_ext(q, k, v, std::nullopt, std::nullopt);  // {width / heads, heads, tokens}
    const auto output = linear(blk + "attn_output", attended.reshape({width_, -1}));
    const auto y = norm(blk + "attn_output_norm", output + x);
    const auto inner = linear(blk + "ffn_up", y).gelu_erf();
    return norm(blk + "layer_output_norm", linear(blk + "ffn_down", inner) + y);
}

std::vector<float> Encoder::encode(const std::vector<std::int32_t> &tokens) const {
    const auto n = static_cast<std::int64_t>(tokens.size());
    const auto ids = model_.tensor({n}, tokens);
    const auto positions = weight("position_embd.weight").narrow(1, 0, n);
    const auto type = weight("token_types.weight").narrow(1, 0, 1);  // all are of the first type
    auto x = norm("token_embd_norm", get_rows(embeddings_, ids) + positions + type);
    for (std::int64_t i = 0; i < layers_; i++) x = layer(i, x);
    const auto vector = x.mean({.dims = {1}}).l2_norm(1e-12);  // of the tokens' mean
    backend_.compute({vector});
    return vector.read<float>();
}

std::int32_t parse_token(std::string_view text, std::int64_t vocabulary) {
    std::int32_t token = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), token);
    if (error == std::errc() && end == text.data() + text.size() && token >= 0 && token < vocabulary) return token;
    throw std::runtime_error("token " + std::string(text) + ": 0 to " + std::to_string(vocabulary - 1) + " are valid");
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: tl_cpp_encoder MODEL.gguf TOKEN...\n");
        return 2;
    }
    try {
        const char *device = std::getenv("TENSORLIB_DEVICE");
        const Encoder encoder(argv[1], tl::Backend(device && *device ? device : "cpu"));
        std::vector<std::int32_t> tokens;
        for (int i = 2; i < argc; i++) tokens.push_back(parse_token(argv[i], encoder.vocabulary()));
        for (const float value : encoder.encode(tokens)) std::printf("%.6f\n", static_cast<double>(value));
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "encoder: %s\n", error.what());
        return 1;
    }
}
