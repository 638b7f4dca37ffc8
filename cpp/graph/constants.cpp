#include "graph/constants.hpp"

#include "base/fail.hpp"
#include "graph/data_lock.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

namespace tensorlib::core {

std::uint64_t next_constant() noexcept {
    static std::atomic<std::uint64_t> number{0};
    return number.fetch_add(1, std::memory_order_relaxed) + 1;
}

void set_constant(Tensor &t) {
    constexpr const char *what = "tensor_set_constant";
    if (!t.is_leaf()) {
        fail(Status::invalid_argument, "%s: %s is the result of %s: only leafs can be constant", what, tensor_text(t).c_str(),
             op_name(t.op));
    }
    const DataLock lock(t, true, what);
    check_readable(what, t);
    if (t.storage.constant.load(std::memory_order_acquire)) return;
    t.storage.constant.store(next_constant(), std::memory_order_release);
    lock_context(t).count_changed_leaf();
}

namespace {

// Throws if a row is not rebuilt exactly. Each stage of rows stays in the L2 cache.
void check_rebuilds(const char *what, const Tensor &leaf, const StandIn &stand_in) {
    constexpr std::size_t stage_bytes = 256 << 10;
    const std::size_t row_bytes = leaf.layout.row_bytes();
    const auto rows_at_a_time = static_cast<std::int64_t>(std::max<std::size_t>(stage_bytes / row_bytes, 1));
    const std::int64_t n_rows = leaf.layout.n_rows();
    std::vector<std::byte> stage(static_cast<std::size_t>(std::min(rows_at_a_time, n_rows)) * row_bytes);
    const std::byte *original = leaf.address();
    for (std::int64_t row = 0; row < n_rows; row += rows_at_a_time) {
        const auto n = static_cast<std::size_t>(std::min(rows_at_a_time, n_rows - row)) * row_bytes;
        stand_in.rebuild(row, std::min(rows_at_a_time, n_rows - row), stage.data());
        if (std::memcmp(stage.data(), original, n) == 0) {
            original += n;
            continue;
        }
        const auto at = static_cast<std::size_t>(std::mismatch(original, original + n, stage.data()).first - leaf.address());
        fail(Status::unsupported, "%s: the packed copy of %s does not have all of its bits: byte %zu would change", what,
             tensor_text(leaf).c_str(), at);
    }
}

}  // namespace

void drop_original(Tensor &t) {
    constexpr const char *what = "tensor_drop_original";
    Context &context = lock_context(t);
    const DataLock lock(t, true, what);
    if (!t.is_leaf() || !t.storage.constant.load(std::memory_order_acquire)) {
        fail(Status::invalid_argument, "%s: %s is no constant: call tensor_set_constant first", what, tensor_text(t).c_str());
    }
    if (is_dropped(t)) return;
    if (!context.memory().host_accessible()) {
        fail(Status::unsupported, "%s: %s lives on %s: only CPU backends keep packed copies", what, tensor_text(t).c_str(),
             context.memory().device());
    }
    const Ref<const StandIn> copy = context.copy_of(t);
    if (!copy) {
        fail(Status::unsupported,
             "%s: no packed copy holds the contents of %s: first compute a product of all of it whose plan's text says 'packed copy'", what,
             tensor_text(t).c_str());
    }
    if (t.storage.home == Home::mapped_file) {
        context.memory().discard(t.address(), t.layout.nbytes());
        return;
    }
    if (t.storage.home == Home::file_in_memory) {
        fail(Status::unsupported, "%s: %s lies in a file that was read into memory as a whole: map it instead", what,
             tensor_text(t).c_str());
    }
    if (t.storage.home == Home::foreign) {
        fail(Status::unsupported, "%s: %s lies in memory of another library, which alone can free it", what, tensor_text(t).c_str());
    }
    if (const std::uint32_t n = t.storage.exports.load(std::memory_order_acquire)) {
        fail(Status::busy, "%s: %u tensors that tensor_to_dlpack made use the memory of %s", what, n, tensor_text(t).c_str());
    }
    if (const char *reason = copy->refusal()) fail(Status::unsupported, "%s: %s: %s", what, tensor_text(t).c_str(), reason);
    check_rebuilds(what, t, *copy);
    context.replace_data(t, copy);
    context.count_changed_leaf();
}

}  // namespace tensorlib::core
