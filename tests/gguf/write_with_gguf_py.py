"""Writes a GGUF file with the `gguf` package, for the reader to be held against: write_with_gguf_py.py OUT [PER_PART].

Every metadata type, arrays of them, and tensors of several shapes and types; with PER_PART, in parts of that many tensors.
The values are functions of their positions, so the test can say them again.
"""
import sys

import gguf
import numpy as np

out = sys.argv[1]
per_part = int(sys.argv[2]) if len(sys.argv) > 2 else 0
w = gguf.GGUFWriter(out, "oracle", split_max_tensors=per_part)
w.add_uint8("t.u8", 255)
w.add_int8("t.i8", -128)
w.add_uint16("t.u16", 65535)
w.add_int16("t.i16", -32768)
w.add_uint32("t.u32", 4294967295)
w.add_int32("t.i32", -2147483648)
w.add_float32("t.f32", 0.1)
w.add_bool("t.bool", True)
w.add_string("t.string", "zwölf Boxkämpfer \U0001f94a")
w.add_uint64("t.u64", 2**64 - 1)
w.add_int64("t.i64", -(2**63))
w.add_float64("t.f64", 0.1)
w.add_array("t.strings", ["", "a", "bc\n", "ünï"])
w.add_array("t.numbers", [1, -2, 3])
w.add_array("t.reals", [0.5, -0.25])
w.add_array("t.bools", [True, False, True])
w.add_array("t.bytes", bytes(range(7)))
w.add_tensor("f32", np.arange(24, dtype=np.float32).reshape(2, 3, 4))
w.add_tensor("f16", (np.arange(10, dtype=np.float16) / 8).reshape(10))
w.add_tensor("i32", np.arange(5, dtype=np.int32) - 2)
w.add_tensor("q8_0", np.arange(3 * 34, dtype=np.uint8).reshape(3, 34), raw_dtype=gguf.GGMLQuantizationType.Q8_0)
w.add_tensor("one", np.array([[7.0]], dtype=np.float32))
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
