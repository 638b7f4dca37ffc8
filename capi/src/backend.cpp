#include "handles.hpp"

#include "api/devices.hpp"
#include "cpu/dispatch.hpp"
#include "runtime/joined_backend.hpp"

#include <algorithm>
#include <vector>

using namespace tensorlib;
using capi::guarded;
using capi::required;
using capi::unwrap;
using capi::wrap;

size_t tl_device_count(void) { return core::device_count(); }

const char *tl_device_name(size_t index) { return index < core::device_count() ? core::device_at(index).name() : nullptr; }

tl_status tl_device_get_props(size_t index, tl_device_props *out, tl_error *err) {
    constexpr const char *function = "device_get_props";
    return guarded(err, [&] {
        required(out, function, "out");
        if (index >= core::device_count()) {
            core::fail(Status::invalid_argument, "%s: index is %zu: there are %zu devices", function, index, core::device_count());
        }
        if (out->struct_size < sizeof *out) {
            core::fail(Status::invalid_argument, "%s: struct_size is %zu: at least %zu is valid; was it set to sizeof?", function,
                       out->struct_size, sizeof *out);
        }
        const core::DeviceProps props = core::device_at(index).props();
        const std::size_t length = std::min(props.description.size(), sizeof out->description - 1);
        std::memcpy(out->description, props.description.data(), length);
        out->description[length] = '\0';
        out->memory_total = props.memory_total;
        out->memory_free = props.memory_free;
        out->capability = props.capability;
        out->simulated = props.simulated;
    });
}

size_t tl_isa_count(void) { return core::isa_count(); }

const char *tl_isa_name(size_t index) { return index < core::isa_count() ? core::isa_at(index).name : nullptr; }

void tl_backend_params_init(tl_backend_params *params, size_t struct_size) { capi::init_params(params, struct_size); }

tl_status tl_backend_create(const char *device, const tl_backend_params *params, tl_backend **out, tl_error *err) {
    constexpr const char *function = "backend_create";
    if (out) *out = nullptr;
    return guarded(err, [&] {
        required(out, function, "out");
        core::BackendParams wanted;
        if (params) {
            const tl_backend_params given = capi::read_params<16>(params, function);
            wanted.n_threads = given.n_threads;
            wanted.allow_tf32 = capi::flag(given.allow_tf32, "backend_create", "allow_tf32");
        }
        *out = wrap(core::open_backend(device ? device : "cpu", wanted).release());
    });
}

void tl_join_params_init(tl_join_params *params, size_t struct_size) { capi::init_params(params, struct_size); }

tl_status tl_backend_join(tl_backend *const *backends, size_t n, const tl_join_params *params, tl_backend **out, tl_error *err) {
    constexpr const char *function = "backend_join";
    if (out) *out = nullptr;
    return guarded(err, [&] {
        required(out, function, "out");
        required(backends, function, "backends");
        if (params) (void)capi::read_params<8>(params, function);
        core::check_part_count(n);
        std::vector<core::Backend *> parts;
        for (size_t i = 0; i < n; i++) {
            if (!backends[i]) core::fail(Status::invalid_argument, "%s: backend %zu is NULL", function, i);
            parts.push_back(unwrap(backends[i]));
        }
        *out = wrap(core::join_backends(parts).release());
    });
}

size_t tl_backend_n_devices(const tl_backend *backend) { return backend ? unwrap(backend)->parts().size() : 0; }

const char *tl_backend_device_at(const tl_backend *backend, size_t index) {
    return index < tl_backend_n_devices(backend) ? unwrap(backend)->parts()[index]->device().name() : nullptr;
}

void tl_backend_free(tl_backend *backend) {
    if (backend) unwrap(backend)->drop_ref();
}

const char *tl_backend_device(const tl_backend *backend) { return backend ? unwrap(backend)->device().name() : nullptr; }

const char *tl_backend_isa(const tl_backend *backend) { return backend ? unwrap(backend)->isa() : nullptr; }

int32_t tl_backend_n_threads(const tl_backend *backend) { return backend ? unwrap(backend)->n_threads() : 0; }

size_t tl_backend_packed_memory(const tl_backend *backend) { return backend ? unwrap(backend)->packed_bytes() : 0; }
