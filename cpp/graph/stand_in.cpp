#include "graph/stand_in.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

void RebuiltBytes::read(std::size_t place, std::size_t size, std::byte *to) noexcept {
    while (size != 0) {
        const auto row = static_cast<std::int64_t>(place / row_bytes_);
        const std::size_t in_row = place % row_bytes_;
        std::size_t n;
        if (in_row == 0 && size >= row_bytes_) {
            n = size / row_bytes_ * row_bytes_;
            stand_in_->rebuild(row, static_cast<std::int64_t>(size / row_bytes_), to);
        } else {
            // Views whose elements lie far apart return to a row many times.
            if (row != in_stage_) stand_in_->rebuild(row, 1, stage_);
            in_stage_ = row;
            n = std::min(row_bytes_ - in_row, size);
            std::memcpy(to, stage_ + in_row, n);
        }
        place += n, to += n, size -= n;
    }
}

}  // namespace tensorlib::core
