"""What the gguf package makes of names and model cards. Reads {"names": [[id, n_params]...], "cards": [{"readme", "config",
"folder", "n_params"}...], "scalars": [...]} from standard input and prints {"names": [...], "cards": [...], "scalars":
[...]}: for a name its title and parts, for a card every general.* key with its value, for a plain YAML scalar whether it is
a string."""
import json
import logging
import pathlib
import sys
import tempfile

import gguf
import yaml

logging.disable(logging.CRITICAL)
job = json.load(sys.stdin)
out = {"names": [], "cards": [], "scalars": []}
for scalar in job["scalars"]:
    tag = yaml.SafeLoader("").resolve(yaml.ScalarNode, scalar, (True, False))
    out["scalars"].append(tag == "tag:yaml.org,2002:str")
for name, n_params in job["names"]:
    parts = gguf.Metadata.get_model_id_components(name, n_params)
    out["names"].append({"title": gguf.Metadata.id_to_title(name), "parts": parts,
                         "size_label": gguf.size_label(n_params, n_params, 0, 0)})
for card in job["cards"]:
    with tempfile.TemporaryDirectory() as base:
        folder = pathlib.Path(base) / card["folder"]
        folder.mkdir()
        if card["readme"] is not None:
            (folder / "README.md").write_bytes(card["readme"].encode())
        (folder / "config.json").write_text(json.dumps(card["config"]))
        metadata = gguf.Metadata.load(None, folder, None, card["n_params"])
        if metadata.size_label is None:
            metadata.size_label = gguf.size_label(card["n_params"], card["n_params"], 0, 0)
        writer = gguf.GGUFWriter(None, "llama")
        metadata.set_gguf_meta_model(writer)
        values = {key: value.value for key, value in writer.kv_data[0].items()}
        del values["general.architecture"]
        out["cards"].append(values)
json.dump(out, sys.stdout)
