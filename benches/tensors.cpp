#include "tensors.hpp"

#include "support.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::bench {

void repeat_rows(core::Tensor &t, std::span<const float> rows) {
    const core::DTypeTraits &type = core::traits(t.layout.type);
    const std::size_t row_floats = static_cast<std::size_t>(t.layout.ne[0]), all = t.layout.nbytes();
    const std::size_t part = std::min(rows.size() / row_floats * t.layout.row_bytes(), all);
    const auto n = static_cast<std::int64_t>(part / t.layout.row_bytes() * row_floats);
    check(type.encode(rows.data(), nullptr, t.address(), n) == -1, std::string("encoding ") + type.name);
    for (std::size_t at = part; at < all; at += part) std::memcpy(t.address() + at, t.address(), std::min(part, all - at));
}

}  // namespace tensorlib::bench
