#include "api/handles.hpp"

namespace tensorlib {

core::DType dtype_of(Type type) {
    const auto *traits = core::find_traits(static_cast<std::int32_t>(type));
    if (!traits) core::fail(Status::invalid_argument, "tensor: no type %d", static_cast<int>(type));
    return traits->type;
}

const char *type_name(Type type) { return core::traits(dtype_of(type)).name; }

Type type_from_name(std::string_view name) { return static_cast<Type>(core::traits_named("type_from_name", name).type); }

}  // namespace tensorlib
