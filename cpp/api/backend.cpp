#include "api/devices.hpp"
#include "api/handles.hpp"

#include <string>

namespace tensorlib {

Backend::Backend(std::string_view device, BackendOptions options) {
    core::BackendParams params;
    params.n_threads = options.n_threads;
    impl_ = share(core::open_backend(std::string(device).c_str(), params));
}

void Backend::compute(std::initializer_list<Tensor> outputs) const { Graph(outputs).compute(*this); }
std::string Backend::device() const { return impl_->device().name(); }
std::string Backend::isa() const { return impl_->isa(); }
int Backend::n_threads() const { return impl_->n_threads(); }

}  // namespace tensorlib
