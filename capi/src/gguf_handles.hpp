// Conversions between handles and objects for files and writers.
#pragma once

#include "handles.hpp"

#include "io/gguf_writer.hpp"

namespace tensorlib::capi {

inline core::Gguf *unwrap(tl_gguf *p) { return reinterpret_cast<core::Gguf *>(p); }
inline const core::Gguf *unwrap(const tl_gguf *p) { return reinterpret_cast<const core::Gguf *>(p); }
inline core::GgufWriter *unwrap(tl_gguf_writer *p) { return reinterpret_cast<core::GgufWriter *>(p); }
inline const core::GgufWriter *unwrap(const tl_gguf_writer *p) { return reinterpret_cast<const core::GgufWriter *>(p); }
inline tl_gguf *wrap(core::Gguf *p) { return reinterpret_cast<tl_gguf *>(p); }
inline tl_gguf_writer *wrap(core::GgufWriter *p) { return reinterpret_cast<tl_gguf_writer *>(p); }

inline core::GgufType gguf_type_of(const char *function, tl_gguf_type type) {
    if (type < 0 || type >= core::gguf_type_count)
        core::fail(Status::invalid_argument, "%s: type is %d: 0 to %d are valid", function, type, core::gguf_type_count - 1);
    return static_cast<core::GgufType>(type);
}

}  // namespace tensorlib::capi
