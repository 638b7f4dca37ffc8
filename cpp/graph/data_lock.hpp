// What every call that touches a tensor's data asks first: whether it may, and the lock.
#pragma once

#include "graph/context.hpp"

namespace tensorlib::core {

// Throw Error(invalid_argument), its message headed by `what`, where there is nothing to read, or nothing may be written.
void check_readable(const char *what, const Tensor &t);
void check_writable(const char *what, const Tensor &t);

// Data lives in the root's context, so that one's run lock guards it.
inline Context &lock_context(const Tensor &t) noexcept { return *t.root->context; }

// What a call holds that uses a tensor's data; it waits as long as the tensor's own context says.
struct DataLock {
    DataLock(const Tensor &t, bool exclusive, const char *what)
        : use(t), run(lock_context(t), exclusive, what, Patience(t.context->busy_timeout())) {}
    // Leaves all taken, until unmap().
    void keep() noexcept {
        use.keep();
        run.keep();
    }
    TensorUse use;
    RunGuard run;
};

}  // namespace tensorlib::core
