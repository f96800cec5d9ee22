#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <system_error>

#include "base/error.h"
#include "convert/convert.h"
#include "convert/metadata.h"
#include "convert/model_card.h"
#include "convert/model_config.h"
#include "convert/special_tokens.h"
#include "convert/token_list.h"
#include "convert/tokenizer_json.h"

namespace minfer::convert {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxTokenizerConfigBytes = 8 << 20;

// What llama3's scaling divides each rotary frequency by: 1 for the high ones, the factor for the low ones, and a ramp
// between. Formula: transformers, modeling_rope_utils.py, _compute_llama3_parameters. The reference computes it with
// torch in float32, where x / t is x times the reciprocal of t; so does this.
std::vector<float> llama3_factors(const ModelConfig& config) {
    const RopeScaling& scaling = *config.rope_scaling;
    const float factor = float(scaling.factor), low = float(scaling.low_freq_factor);
    const float context = float(scaling.original_context);
    const float low_wavelength = float(double(scaling.original_context) / scaling.low_freq_factor);
    const float high_wavelength = float(double(scaling.original_context) / scaling.high_freq_factor);
    const float ramp = float(scaling.high_freq_factor - scaling.low_freq_factor);
    std::vector<float> out;
    for (uint64_t i = 0; i < config.head_dim; i += 2) {
        const float power = float(i) / float(config.head_dim);
        const float frequency = 1.0f / float(std::pow(double(float(config.rope_theta)), double(power)));
        const float wavelength = (1.0f / frequency) * float(2 * std::numbers::pi);
        if (wavelength < high_wavelength) {
            out.push_back(1.0f);
        } else if (wavelength > low_wavelength) {
            out.push_back(factor);
        } else {
            const float smooth = ((1.0f / wavelength) * context - low) / ramp;
            out.push_back(1.0f / ((1.0f - smooth) / factor + smooth));
        }
    }
    return out;
}

// Norms and biases stay f32; a matrix whose rows are no whole blocks takes f16.
gguf::TensorType type_for(const MappedTensor& tensor, gguf::TensorType wanted) {
    if (tensor.shape.size() == 1) return gguf::TensorType::F32;
    return tensor.shape.back() % gguf::block_size(wanted) == 0 ? wanted : gguf::TensorType::F16;
}

std::vector<PlannedTensor> plan_tensors(const Checkpoint& checkpoint, const ModelConfig& config,
                                        const ConvertOptions& options, std::vector<std::string>& notes) {
    std::vector<PlannedTensor> out;
    if (config.rope_scaling && config.rope_scaling->type == RopeScaling::Type::Llama3) {
        PlannedTensor freqs;
        freqs.factors = llama3_factors(config);
        freqs.spec.name = "rope_freqs.weight";
        freqs.spec.ne[0] = freqs.factors.size();
        out.push_back(std::move(freqs));
    }
    std::vector<MappedTensor> all_mapped = map_tensors(checkpoint, config, options.source.string());
    if (const size_t n = checkpoint.tensors().size() - all_mapped.size(); n > 0)
        notes.push_back(
            fmt::format("left out {} rotary_emb.inv_freq buffer{}, which config.json gives", n, n == 1 ? "" : "s"));
    for (MappedTensor& mapped : all_mapped) {
        PlannedTensor tensor;
        tensor.spec.name = mapped.name;
        tensor.spec.type = type_for(mapped, options.type);
        for (size_t d = 0; d < mapped.shape.size(); ++d) tensor.spec.ne[d] = mapped.shape[mapped.shape.size() - 1 - d];
        tensor.mapped = std::move(mapped);
        out.push_back(std::move(tensor));
    }
    return out;
}

// The reference turns these into a classifier, which is another model.
void refuse_reranker(const std::string& folder_name, const std::string& name_or_path, const std::string& card_text) {
    const auto lower = [](std::string text) {
        for (char& c : text)
            if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
        return text;
    };
    const std::string card = lower(card_text);
    const bool is_reranker = card.find("# qwen3-reranker") != std::string::npos ||
                             lower(folder_name).find("qwen3-reranker") != std::string::npos ||
                             lower(name_or_path).find("qwen3-reranker") != std::string::npos;
    if (is_reranker)
        throw UnsupportedError(
            "the checkpoint is a Qwen3 reranker by its name or card; minfer converts language models "
            "only");
}

// general.name and more are made of it. As the folder is called, without following links, which is the reference's way.
std::string folder_name(const fs::path& folder) {
    fs::path path = fs::absolute(folder).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    const std::string name = path.filename().string();
    require_utf8(name, "the name of the folder " + gguf::in_quotes(name));
    return name;
}

Metadata plan_sampling(const fs::path& folder, std::vector<std::string>& notes) {
    const std::string path = (folder / "generation_config.json").string();
    if (!is_there(path)) return {};
    const auto without = [&](const Error& e) {
        notes.push_back(fmt::format("without the recommended sampling: {}", e.what()));
        return Metadata();
    };
    Json tree;
    try {
        tree = read_json_object(path, kMaxConfigBytes);
    } catch (const FormatError& e) {  // some real ones do not parse; the reference goes without, too
        return without(e);
    } catch (const IoError& e) {  // a link that leads nowhere: as dispensable, and said as well
        if (e.error_number() != ENOENT) throw;
        return without(e);
    }
    return sampling_metadata(JsonObject(path, "", tree));
}

// A token that is added around each text has to be there. The models of llama-bpe add a bos unless they say otherwise.
void check_added_tokens(const Metadata& metadata, std::string_view pre_tokenizer, const std::string& path) {
    std::map<std::string_view, bool> adds = {{"bos", pre_tokenizer == "llama-bpe"}, {"eos", false}, {"sep", false}};
    std::set<std::string_view> has;
    for (const gguf::KeyValue& entry : metadata)
        for (auto& [kind, add] : adds) {
            if (entry.key == fmt::format("tokenizer.ggml.add_{}_token", kind)) add = entry.value.as<bool>().value();
            if (entry.key == fmt::format("tokenizer.ggml.{}_token_id", kind)) has.insert(kind);
        }
    if (adds["sep"])
        throw UnsupportedError(
            fmt::format("{}: a separator between two texts is added; minfer runs models of one "
                        "text only",
                        path));
    for (const std::string_view kind : {"bos", "eos"})
        if (adds[kind] && !has.contains(kind))
            throw FormatError(path, fmt::format("key '{}_token'", kind), "none",
                              fmt::format("a token, for one is added to each text; or add_{}_token false", kind));
}

Metadata plan_tokenizer(const ConvertOptions& options, const JsonObject& config_json, const ModelConfig& config) {
    const fs::path& folder = options.source;
    const std::string config_path = (folder / "tokenizer_config.json").string();
    const Json tree = read_json_object(config_path, kMaxTokenizerConfigBytes);
    const JsonObject tokenizer_config(config_path, "", tree);
    const ChatTemplates templates = read_chat_templates(folder, tokenizer_config);
    if (!templates.main && options.require_chat_template)
        throw UnsupportedError(
            fmt::format("{} has no 'chat_template'; minfer's strict loader renders the model's own template, so a "
                        "converted GGUF without one is not accepted; --no-chat-template converts without one",
                        config_path));
    if (is_there(folder / "tokenizer.model"))
        throw UnsupportedError(fmt::format("{} is a SentencePiece vocabulary; minfer converts byte-level BPE only",
                                           (folder / "tokenizer.model").string()));
    const TokenizerJson tokenizer = read_tokenizer_json((folder / "tokenizer.json").string());
    const std::string_view pre = tokenizer.pre_tokenizer_name();
    const SpecialTokens special = read_special_tokens(tokenizer, tokenizer_config, config_json, config.n_vocab);
    Metadata out = tokenizer_metadata(pre, make_token_list(tokenizer, tokenizer_config, config.n_vocab),
                                      tokenizer.merges, special, templates);
    if (config.architecture == Architecture::Llama)
        for (gguf::KeyValue& entry : llama_tokenizer_metadata(tokenizer_config, config.n_vocab))
            out.push_back(std::move(entry));
    check_added_tokens(out, pre, config_path);
    return out;
}

// Whether `path` names what is already a file of the checkpoint, in the folder or below it, by whatever name. An
// earlier conversion may be overwritten. What cannot be looked at is none.
bool is_input(const std::string& path, const fs::path& folder, const Checkpoint& checkpoint) {
    if (std::ranges::any_of(checkpoint.shards(), [&](const File& file) { return file.is_same_file(path); }))
        return true;
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error), end;
         !error && at != end; at.increment(error)) {
        std::error_code ignored;
        if (at->path().extension() != ".gguf" && at->is_regular_file(ignored) &&
            fs::equivalent(at->path(), path, ignored))
            return true;
    }
    return false;
}

void refuse_overwriting(const gguf::Writer& writer, const fs::path& folder, const Checkpoint& checkpoint) {
    for (const auto& part : writer.plan()) {
        std::error_code error;
        if (fs::exists(part.path, error) && is_input(part.path, folder, checkpoint))
            throw Error(fmt::format("{} is a file of the checkpoint; write to another path", part.path));
    }
}

}  // namespace

gguf::TensorType parse_outtype(const std::string& name) {
    for (const gguf::TensorType type :
         {gguf::TensorType::F16, gguf::TensorType::BF16, gguf::TensorType::F32, gguf::TensorType::Q8_0})
        if (name == gguf::type_name(type)) return type;
    throw UnsupportedError(fmt::format("unknown --outtype \"{}\"; supported: f16, bf16, f32, q8_0", name));
}

uint64_t Conversion::data_bytes() const {
    uint64_t sum = 0;
    for (const PlannedTensor& tensor : tensors_) sum += tensor.spec.nbytes();
    return sum;
}

Conversion plan_conversion(const ConvertOptions& options) {
    const fs::path& folder = options.source;
    if (!fs::is_directory(folder))
        throw FormatError(folder.string(), "checkpoint", fs::exists(folder) ? "a file" : "nothing", "a folder");
    const std::string config_path = (folder / "config.json").string();
    const Json config_tree = read_json_object(config_path, kMaxConfigBytes);
    const JsonObject config_json(config_path, "", config_tree);
    const ModelConfig config = parse_model_config(config_tree, config_path);

    const std::string card_path = (folder / "README.md").string();
    const std::string card_text = is_there(card_path) ? read_text_file(card_path, kMaxCardBytes) : "";
    const std::string name = folder_name(folder);
    const std::string name_or_path = config_json.string("_name_or_path").value_or("");
    if (config.architecture == Architecture::Qwen3) refuse_reranker(name, name_or_path, card_text);

    Conversion out(Checkpoint(folder), options.output);
    out.tensors_ = plan_tensors(out.checkpoint_, config, options, out.notes_);
    uint64_t n_params = 0;
    for (const PlannedTensor& tensor : out.tensors_) n_params += tensor.spec.ne[0] * tensor.spec.ne[1];

    gguf::Writer& writer = out.writer_;
    const auto set_all = [&](Metadata metadata) {
        for (gguf::KeyValue& entry : metadata) writer.set(entry.key, std::move(entry.value));
    };
    writer.set("general.architecture", gguf::Value::string(gguf_name(config.architecture)));
    writer.set("general.type", gguf::Value::string("model"));
    set_all(plan_sampling(folder, out.notes_));
    set_all(authorship_metadata(parse_model_card(card_text, card_path), name_or_path, name, n_params));
    set_all(model_metadata(config));
    writer.set("general.file_type", gguf::Value::scalar(file_type(options.type)));
    set_all(pooling_metadata(folder, config.architecture));
    constexpr uint32_t kQuantizationVersion = 2;  // GGML_QNT_VERSION
    writer.set("general.quantization_version", gguf::Value::scalar(kQuantizationVersion));
    set_all(plan_tokenizer(options, config_json, config));
    for (const PlannedTensor& tensor : out.tensors_) writer.add_tensor(tensor.spec);
    writer.split(options.split);
    refuse_overwriting(writer, folder, out.checkpoint_);
    return out;
}

}  // namespace minfer::convert
