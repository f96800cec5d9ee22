#include "cli/generate_arguments.h"

#include <algorithm>

#include "base/error.h"

namespace minfer::cli {

void GenerateArguments::take_sampling() {
    if (std::ranges::find(generation.stop, "") != generation.stop.end())
        throw UsageError("--stop: found an empty text, which comes before every token; expected some characters");
    generation.sampling = sampling.params();
    if (generation.ignore_eos && !(generation.sampling.grammar + generation.sampling.json_schema).empty())
        throw UsageError("--ignore-eos and a grammar do not go together: where the grammar ends, so does the text");
}

}  // namespace minfer::cli
