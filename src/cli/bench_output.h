// The results of minfer bench as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace minfer::cli {

// One result: an object with the same keys, in the same order, for each.
using BenchResult = nlohmann::ordered_json;

// Prints results as they come; JSON when all are there.
class BenchOutput {
  public:
    enum class Format { Markdown, Json, Csv };

    explicit BenchOutput(Format format) : format_(format) {}
    void add(const BenchResult& result);
    void finish();

  private:
    void print_markdown(const BenchResult& result);
    void print_csv(const BenchResult& result);

    Format format_;
    BenchResult all_ = BenchResult::array();
};

// "prompt 512", "8 x gen 48 at 4096".
std::string bench_test_name(const BenchResult& result);

}  // namespace minfer::cli
