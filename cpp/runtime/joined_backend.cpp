#include "runtime/joined_backend.hpp"

#include "base/fail.hpp"
#include "graph/strided_bytes.hpp"
#include "runtime/trace.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

// The bytes copied through the host at a time: enough that starting a copy, some 10 us, is little of it at 25 GB/s.
constexpr std::size_t stage_bytes = std::size_t{4} << 20;

template <class F>
std::string joined_text(std::span<Backend *const> parts, F f) {
    std::string text;
    for (const Backend *part : parts) {
        if (!text.empty()) text += '+';
        text += f(*part);
    }
    return text;
}

// A part's steps between two copies, which it gets together.
struct Segment {
    std::size_t begin, end;
    std::unique_ptr<Backend::Recording> recording;
};

struct JoinedRecording final : Backend::Recording {
    std::vector<Segment> segments;

    explicit JoinedRecording(std::span<const Step> steps) {
        for (std::size_t k = 0; k < steps.size(); k++) {
            const bool same = k > 0 && steps[k].round == steps[k - 1].round && steps[k].part == steps[k - 1].part;
            if (same) {
                segments.back().end = k + 1;
            } else {
                segments.push_back({k, k + 1, nullptr});
            }
        }
    }
};

}  // namespace

void check_part_count(std::size_t n) {
    if (n == 0 || n > max_parts) fail(Status::invalid_argument, "backend_join: %zu backends: 1 to %zu can be joined", n, max_parts);
}

Ref<Backend> join_backends(std::span<Backend *const> parts) {
    constexpr const char *what = "backend_join";
    check_part_count(parts.size());
    for (std::size_t i = 0; i < parts.size(); i++) {
        if (dynamic_cast<const JoinedBackend *>(parts[i])) {
            fail(Status::invalid_argument, "%s: backend %zu is joined itself, of %s: join its parts", what, i, parts[i]->device().name());
        }
        for (std::size_t j = 0; j < i; j++) {
            if (&parts[i]->device() != &parts[j]->device()) continue;
            fail(Status::invalid_argument, "%s: backends %zu and %zu are both of %s: one of each device can be joined", what, j, i,
                 parts[i]->device().name());
        }
        parts[i]->check_usable(what);
    }
    return Ref<Backend>::adopt(new JoinedBackend(parts));
}

const std::byte *ConstantCopies::find(const Tensor &root, const DeviceMemory &memory) const noexcept {
    const std::lock_guard guard(lock_);
    const auto of_root = entries_.find(&root);
    if (of_root == entries_.end()) return nullptr;
    const auto entry = std::ranges::find(of_root->second, &memory, &Entry::memory);
    return entry == of_root->second.end() ? nullptr : entry->data;
}

const std::byte *ConstantCopies::find_or_make(const Tensor &root, DeviceMemory &memory) {
    if (const std::byte *known = find(root, memory)) return known;
    const std::size_t bytes = root.layout.nbytes(), taken = std::max<std::size_t>(bytes, memory.alignment());
    const auto release = [&](std::byte *data) { memory.release(data, taken); };
    std::unique_ptr<std::byte, decltype(release)> data(static_cast<std::byte *>(memory.acquire(taken)), release);
    if (!data) {
        fail(Status::out_of_memory, "graph_compute: a copy on %s of constant %s, which lies on %s: %zu bytes asked, which it does not have",
             memory.device(), tensor_text(root).c_str(), root.context->memory().device(), bytes);
    }
    // Reads whole rows, from wherever the bytes are, because an original may have been dropped. Rows may be empty.
    StridedReader reader(root);
    const std::size_t row = std::max<std::size_t>(root.layout.row_bytes(), 1);
    std::vector<std::byte> stage(std::min(bytes, std::max<std::size_t>(stage_bytes / row, 1) * row));
    for (std::size_t at = 0; at < bytes; at += stage.size()) {
        const std::size_t n = std::min(stage.size(), bytes - at);
        reader.read(stage.data(), at, n);
        memory.write(data.get() + at, stage.data(), n);
    }
    root.context->watch(*this);
    const std::lock_guard guard(lock_);
    entries_[&root].push_back({&memory, data.get(), taken});
    return data.release();
}

std::size_t ConstantCopies::bytes() const noexcept {
    const std::lock_guard guard(lock_);
    std::size_t sum = 0;
    for (const auto &of_root : entries_) {
        for (const Entry &entry : of_root.second) sum += entry.bytes;
    }
    return sum;
}

void ConstantCopies::end() noexcept {
    ended_.store(true, std::memory_order_release);
    const std::lock_guard guard(lock_);
    for (const auto &of_root : entries_) {
        for (const Entry &entry : of_root.second) entry.memory->release(entry.data, entry.bytes);
    }
    entries_.clear();
}

void ConstantCopies::tensors_gone(const Context &context) noexcept {
    const std::lock_guard guard(lock_);
    std::erase_if(entries_, [&](const auto &of_root) {
        if (of_root.first->context != &context) return false;
        for (const Entry &entry : of_root.second) entry.memory->release(entry.data, entry.bytes);
        return true;
    });
}

JoinedBackend::JoinedDevice::JoinedDevice(std::span<Backend *const> parts)
    : name_(joined_text(parts, [](const Backend &part) { return part.device().name(); })), first_(parts.front()->device()) {}

Ref<Backend> JoinedBackend::JoinedDevice::open(const BackendParams &) const {
    fail(Status::invalid_argument, "backend_create: %s are several devices: open each and join them", name());
}

JoinedBackend::JoinedBackend(std::span<Backend *const> parts) : JoinedBackend(parts, std::make_unique<const JoinedDevice>(parts)) {}

JoinedBackend::JoinedBackend(std::span<Backend *const> parts, std::unique_ptr<const JoinedDevice> device)
    : Backend(*device),
      joined_(std::move(device)),
      parts_(parts.begin(), parts.end()),
      in_turn_(parts_),
      isa_(joined_text(parts, [](const Backend &part) { return part.isa(); })),
      blocks_(parts.size()) {
    for (Backend *part : parts) owned_.emplace_back(part);
    std::ranges::sort(in_turn_, {}, &Backend::serial);
}

JoinedBackend::~JoinedBackend() {
    constants_->end();
    for (std::size_t p = 0; p < parts_.size(); p++) {
        if (blocks_[p].memory) parts_[p]->device().memory().release(blocks_[p].memory, blocks_[p].size);
    }
}

int JoinedBackend::n_threads() const noexcept {
    int most = 0;
    for (const Backend *part : parts_) most = std::max(most, part->n_threads());
    return most;
}

std::size_t JoinedBackend::packed_bytes() const noexcept {
    std::size_t sum = constants_->bytes();
    for (const Backend *part : parts_) sum += part->packed_bytes();
    return sum;
}

void JoinedBackend::check_usable(const char *what) const {
    for (const Backend *part : parts_) part->check_usable(what);
}

void JoinedBackend::begin() {
    for (Backend *part : parts_) part->begin();
}

void JoinedBackend::finish() {
    for (Backend *part : parts_) part->finish();
}

void JoinedBackend::drain() noexcept {
    for (Backend *part : parts_) part->drain();
}

// The source's work is done, so no later work on either device can disturb the copy.
void JoinedBackend::copy(const Copy &copy) {
    Backend &from = *parts_[copy.from], &to = *parts_[copy.to];
    const Trace::Span span(to.trace(), "copy");
    from.finish();
    if (copy.waits) to.finish();
    DeviceMemory &source = from.device().memory(), &target = to.device().memory();
    if (source.host_accessible()) {
        target.write(copy.target, copy.source, copy.bytes);
    } else if (target.host_accessible()) {
        source.read(copy.target, copy.source, copy.bytes);
    } else {
        stage_.resize(std::max(stage_.size(), std::min(copy.bytes, stage_bytes)));
        for (std::size_t at = 0; at < copy.bytes; at += stage_.size()) {
            const std::size_t n = std::min(stage_.size(), copy.bytes - at);
            source.read(stage_.data(), copy.source + at, n);
            target.write(copy.target + at, stage_.data(), n);
        }
    }
}

void JoinedBackend::copy_all(std::span<const Copy> copies) {
    for (const Copy &each : copies) copy(each);
    // Later steps see what was written.
    for (const Copy &each : copies) parts_[each.to]->begin();
}

void JoinedBackend::execute(const Step &step) {
    copy_all(step.before);
    parts_[step.part]->run_step(step);
    copy_all(step.after);
}

void JoinedBackend::execute_all(std::span<const Step> steps, std::unique_ptr<Recording> &recording) {
    if (!recording) recording = std::make_unique<JoinedRecording>(steps);
    for (Segment &segment : static_cast<JoinedRecording &>(*recording).segments) {
        const auto own = steps.subspan(segment.begin, segment.end - segment.begin);
        copy_all(own.front().before);
        parts_[own.front().part]->execute_all(own, segment.recording);
        copy_all(own.back().after);
    }
}

std::byte *JoinedBackend::own_block(std::size_t part, std::size_t bytes) {
    Block &block = blocks_[part];
    DeviceMemory &memory = parts_[part]->device().memory();
    const std::size_t wanted = std::max(bytes, memory.alignment());
    if (block.size < wanted) {
        if (block.memory) memory.release(block.memory, block.size);
        block = {};
        block.memory = memory.acquire(wanted);
        if (!block.memory) {
            fail(Status::out_of_memory, "%zu bytes asked of %s, which it does not have", wanted, memory.device());
        }
        block.size = wanted;
    }
    return static_cast<std::byte *>(block.memory);
}

const std::byte *JoinedBackend::constant_on(std::size_t part, const Tensor &root) {
    return constants_->find_or_make(root, parts_[part]->device().memory());
}

}  // namespace tensorlib::core
