// Synthetic checkpoints, the peer's programs, and what minfer's engine makes of a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace minfer::test {

// Runs make_checkpoint.py with these words: all but --tokenizer and --out.
void make_checkpoint(const std::vector<std::string>& words, const std::filesystem::path& folder);

// make_checkpoint(), then hf_to_gguf.py, which takes a vocabulary (--vocab) smaller than the tokenizer's too.
void make_gguf(const std::vector<std::string>& words, const std::string& outtype, const std::filesystem::path& out);

// A program of tests/peer/programs, run with these words. Throws std::runtime_error with its standard error.
void run_peer(const std::string& program, const std::vector<std::string>& words);
std::filesystem::path peer_program(const std::string& program);

std::vector<float> read_floats(const std::filesystem::path& path);

// [positions.size()][n_vocab] by minfer's engine, of a text that starts an empty context; all positions where empty.
std::vector<float> minfer_logits(const std::filesystem::path& model, const std::vector<int32_t>& tokens,
                                 const std::vector<size_t>& positions = {});
// [tokens.size()][n_vocab] by llama.cpp. Needs a folder for its files.
std::vector<float> peer_logits(const std::filesystem::path& model, const std::vector<int32_t>& tokens,
                               const std::filesystem::path& folder);

}  // namespace minfer::test
