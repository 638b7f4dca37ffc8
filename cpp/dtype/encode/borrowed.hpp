// Memory for a search that is too large for a stack: a host thread's may have 128 KiB.
#pragma once

#include <cstdlib>

namespace TL_FORMATS::encoding {

// A T from the heap. An encoder cannot fail, so if the heap has no memory, threads take turns with a permanent one.
template <class T>
class Borrowed {
public:
    Borrowed() : own_(std::malloc(sizeof(T))) {
        if (own_) return;
        while (__atomic_test_and_set(&is_taken, __ATOMIC_ACQUIRE)) {
        }
    }
    ~Borrowed() {
        if (own_) {
            std::free(own_);
        } else {
            __atomic_clear(&is_taken, __ATOMIC_RELEASE);
        }
    }
    Borrowed(const Borrowed &) = delete;
    Borrowed &operator=(const Borrowed &) = delete;

    T &operator*() const { return own_ ? *static_cast<T *>(own_) : last; }

private:
    inline static T last;
    inline static bool is_taken = false;
    void *own_;
};

}  // namespace TL_FORMATS::encoding
