// Shared ownership by a count inside the object. A reference is one pointer, so a C handle is the object itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace tensorlib::core {

class RefCounted {
public:
    RefCounted() = default;
    RefCounted(const RefCounted &) = delete;
    RefCounted &operator=(const RefCounted &) = delete;

    // Relaxed: a thread that adds a reference already holds one, so nothing must be made visible.
    void add_ref() const noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
    // For a thread that holds no reference, but knows that the object's memory has not been freed: false if the last
    // reference was dropped.
    bool try_add_ref() const noexcept {
        std::uint32_t count = count_.load(std::memory_order_relaxed);
        while (count != 0) {
            if (count_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed)) return true;
        }
        return false;
    }
    // acq_rel: the thread that drops the last reference must see everything that others did with the object before it
    // deletes it.
    void drop_ref() const noexcept {
        if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }
    // Exact only if the caller knows that no other thread adds or drops references; otherwise a hint.
    std::uint32_t ref_count() const noexcept { return count_.load(std::memory_order_acquire); }

protected:
    virtual ~RefCounted() = default;

private:
    mutable std::atomic<std::uint32_t> count_{1};
};

// Owns one reference. Ref(p) shares p; Ref::adopt(p) takes over the reference that p was created with.
template <class T>
class Ref {
public:
    Ref() = default;
    explicit Ref(T *p) noexcept : p_(p) {
        if (p_) p_->add_ref();
    }
    Ref(const Ref &other) noexcept : Ref(other.p_) {}
    Ref(Ref &&other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
    Ref &operator=(Ref other) noexcept {
        std::swap(p_, other.p_);
        return *this;
    }
    ~Ref() {
        if (p_) p_->drop_ref();
    }
    static Ref adopt(T *p) noexcept {
        Ref r;
        r.p_ = p;
        return r;
    }
    T *release() noexcept { return std::exchange(p_, nullptr); }
    T *get() const noexcept { return p_; }
    T *operator->() const noexcept { return p_; }
    T &operator*() const noexcept { return *p_; }
    explicit operator bool() const noexcept { return p_ != nullptr; }

private:
    T *p_ = nullptr;
};

}  // namespace tensorlib::core
