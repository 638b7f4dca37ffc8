#include "api/devices.hpp"
#include "api/handles.hpp"
#include "runtime/joined_backend.hpp"

#include <string>

namespace tensorlib {

std::vector<DeviceInfo> devices() {
    std::vector<DeviceInfo> all;
    for (std::size_t i = 0; i < core::device_count(); i++) {
        const core::Device &device = core::device_at(i);
        const core::DeviceProps props = device.props();
        all.push_back({device.name(), props.description, props.memory_total, props.memory_free, props.capability, props.simulated});
    }
    return all;
}

Backend::Backend(std::string_view device, BackendOptions options) {
    core::BackendParams params;
    params.n_threads = options.n_threads;
    params.allow_tf32 = options.allow_tf32;
    impl_ = share(core::open_backend(std::string(device).c_str(), params));
}

Backend Backend::join(std::span<const Backend> backends) {
    std::vector<core::Backend *> parts;
    for (const Backend &backend : backends) parts.push_back(backend.impl_.get());
    return Backend(share(core::join_backends(parts)));
}
Backend Backend::join(std::initializer_list<Backend> backends) { return join(std::span(backends.begin(), backends.size())); }

void Backend::compute(std::initializer_list<Tensor> outputs) const { Graph(outputs).compute(*this); }
void Backend::compute(std::span<const Tensor> outputs) const { Graph(outputs).compute(*this); }
std::string Backend::device() const { return impl_->device().name(); }
std::vector<std::string> Backend::devices() const {
    std::vector<std::string> names;
    for (const core::Backend *part : impl_->parts()) names.emplace_back(part->device().name());
    return names;
}
std::string Backend::isa() const { return impl_->isa(); }
int Backend::n_threads() const { return impl_->n_threads(); }
std::size_t Backend::packed_memory() const { return impl_->packed_bytes(); }

}  // namespace tensorlib
