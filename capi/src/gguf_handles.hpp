// Handles of files and writers, and back.
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

}  // namespace tensorlib::capi
