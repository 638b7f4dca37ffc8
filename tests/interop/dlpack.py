"""Tensors shared with NumPy and JAX through DLPack, in both directions and without copies: `dlpack.py LIBRARY`.

NumPy speaks DLPack 1.x. JAX speaks the older format, which `to_older` and `from_older` convert to and from 1.x; both formats describe the
same memory. Also runs the example of docs/tensors.md. Run by `cargo xtask test --deep --only interop`.
"""

import ctypes
import gc
import pathlib
import re
import subprocess
import sys
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np

tl = ctypes.CDLL(sys.argv[1])
py = ctypes.pythonapi
F32, F16, F64, I8, I16, I32, I64, BF16, U8, BOOL = 0, 1, 28, 24, 25, 26, 27, 30, 1000, 1001
INVALID_ARGUMENT, BUSY = 1, 8
READ_ONLY = 1


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]


# The interpreter's lock is held in the deleters that Python code defines or calls here.
Deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64), ("tensor", DLTensor),
    ]


class Older(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Error(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("code", ctypes.c_int32), ("message", ctypes.c_char * 256), ("text", ctypes.c_uint32)]


def declare(library, name, result, *parameters):
    function = getattr(library, name)
    function.restype, function.argtypes = result, parameters


P, S = ctypes.c_void_p, ctypes.c_size_t
declare(py, "PyCapsule_New", ctypes.py_object, P, ctypes.c_char_p, Deleter)
declare(py, "PyCapsule_IsValid", ctypes.c_int, P, ctypes.c_char_p)
declare(py, "PyCapsule_GetPointer", P, P, ctypes.c_char_p)
declare(py, "PyCapsule_SetName", ctypes.c_int, P, ctypes.c_char_p)
for name, *parameters in [
    ("backend_create", ctypes.c_char_p, P, P, P), ("context_create", P, P, P), ("context_reset", P, P), ("context_error", P, P),
    ("graph_create", P, P, S, P, P), ("graph_compute", P, P, P), ("tensor_to_dlpack", P, P, P), ("tensor_set_constant", P, P),
    ("tensor_write_f32", P, P, S, P), ("tensor_read_f32", P, P, S, P), ("tensor_type", P), ("tensor_n_dims", P),
]:
    declare(tl, "tl_" + name, ctypes.c_int32, *parameters)
for name in ("context_free", "graph_free", "backend_free"):
    declare(tl, "tl_" + name, None, P)
declare(tl, "tl_tensor_from_dlpack", P, P, P)
declare(tl, "tl_tensor_new_2d", P, P, ctypes.c_int32, ctypes.c_int64, ctypes.c_int64)
declare(tl, "tl_tensor_ne", ctypes.c_int64, P, ctypes.c_int32)
declare(tl, "tl_tensor_data", P, P)
for name in ("add", "mul_mat"):
    declare(tl, "tl_" + name, P, P, P, P)
declare(tl, "tl_transpose", P, P, P)


class Failed(Exception):
    pass


def call(name, *arguments):
    error = Error(struct_size=ctypes.sizeof(Error))
    if getattr(tl, "tl_" + name)(*arguments, ctypes.byref(error)) != 0:
        raise Failed(error.code, error.message.decode())


def made(name, *arguments):
    out = P()
    call(name, *arguments, ctypes.byref(out))
    return out


CPU = made("backend_create", b"cpu", None)


# A capsule that nobody consumed still owns its tensor.
@Deleter
def delete_unused(capsule):
    for name, kind in ((b"dltensor_versioned", Versioned), (b"dltensor", Older)):
        if py.PyCapsule_IsValid(capsule, name):
            address = py.PyCapsule_GetPointer(capsule, name)
            Callback(kind.from_address(address).deleter)(address)


CONSUMED_NAMES = [b"used_dltensor_versioned", b"used_dltensor"]  # a capsule keeps only the address of its name
CONVERTED = {}  # structs whose deleters are Python's, and what they need, by address


@Callback
def delete_converted(address):
    _, of, deleter = CONVERTED.pop(address)
    Callback(deleter)(of)


def converted(struct, of, deleter):
    address = ctypes.addressof(struct)
    struct.deleter = ctypes.cast(delete_converted, P)
    CONVERTED[address] = (struct, of, deleter)
    return address


def to_older(address):
    """The same memory in the older format, which has no flags: callers leave read-only memory out."""
    given = Versioned.from_address(address)
    assert not given.flags & READ_ONLY
    return converted(Older(tensor=given.tensor), address, given.deleter)


def from_older(address):
    """The same memory in the format of 1.x. JAX's arrays are immutable."""
    given = Older.from_address(address)
    return converted(Versioned(major=1, flags=READ_ONLY, tensor=given.tensor), address, given.deleter)


class Context:
    def __init__(self):
        self.handle = made("context_create", None)

    def free(self):
        tl.tl_context_free(self.handle)
        self.handle = None

    def checked(self, tensor):
        if not tensor:
            call("context_error", self.handle)
        return Tensor(self, tensor)

    def zeros(self, columns, rows, kind=F32):
        return self.checked(tl.tl_tensor_new_2d(self.handle, kind, columns, rows))

    def imported(self, array):
        """Of NumPy's arrays and others that speak DLPack 1.x."""
        capsule = array.__dlpack__(max_version=(1, 0))
        address = py.PyCapsule_GetPointer(id(capsule), b"dltensor_versioned")
        tensor = self.checked(tl.tl_tensor_from_dlpack(self.handle, address))  # on failure the capsule still owns it
        py.PyCapsule_SetName(id(capsule), CONSUMED_NAMES[0])
        return tensor

    def imported_from_jax(self, array):
        capsule = array.__dlpack__()
        address = py.PyCapsule_GetPointer(id(capsule), b"dltensor")
        py.PyCapsule_SetName(id(capsule), CONSUMED_NAMES[1])
        return self.checked(tl.tl_tensor_from_dlpack(self.handle, from_older(address)))

    def op(self, name, *operands):
        return self.checked(getattr(tl, "tl_" + name)(self.handle, *(o.handle for o in operands)))

    def compute(self, tensor):
        graph = made("graph_create", self.handle, ctypes.byref(P(tensor.handle)), 1)
        call("graph_compute", graph, CPU)
        tl.tl_graph_free(graph)
        return tensor


class Tensor:
    """What np.from_dlpack() and jax.dlpack.from_dlpack() take."""

    def __init__(self, context, handle):
        self.context, self.handle = context, handle

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        shared = P()
        call("tensor_to_dlpack", self.handle, ctypes.byref(shared))
        if max_version is None:
            return py.PyCapsule_New(to_older(shared.value), b"dltensor", delete_unused)
        return py.PyCapsule_New(shared, b"dltensor_versioned", delete_unused)

    def shape(self):
        return [tl.tl_tensor_ne(self.handle, d) for d in range(tl.tl_tensor_n_dims(self.handle))]

    def read(self):
        values = np.empty(self.shape()[::-1], np.float32)
        call("tensor_read_f32", self.handle, values.ctypes.data, values.size)
        return values

    def write(self, values):
        values = np.ascontiguousarray(values, np.float32)
        call("tensor_write_f32", self.handle, values.ctypes.data, values.size)


def refused(code, words, f):
    try:
        f()
    except Failed as error:
        assert error.args[0] == code and all(word in error.args[1] for word in words), error
    else:
        raise AssertionError(f"accepted; expected {words}")


TYPES = {np.float32: F32, np.float16: F16, np.float64: F64, np.int8: I8, np.int16: I16, np.int32: I32, np.int64: I64, np.uint8: U8, np.bool_: BOOL}


def numpy_to_tensorlib():
    for dtype, kind in TYPES.items():
        context, array = Context(), np.arange(-5, 19).reshape(2, 3, 4).astype(dtype)
        tensor = context.imported(array)
        assert tl.tl_tensor_type(tensor.handle) == kind and tensor.shape() == [4, 3, 2]
        assert tl.tl_tensor_data(tensor.handle) == array.ctypes.data and (tensor.read() == array).all()
        array[1, 2, 3] = 100
        assert tensor.read()[1, 2, 3] == array[1, 2, 3] == (1 if dtype is np.bool_ else 100)
        opposite = ~array if dtype is np.bool_ else -array
        tensor.write(opposite)
        assert (array == opposite).all() and array[1, 2, 3] != 100
        context.free()
    base = np.arange(120, dtype=np.float32)
    images = base.reshape(2, 3, 4, 5)
    for array in (base, base[3:7], base[::3], base.reshape(10, 12).T, images[:, ::2], images[..., 1], images.transpose(2, 0, 3, 1),
                  images[:, :, :, 1:4], images[:, :1, ::2, ::2], np.asfortranarray(images), np.broadcast_to(base[:3], (4, 3)),
                  base[:0], np.empty((3, 0), np.float32), np.array(7, np.float32)):
        context = Context()
        tensor = context.imported(array)
        shape = list(array.shape)[::-1] or [1]
        assert tensor.shape() == shape and (tensor.read() == array.reshape(shape[::-1])).all(), array.shape
        product = context.compute(context.op("add", tensor, tensor))
        assert (product.read() == 2 * array.reshape(shape[::-1])).all()
        context.free()
    context = Context()
    refused(INVALID_ARGUMENT, ["[-1]", "0 or more"], lambda: context.imported(base[::-1]))
    refused(INVALID_ARGUMENT, ["stride 1", "copy"], lambda: context.imported(images[:, ::2, ::2, ::2]))
    refused(INVALID_ARGUMENT, ["5 dimensions"], lambda: context.imported(base.reshape(2, 3, 1, 4, 5)))
    frozen = base.copy()
    frozen.flags.writeable = False
    tensor = context.imported(frozen)
    refused(INVALID_ARGUMENT, ["read-only"], lambda: tensor.write(base))
    context.free()


class Watched(np.ndarray):
    """An array whose end a weak reference shows."""


def numpy_lives_as_long_as_the_context():
    for end in ("free", "reset", "thread"):
        context, array = Context(), np.arange(8, dtype=np.float32).view(Watched)
        tensor, watched = context.imported(array), weakref.ref(array)
        del array
        gc.collect()
        assert watched() is not None and tensor.read()[7] == 7
        if end == "free":
            context.free()
        elif end == "reset":
            call("context_reset", context.handle)
        else:
            thread = threading.Thread(target=context.free)
            thread.start()
            thread.join()
        gc.collect()
        assert watched() is None, end
    array = np.arange(8, dtype=np.float32)[::-1].view(Watched)
    watched = weakref.ref(array)
    refused(INVALID_ARGUMENT, ["[-1]"], lambda: Context().imported(array))
    del array
    gc.collect()
    assert watched() is None


def tensorlib_to_numpy():
    context = Context()
    tensor = context.zeros(4, 3)
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    tensor.write(values)
    array, turned = np.from_dlpack(tensor), np.from_dlpack(context.op("transpose", tensor))
    assert (array == values).all() and (turned == values.T).all() and turned.strides == (4, 16)
    assert array.ctypes.data == tl.tl_tensor_data(tensor.handle) == turned.ctypes.data and array.flags.writeable
    array[2, 1] = 50
    assert tensor.read()[2, 1] == 50 and turned[1, 2] == 50
    total = context.compute(context.op("add", tensor, tensor))
    result = np.from_dlpack(total)
    refused(BUSY, ["exported"], lambda: call("context_reset", context.handle))
    call("tensor_set_constant", tensor.handle)
    constant = np.from_dlpack(tensor)
    assert not constant.flags.writeable
    assert np.from_dlpack(context.zeros(0, 3)).shape == (3, 0)
    del tensor, total
    context.free()  # the arrays keep the memory
    assert (result == 2 * array).all() and (constant == turned.T).all()
    for kind in TYPES.values():
        context = Context()
        array = np.from_dlpack(context.zeros(2, 2, kind))
        context.free()
        assert TYPES[array.dtype.type] == kind and not array.any()
    context = Context()
    context.zeros(2, 2).__dlpack__(max_version=(1, 0))  # a capsule that nobody consumes
    gc.collect()
    call("context_reset", context.handle)
    context.free()


def jax_to_tensorlib():
    context = Context()
    for dtype, kind in ((jnp.float32, F32), (jnp.float16, F16), (jnp.bfloat16, BF16), (jnp.int8, I8), (jnp.int32, I32)):
        array = jnp.arange(24, dtype=dtype).reshape(4, 6)
        tensor = context.imported_from_jax(array)
        assert tl.tl_tensor_type(tensor.handle) == kind and tensor.shape() == [6, 4]
        if dtype != jnp.bfloat16:  # which NumPy does not have
            assert np.from_dlpack(tensor).ctypes.data == array.unsafe_buffer_pointer()
        assert (tensor.read() == np.asarray(array, np.float32)).all()
        refused(INVALID_ARGUMENT, ["read-only"], lambda: tensor.write(np.zeros((4, 6))))
    a, b = jax.random.normal(jax.random.key(0), (5, 64)), jax.random.normal(jax.random.key(1), (7, 64))
    product = context.compute(context.op("mul_mat", context.imported_from_jax(a), context.imported(np.from_dlpack(b))))
    expected = np.asarray(b, np.float64) @ np.asarray(a, np.float64).T
    del a, b
    gc.collect()
    assert np.abs(product.read() - expected).max() < 1e-4
    context.free()
    gc.collect()
    assert not CONVERTED


def tensorlib_to_jax():
    context = Context()
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    tensor, narrow = context.zeros(6, 4), context.zeros(6, 4, BF16)
    tensor.write(values)
    narrow.write(values)
    direct, by_numpy = jax.dlpack.from_dlpack(tensor), jax.dlpack.from_dlpack(np.from_dlpack(tensor))
    half = jax.dlpack.from_dlpack(narrow)
    assert direct.unsafe_buffer_pointer() == by_numpy.unsafe_buffer_pointer() == tl.tl_tensor_data(tensor.handle)
    assert half.dtype == jnp.bfloat16 and half.unsafe_buffer_pointer() == tl.tl_tensor_data(narrow.handle)
    context.free()  # the arrays keep the memory
    assert (jax.jit(lambda x, y: x @ y.T)(direct, by_numpy) == values @ values.T).all()
    assert (np.asarray(half, np.float32) == values).all()
    del direct, by_numpy, half
    gc.collect()
    assert not CONVERTED


def example_of_the_documentation():
    page = pathlib.Path(__file__).parents[2] / "docs/tensors.md"
    code = re.search(r"```python\n(.*?)```", page.read_text(), re.DOTALL).group(1)
    subprocess.run([sys.executable, "-c", code.replace("libtensorlib.so.1", sys.argv[1])], check=True)


for check in (numpy_to_tensorlib, numpy_lives_as_long_as_the_context, tensorlib_to_numpy, jax_to_tensorlib, tensorlib_to_jax,
              example_of_the_documentation):
    check()
    print(check.__name__, "ok")
