// What every call that touches a tensor's data does first: checks that it may, and takes the lock.
#pragma once

#include "graph/context.hpp"

namespace tensorlib::core {

// Throw Error(invalid_argument), with a message headed by `what`, if the tensor has nothing to read or must not be
// written.
void check_readable(const char *what, const Tensor &t);
void check_writable(const char *what, const Tensor &t);

// Data live in the root's context, so that context's run lock guards them.
inline Context &lock_context(const Tensor &t) noexcept { return *t.root->context; }

// What a call that uses a tensor's data holds. It waits as long as the tensor's own context says.
struct DataLock {
    DataLock(const Tensor &t, bool exclusive, const char *what)
        : use(t), run(lock_context(t), exclusive, what, Patience(t.context->busy_timeout())) {}
    // Leaves everything taken, until unmap().
    void keep() noexcept {
        use.keep();
        run.keep();
    }
    TensorUse use;
    RunGuard run;
};

}  // namespace tensorlib::core
