// What the C++ API's sources share: public handles around engine objects.
#pragma once

#include "base/fail.hpp"
#include "base/ref.hpp"
#include "dtype/dtype.hpp"

#include <memory>
#include <tensorlib/tensorlib.hpp>
#include <utility>

namespace tensorlib {

// A shared_ptr that holds the engine's reference and points at the object itself.
template <class T>
std::shared_ptr<T> share(core::Ref<T> ref) {
    T *object = ref.get();
    return std::shared_ptr<T>(std::make_shared<core::Ref<T>>(std::move(ref)), object);
}

// The engine's type; throws Error(invalid_argument) for a number that is none.
core::DType dtype_of(Type type);

}  // namespace tensorlib
