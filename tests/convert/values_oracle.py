"""The values of FROM in the file IN as the reference writes them in type TO: values_oracle.py FROM TO IN OUT. The file
holds rows of 32 values."""
import sys

import gguf
import numpy as np

source, target, path_in, path_out = sys.argv[1:]
raw = open(path_in, "rb").read()
if source == "BF16":  # as torch widens it
    x = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
else:
    x = np.frombuffer(raw, {"F16": np.float16, "F32": np.float32}[source])
with np.errstate(all="ignore"):
    y = gguf.quants.quantize(x.reshape(-1, 32), gguf.GGMLQuantizationType[target])
open(path_out, "wb").write(y.tobytes())
