#include "cpu/kernels/convert.hpp"

#include "dtype/convert.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

template <class From, class To>
std::int64_t convert_plain(const void *from, void *to, std::int64_t n) noexcept {
    const auto *source = static_cast<const typename From::Block *>(from);
    auto *target = static_cast<typename To::Block *>(to);
    std::int64_t bad = -1;
    for (std::int64_t i = 0; i < n; i++) {
        if (convert_element<From, To>(source[i], target[i])) continue;
        target[i] = {};
        if (bad < 0) bad = i;
    }
    return bad;
}

}  // namespace

Converter::Converter(DType from, DType to, const leaf::LeafTable &leaf) noexcept
    : from_(traits(from)),
      to_(traits(to)),
      from_loops_(leaf.formats[dtype_index(from)]),
      to_loops_(leaf.formats[dtype_index(to)]),
      unit_(conversion_unit(from, to)) {
    if (unit_ != 1) return;
    plain_ = visit(from, [&](auto source) -> Plain {
        using From = decltype(source);
        return visit(to, [](auto target) -> Plain {
            using To = decltype(target);
            if constexpr (From::block_size == 1 && To::block_size == 1) {
                return convert_plain<From, To>;
            } else {
                return nullptr;
            }
        });
    });
}

std::int64_t Converter::operator()(const void *from, void *to, std::int64_t n) const noexcept {
    if (plain_) return plain_(from, to, n);
    constexpr std::int64_t stage = 512;  // a multiple of every block
    float values[stage];
    const auto *source = static_cast<const std::byte *>(from);
    auto *target = static_cast<std::byte *>(to);
    std::int64_t bad = -1;
    for (std::int64_t i = 0; i < n;) {
        const std::int64_t count = std::min(stage, n - i);
        from_loops_.decode(source, values, count);
        std::int64_t done = 0;
        while (done < count) {
            const std::int64_t wrong =
                to_loops_.encode(values + done, nullptr, target + static_cast<std::size_t>(done / to_.block_size) * to_.size, count - done);
            if (wrong < 0) break;
            if (bad < 0) bad = i + done + wrong;
            const std::int64_t block = (done + wrong) / to_.block_size;
            std::memset(target + static_cast<std::size_t>(block) * to_.size, 0, to_.size);
            done = (block + 1) * to_.block_size;
        }
        i += count;
        source += static_cast<std::size_t>(count / from_.block_size) * from_.size;
        target += static_cast<std::size_t>(count / to_.block_size) * to_.size;
    }
    return bad;
}

}  // namespace tensorlib::core
