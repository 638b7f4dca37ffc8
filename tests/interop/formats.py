"""Files exchanged with the Python packages `gguf` and `safetensors`: `write FOLDER` writes their files, `read FOLDER` checks ours.

The values are those of rust/tensorlib/tests/interop.rs; run by `cargo xtask test --deep --only interop`.
"""

import pathlib
import sys

import gguf
import numpy as np
import safetensors
import safetensors.numpy

MATRIX = np.arange(6, dtype=np.float32).reshape(3, 2)  # 3 rows of 2: ne is [2, 3]
HALVES = np.array([0.5, -2.0, 65504.0], dtype=np.float16)
INTS = np.array([-(2**31), 7], dtype=np.int32)
ROWS = np.linspace(-1, 1, 512, dtype=np.float32).reshape(2, 256)
TEXTS = ["alpha", "", "gamma \u03b3"]


def write(folder):
    writer = gguf.GGUFWriter(folder / "theirs.gguf", "test")
    writer.add_uint8("test.u8", 200)
    writer.add_int16("test.i16", -30000)
    writer.add_uint64("test.u64", 2**64 - 1)
    writer.add_float32("test.f32", 3.25)
    writer.add_float64("test.f64", -1e300)
    writer.add_bool("test.bool", True)
    writer.add_string("test.text", "gr\u00fc\u00df")
    writer.add_array("test.texts", TEXTS)
    writer.add_array("test.ints", [1, -2, 3])
    writer.add_tensor("matrix", MATRIX)
    writer.add_tensor("halves", HALVES)
    writer.add_tensor("ints", INTS)
    kind = gguf.GGMLQuantizationType.Q8_0
    writer.add_tensor("rows", gguf.quants.quantize(ROWS, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    tensors = {"matrix": MATRIX, "halves": HALVES, "ints": INTS, "scalar": np.array(2.5)}
    safetensors.numpy.save_file(tensors, folder / "theirs.safetensors", {"made by": "python"})


def check_values(reader):
    def value(key):
        return reader.get_field(key).contents()

    assert value("test.u8") == 200 and value("test.i16") == -30000 and value("test.u64") == 2**64 - 1
    assert value("test.f32") == 3.25 and value("test.f64") == -1e300 and value("test.bool") is True
    assert value("test.text") == "gr\u00fc\u00df" and value("test.texts") == TEXTS and value("test.ints") == [1, -2, 3]


def read(folder):
    for name in ("ours.gguf", "copied.gguf"):
        reader = gguf.GGUFReader(folder / name)
        check_values(reader)
        tensors = {t.name: t for t in reader.tensors}
        assert list(tensors["matrix"].shape) == [2, 3] and (tensors["matrix"].data == MATRIX).all()
        assert tensors["halves"].data.dtype == np.float16 and (tensors["halves"].data == HALVES).all()
        assert (tensors["ints"].data == INTS).all()
        if name == "copied.gguf":
            rows = tensors["rows"]
            assert rows.tensor_type == gguf.GGMLQuantizationType.Q8_0 and list(rows.shape) == [256, 2]
            assert (rows.data == gguf.quants.quantize(ROWS, rows.tensor_type)).all()
    with safetensors.safe_open(folder / "ours.safetensors", "np") as file:
        assert file.metadata() == {"made by": "tensorlib"}
        assert (file.get_tensor("matrix") == MATRIX).all() and file.get_tensor("matrix").shape == (3, 2)
        assert (file.get_tensor("halves") == HALVES).all() and (file.get_tensor("ints") == INTS).all()


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](pathlib.Path(sys.argv[2]))
