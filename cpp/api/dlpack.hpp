// Tensors shared with other libraries through DLPack 1.x, without a copy. The C ABI and the C++ API call these functions.
//
// DLPack lists dimensions slowest first and counts strides in elements, so both lists are reversed here. The locks of
// contexts know nothing of another library's reads and writes: callers keep these apart.
#pragma once

// Declared by DLPack, in the global namespace. This declaration and DLPack's own header may be included together.
struct DLManagedTensorVersioned;

namespace tensorlib::core {

class Context;
struct Tensor;

// Shares a tensor's memory, which stays until the deleter of the result has run, even if the context is freed before.
// The context cannot be reset until then. The result is marked read-only if the memory must not be written, or if
// elements share bytes. Throws Error: type_mismatch for a quantised type; unavailable for data that the host cannot see
// or whose original was dropped; invalid_argument if there are no data yet; busy.
DLManagedTensorVersioned *to_dlpack(Tensor &t);

// A tensor over another library's memory: a leaf, or a view of one if the elements are not contiguous. The deleter runs
// when the context is reset or freed. If this throws, the caller still owns `managed`.
Tensor *from_dlpack(Context &context, DLManagedTensorVersioned *managed);

}  // namespace tensorlib::core
