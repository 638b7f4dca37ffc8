// Objects that nodes name by a number, and that the nodes' contexts keep alive.
#pragma once

#include "base/ref.hpp"

#include <cstdint>
#include <map>
#include <mutex>

namespace tensorlib::core {

// A base of T, which is RefCounted. Numbers are never given twice in a process.
template <class T>
class Numbered {
public:
    Numbered(const Numbered &) = delete;
    Numbered &operator=(const Numbered &) = delete;

    std::uint64_t id() const noexcept { return id_; }

    // The object with this number, or null.
    static Ref<const T> find(std::uint64_t id) noexcept {
        Registry &all = registry();
        std::lock_guard lock(all.lock);
        const auto found = all.objects.find(id);
        if (found == all.objects.end()) return {};
        const T *object = static_cast<const T *>(found->second);
        // One whose last reference was dropped waits for this lock, and is none any more.
        return object->try_add_ref() ? Ref<const T>::adopt(object) : Ref<const T>();
    }
    // That of a node, which its context keeps.
    static const T &at(std::uint64_t id) noexcept {
        Registry &all = registry();
        std::lock_guard lock(all.lock);
        return *static_cast<const T *>(all.objects.find(id)->second);
    }

protected:
    Numbered() : id_(add(*this)) {}
    // The object's other parts are gone by now, but its count is 0, so find() does not return it.
    ~Numbered() {
        Registry &all = registry();
        std::lock_guard lock(all.lock);
        all.objects.erase(id_);
    }

private:
    struct Registry {
        std::mutex lock;
        std::map<std::uint64_t, const Numbered *> objects;
        std::uint64_t last = 0;
    };
    static Registry &registry() noexcept {
        static Registry &one = *new Registry;  // never freed: objects may outlive static ones
        return one;
    }
    static std::uint64_t add(const Numbered &object) {
        Registry &all = registry();
        std::lock_guard lock(all.lock);
        all.objects.emplace(all.last + 1, &object);
        return ++all.last;
    }

    const std::uint64_t id_;
};

}  // namespace tensorlib::core
