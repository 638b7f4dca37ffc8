#include "cpu/quantize.hpp"

#include "api/handles.hpp"

namespace tensorlib {

namespace {

// Bytes that values take as blocks; n has been checked to be whole blocks.
std::size_t bytes_of(const core::DTypeTraits &type, std::size_t n) { return n / static_cast<std::size_t>(type.block_size) * type.size; }

core::Quantization job_of(const char *what, Type type, std::span<const float> values, std::int64_t n_per_row,
                          std::span<const float> importance) {
    const core::DType dtype = dtype_of(type);
    if (n_per_row < 0 || (n_per_row == 0 ? !values.empty() : values.size() % static_cast<std::size_t>(n_per_row) != 0)) {
        core::fail(Status::invalid_argument, "%s: %zu values are no whole rows of %lld", what, values.size(),
                   static_cast<long long>(n_per_row));
    }
    if (!importance.empty() && importance.size() != static_cast<std::size_t>(n_per_row)) {
        core::fail(Status::invalid_argument, "%s: %zu weights of importance for rows of %lld: one for each column is valid", what,
                   importance.size(), static_cast<long long>(n_per_row));
    }
    const auto n_rows = n_per_row == 0 ? 0 : static_cast<std::int64_t>(values.size()) / n_per_row;
    return {dtype, values.data(), nullptr, n_rows, n_per_row, importance.empty() ? nullptr : importance.data()};
}

void check_room(const char *what, const core::DTypeTraits &type, std::size_t n_values, std::size_t n_bytes) {
    if (n_values % static_cast<std::size_t>(type.block_size) == 0 && n_bytes == bytes_of(type, n_values)) return;
    core::fail(Status::invalid_argument, "%s: %zu bytes and %zu values: %s has %zu bytes for %lld values", what, n_bytes, n_values,
               type.name, type.size, static_cast<long long>(type.block_size));
}

// Runs the job into its own memory, or into `blocks`.
template <class Run>
std::vector<std::byte> quantized(core::Quantization job, std::size_t n_values, Run run) {
    std::vector<std::byte> blocks(bytes_of(core::traits(job.type), n_values));
    job.dst = blocks.data();
    run(job);
    return blocks;
}

template <class Run>
void quantized_into(const char *what, core::Quantization job, std::size_t n_values, std::span<std::byte> blocks, Run run) {
    check_room(what, core::traits(job.type), n_values, blocks.size());
    job.dst = blocks.data();
    run(job);
}

}  // namespace

std::vector<std::byte> quantize(Type type, std::span<const float> values, std::int64_t n_per_row, std::span<const float> importance) {
    constexpr const char *what = "quantize";
    return quantized(job_of(what, type, values, n_per_row, importance), values.size(), [&](const auto &job) { core::quantize(what, job); });
}

void quantize_into(Type type, std::span<const float> values, std::int64_t n_per_row, std::span<std::byte> blocks,
                   std::span<const float> importance) {
    constexpr const char *what = "quantize_into";
    quantized_into(what, job_of(what, type, values, n_per_row, importance), values.size(), blocks,
                   [&](const auto &job) { core::quantize(what, job); });
}

std::vector<std::byte> Backend::quantize(Type type, std::span<const float> values, std::int64_t n_per_row,
                                         std::span<const float> importance) const {
    constexpr const char *what = "backend_quantize";
    return quantized(job_of(what, type, values, n_per_row, importance), values.size(),
                     [&](const auto &job) { core::quantize(what, *impl_, job); });
}

void Backend::quantize_into(Type type, std::span<const float> values, std::int64_t n_per_row, std::span<std::byte> blocks,
                            std::span<const float> importance) const {
    constexpr const char *what = "backend_quantize_into";
    quantized_into(what, job_of(what, type, values, n_per_row, importance), values.size(), blocks,
                   [&](const auto &job) { core::quantize(what, *impl_, job); });
}

std::vector<float> dequantize(Type type, std::span<const std::byte> blocks) {
    const core::DTypeTraits &traits = core::traits(dtype_of(type));
    std::vector<float> values(blocks.size() / traits.size * static_cast<std::size_t>(traits.block_size));
    dequantize_into(type, blocks, values);
    return values;
}

void dequantize_into(Type type, std::span<const std::byte> blocks, std::span<float> values) {
    constexpr const char *what = "dequantize";
    const core::DType dtype = dtype_of(type);
    check_room(what, core::traits(dtype), values.size(), blocks.size());
    core::dequantize(what, dtype, blocks.data(), values.data(), static_cast<std::int64_t>(values.size()));
}

}  // namespace tensorlib
