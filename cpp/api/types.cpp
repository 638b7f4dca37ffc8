#include "api/handles.hpp"

namespace tensorlib {

core::DType dtype_of(Type type) { return core::traits_numbered("tensor", static_cast<std::int32_t>(type)).type; }

const char *type_name(Type type) { return core::traits(dtype_of(type)).name; }

Type type_from_name(std::string_view name) { return static_cast<Type>(core::traits_named("type_from_name", name).type); }

}  // namespace tensorlib
