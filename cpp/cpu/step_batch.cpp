#include "cpu/step_batch.hpp"

#include "ops/op_def.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

// More steps gain nothing: by then each thread has enough work, and each step is compared with all others.
constexpr std::size_t most_steps = 256;

// The bytes that a step touches: [begin, end).
struct Bytes {
    const std::byte *begin, *end;
    bool written;
};

// From the first element to the last, including everything between them.
Bytes bytes_of(const TensorRef &t, bool written) noexcept {
    std::size_t last = 0;
    for (std::size_t d = 0; d < max_dims; d++) last += static_cast<std::size_t>(std::max<std::int64_t>(t.ne[d] - 1, 0)) * t.nb[d];
    return {t.data, t.data + last + traits(t.type).size, written};
}

bool is_batchable(const Step &step) noexcept {
    return static_cast<const CpuKernel &>(*step.kernel).batchable && step.rebuilt.empty() && !step.joins();
}

// Collects what the steps of a group touch.
class Touched {
public:
    // Takes the step if it may run at the same time as those already taken, and returns whether it did.
    bool take(const Step &step) {
        std::vector<Bytes> own;
        for (std::size_t s = 0; s < step.src.size(); s++) {
            if (step.src[s].data) own.push_back(bytes_of(step.src[s], step.node->writes(s)));
        }
        const auto clash = [](const Bytes &a, const Bytes &b) { return (a.written || b.written) && a.begin < b.end && b.begin < a.end; };
        for (const Bytes &bytes : own) {
            if (std::ranges::any_of(all_, [&](const Bytes &other) { return clash(bytes, other); })) return false;
        }
        all_.insert(all_.end(), own.begin(), own.end());
        return true;
    }

private:
    std::vector<Bytes> all_;
};

}  // namespace

StepBatches::StepBatches(std::span<const Step> steps) {
    for (std::size_t begin = 0, end; begin < steps.size(); begin = end) {
        end = begin + 1;
        if (!is_batchable(steps[begin])) continue;
        Touched touched;
        touched.take(steps[begin]);
        while (end < steps.size() && end - begin < most_steps && steps[end].kernel == steps[begin].kernel && is_batchable(steps[end]) &&
               touched.take(steps[end])) {
            end++;
        }
        if (end - begin == 1) continue;
        Batch batch{begin, end, {0}};
        for (const Step &step : steps.subspan(begin, end - begin)) {
            batch.first_chunk.push_back(batch.first_chunk.back() + step.plan.chunks(Stage::compute));
            batch.bytes += op_def(step.node->op).cost(*step.node).bytes;
        }
        batches_.push_back(std::move(batch));
    }
}

}  // namespace tensorlib::core
