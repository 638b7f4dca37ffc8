#include "api/handles.hpp"

#include <string>

namespace tensorlib {

core::DType dtype_of(Type type) {
    const auto *traits = core::find_traits(static_cast<std::int32_t>(type));
    if (!traits) core::fail(Status::invalid_argument, "tensor: no type %d", static_cast<int>(type));
    return traits->type;
}

const char *type_name(Type type) { return core::traits(dtype_of(type)).name; }

Type type_from_name(std::string_view name) {
    if (const auto *traits = core::find_traits(name)) return static_cast<Type>(traits->type);
    std::string known;
    for (std::size_t i = 0; i < core::dtype_count(); i++) known += (i ? ", " : "") + std::string(core::dtype_at(i).name);
    core::fail(Status::invalid_argument, "type_from_name: no type '%.*s': there are: %s", static_cast<int>(name.size()), name.data(),
               known.c_str());
}

}  // namespace tensorlib
