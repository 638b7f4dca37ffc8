#include "base/callback_scope.hpp"

#include "base/fail.hpp"

namespace tensorlib::core {

namespace {
thread_local const char *computing = nullptr;
}  // namespace

CallbackScope::CallbackScope(const char *operation) noexcept : outer_(computing) { computing = operation; }
CallbackScope::~CallbackScope() { computing = outer_; }

void refuse_in_callback(const char *what) {
    if (!computing) return;
    fail(Status::invalid_argument,
         "%s: called by the function of custom '%s' while it computes: it may use the memory of its slice, and no contexts, graphs, "
         "groups or backends",
         what, computing);
}

}  // namespace tensorlib::core
