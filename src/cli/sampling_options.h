// The options of sampling, the same for every command that generates. Names are llama.cpp's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/params.h"

namespace CLI {
class App;
}

namespace minfer::cli {

class SamplingOptions {
  public:
    // --greedy, --temp, --top-k … --grammar, --json-schema, --seed. The app and this object live until params() has
    // been called.
    void declare(CLI::App& app);

    // As if the option of that name (without its dashes) had never been given; false where it is none of those that
    // hold nothing then. A text is held to one grammar or schema, so that of another option goes with the one named.
    bool forget(std::string_view name);
    // The same for these four alone: what is to go before one of them is set anew.
    bool forget_constraint(std::string_view name);

    // What was asked for, with a random seed where none was given. Throws UsageError for what is out of range, and
    // Error for a file that cannot be read.
    sampling::SamplerParams params() const;

  private:
    sampling::SamplerParams params_;
    std::string samplers_ = sampling::sampler_names(sampling::default_samplers());
    std::vector<std::string> logit_biases_;
    std::vector<std::string> dry_breakers_;
    std::string grammar_, grammar_file_, schema_, schema_file_;
    std::optional<uint64_t> seed_;
};

}  // namespace minfer::cli
