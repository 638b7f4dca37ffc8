// Quantised leafs, for tests of operations on them.
#pragma once

#include "dtype/dtype.hpp"

#include "support.hpp"

#include <random>

namespace support {

// Blocks of random bytes whose values are finite and not too large: a random float row would need an encoder.
inline std::vector<std::byte> random_blocks(tl::core::DType type, std::int64_t n_elements, unsigned seed) {
    const tl::core::DTypeTraits &t = tl::core::traits(type);
    std::vector<std::byte> bytes(static_cast<std::size_t>(n_elements / t.block_size) * t.size);
    std::mt19937 random(seed);
    std::vector<float> values(static_cast<std::size_t>(t.block_size));
    for (std::size_t at = 0; at < bytes.size(); at += t.size) {
        bool fine = false;
        while (!fine) {
            for (std::size_t i = 0; i < t.size; i++) bytes[at + i] = static_cast<std::byte>(random());
            t.decode(bytes.data() + at, values.data(), t.block_size);
            fine = true;
            for (const float v : values) fine = fine && std::fabs(v) < 1e4f;
        }
    }
    return bytes;
}

inline tl::Tensor blocks_leaf(const tl::Context &ctx, tl::core::DType type, const tl::Shape &shape, unsigned seed) {
    const tl::Tensor t = ctx.zeros(static_cast<tl::Type>(type), shape);
    const auto bytes = random_blocks(type, t.n_elements(), seed);
    t.write_bytes(bytes.data(), 0, bytes.size());
    return t;
}

// The formats that weights may have.
inline std::vector<tl::core::DType> weights() {
    using namespace tl::core;
    std::vector<DType> all;
    for (std::size_t i = 0; i < dtype_count(); i++) {
        if (dtype_at(i).kind == Kind::weight) all.push_back(dtype_at(i).type);
    }
    return all;
}

// To bytes, for products with weights of this type: elements of a group of these are rounded by one scale.
inline Rounded to_bytes_for(tl::core::DType weights) {
    switch (weights) {
        case tl::core::DType::q2_0: return Rounded::to_bytes_by_64;
        case tl::core::DType::q1_0: return Rounded::to_bytes_by_128;
        case tl::core::DType::tq1_0:
        case tl::core::DType::tq2_0: return Rounded::to_bytes_by_256;
        default: return Rounded::to_bytes;
    }
}

// How the graph's product with a rounds b on this ISA, as its plan says.
inline Rounded how_rounded(const tl::Graph &graph, const std::string &isa, const tl::Tensor &a) {
    const std::string plan = graph.plan_text(backend(isa, 1));
    if (plan.find(", b in 8 bits") != std::string::npos) return to_bytes_for(static_cast<tl::core::DType>(a.type()));
    if (plan.find(", b in 16 bits") != std::string::npos) return Rounded::to_words;
    return plan.find(", b in bf16") != std::string::npos ? Rounded::to_bf16 : Rounded::no;
}

}  // namespace support
