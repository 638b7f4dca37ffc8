#include "handles.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

namespace tensorlib::capi {

namespace {

// sizeof(tl_error) in version 0.1; part of the ABI.
constexpr std::size_t first_error_size = 272;
static_assert(sizeof(tl_error) == first_error_size);

// How much of the beginning of a long message is kept, and the mark that replaces its middle. The middle may be a path, and the reason
// comes last.
constexpr std::size_t kept_beginning = 160;
constexpr std::string_view cut_mark = " ... ";

// The messages that were shortened last. A thread that cannot take the lock soon gives up instead of waiting, because a lock that
// another thread held during a fork would hang the child. Never destroyed, as threads may fail while the process ends.
class LongMessages {
public:
    // Keeps a message and returns its number, which is never 0; 0 if it could not be kept.
    std::uint32_t keep(std::string_view text) noexcept {
        char *copy = new (std::nothrow) char[text.size()];
        if (!copy) return 0;
        std::copy(text.begin(), text.end(), copy);
        std::uint32_t number = 0;
        if (lock()) {
            number = ++last_ != 0 ? last_ : ++last_;
            StoredText &slot = kept_[number % kept_.size()];
            copy = std::exchange(slot.text, copy);
            slot.number = number;
            slot.size = text.size();
            taken_.clear(std::memory_order_release);
        }
        delete[] copy;
        return number;
    }

    // Copies as much of the message as fits, and a NUL. Returns the length of the whole message, or 0 if it is no longer kept.
    std::size_t copy(std::uint32_t number, char *buf, std::size_t size) noexcept {
        if (!lock()) return 0;
        const StoredText &slot = kept_[number % kept_.size()];
        const std::size_t length = slot.number == number ? copy_text({slot.text, slot.size}, buf, size) : 0;
        taken_.clear(std::memory_order_release);
        return length;
    }

private:
    struct StoredText {
        char *text = nullptr;
        std::size_t size = 0;
        std::uint32_t number = 0;
    };
    bool lock() noexcept {
        for (int i = 0; i < 1000; i++) {
            if (!taken_.test_and_set(std::memory_order_acquire)) return true;
            std::this_thread::yield();
        }
        return false;
    }
    std::atomic_flag taken_;
    std::uint32_t last_ = 0;
    std::array<StoredText, 64> kept_{};
};

constinit LongMessages long_messages;
static_assert(std::is_trivially_destructible_v<LongMessages>);

// Whether the byte continues a UTF-8 character: 10xxxxxx.
bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace

void set_error(tl_error *err, Status code, const char *message) noexcept {
    if (!err || err->struct_size < first_error_size) return;
    err->code = static_cast<tl_status>(code);
    err->text = 0;
    const std::string_view text = message;
    constexpr std::size_t most = sizeof err->message - 1;
    char *out = err->message;
    const auto append = [&](std::string_view part) { out = std::copy(part.begin(), part.end(), out); };
    if (text.size() <= most) {
        append(text);
    } else {
        err->text = long_messages.keep(text);
        std::size_t end = kept_beginning, begin = text.size() - (most - kept_beginning - cut_mark.size());
        while (end > 0 && is_continuation(text[end])) end--;
        while (begin < text.size() && is_continuation(text[begin])) begin++;
        append(text.substr(0, end));
        append(cut_mark);
        append(text.substr(begin));
    }
    *out = '\0';
}

namespace {

// Calls use(code, message) with the exception that is being handled. The message is passed by reference, as a copy would need memory.
template <class Use>
void with_current(Use use) noexcept {
    try {
        throw;
    } catch (const Error &error) {
        use(error.code(), error.what());
    } catch (const std::bad_alloc &) {
        use(Status::out_of_memory, "out of memory");
    } catch (const std::exception &error) {
        char message[256];
        std::snprintf(message, sizeof message, "internal error: %s", error.what());
        use(Status::internal, message);
    } catch (...) {
        use(Status::internal, "internal error");
    }
}

}  // namespace

Status report_current(tl_error *err) noexcept {
    Status status = Status::internal;
    with_current([&](Status code, const char *message) noexcept {
        status = code;
        set_error(err, code, message);
    });
    return status;
}

void keep_current(core::Context &context) noexcept {
    with_current([&](Status code, const char *message) noexcept { context.keep_error(code, message); });
}

}  // namespace tensorlib::capi

size_t tl_error_text(const tl_error *err, char *buf, size_t size) {
    size_t length = tensorlib::capi::copy_text({}, buf, size);
    if (!err || err->struct_size < tensorlib::capi::first_error_size) return length;
    if (err->text != 0) length = tensorlib::capi::long_messages.copy(err->text, buf, size);
    return length != 0 ? length : tensorlib::capi::copy_text(err->message, buf, size);
}

uint32_t tl_abi_version(void) { return TL_ABI_VERSION; }

const char *tl_version(void) { return TENSORLIB_VERSION; }

const char *tl_status_name(tl_status status) {
    switch (status) {
#define TL_STATUS_CASE(name) \
    case name: return #name;
        TL_STATUS_CASE(TL_STATUS_OK)
        TL_STATUS_CASE(TL_STATUS_INVALID_ARGUMENT)
        TL_STATUS_CASE(TL_STATUS_SHAPE_MISMATCH)
        TL_STATUS_CASE(TL_STATUS_TYPE_MISMATCH)
        TL_STATUS_CASE(TL_STATUS_CONTEXT_MISMATCH)
        TL_STATUS_CASE(TL_STATUS_UNSUPPORTED)
        TL_STATUS_CASE(TL_STATUS_UNAVAILABLE)
        TL_STATUS_CASE(TL_STATUS_OUT_OF_MEMORY)
        TL_STATUS_CASE(TL_STATUS_BUSY)
        TL_STATUS_CASE(TL_STATUS_ABORTED)
        TL_STATUS_CASE(TL_STATUS_IO)
        TL_STATUS_CASE(TL_STATUS_FORMAT)
        TL_STATUS_CASE(TL_STATUS_DEVICE)
        TL_STATUS_CASE(TL_STATUS_INTERNAL)
        TL_STATUS_CASE(TL_STATUS_GROUP)
#undef TL_STATUS_CASE
    }
    return "unknown status";
}
