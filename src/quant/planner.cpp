#include "quant/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/error.h"

namespace minfer::quant {

namespace {

using gguf::TensorType;

enum class Role { TokenEmbedding, Output, AttentionV, AttentionK, AttentionOutput, FfnDown, Other };

bool contains(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

// The first of these that a name holds decides.
Role role_of(std::string_view name) {
    if (name == "output.weight") return Role::Output;
    if (name == "token_embd.weight" || name == "per_layer_token_embd.weight") return Role::TokenEmbedding;
    // A fused QKV and a compressed KV are as sensitive as V, and counted with it.
    for (std::string_view v : {"attn_qkv.weight", "attn_kv_b.weight", "attn_v.weight"})
        if (contains(name, v)) return Role::AttentionV;
    if (contains(name, "attn_k.weight")) return Role::AttentionK;
    if (contains(name, "attn_q.weight")) return Role::Other;
    if (contains(name, "attn_output.weight")) return Role::AttentionOutput;
    if (contains(name, "ffn_up") || contains(name, "ffn_gate")) return Role::Other;
    if (contains(name, "ffn_down")) return Role::FfnDown;
    return Role::Other;
}

// Matrices that stay as they are: small, or of a kind that no block suits.
constexpr std::string_view kNeverEncoded[] = {
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    "attn_rel_b.weight",
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
};

bool may_encode(const TensorFacts& tensor, bool quantize_output) {
    const bool matrix = tensor.ne[1] > 1 || tensor.ne[2] > 1 || tensor.ne[3] > 1;
    if (!matrix || !tensor.name.ends_with("weight")) return false;
    if (tensor.name == "output.weight" && !quantize_output) return false;
    if (tensor.name == "position_embd.weight" || tensor.name == "token_types.weight") return false;
    return std::none_of(std::begin(kNeverEncoded), std::end(kNeverEncoded),
                        [&](std::string_view part) { return contains(tensor.name, part); });
}

bool is_integer_type(TensorType type) {
    return type == TensorType::I8 || type == TensorType::I16 || type == TensorType::I32 || type == TensorType::I64;
}

bool is_block_type(TensorType type) { return gguf::block_size(type) > 1; }

// The type of smaller blocks that stands in for one whose block does not divide the row; F16 where none does.
TensorType fallback(TensorType type, uint64_t row) {
    if (row % gguf::block_size(type) == 0) return type;
    TensorType smaller = type;
    switch (type) {
        case TensorType::IQ4_XS:
            smaller = TensorType::IQ4_NL;
            break;
        case TensorType::Q2_K:
        case TensorType::Q3_K:
            smaller = TensorType::Q4_0;
            break;
        case TensorType::Q4_K:
            smaller = TensorType::Q5_0;
            break;
        case TensorType::Q5_K:
            smaller = TensorType::Q5_1;
            break;
        case TensorType::Q6_K:
            smaller = TensorType::Q8_0;
            break;
        default:
            break;
    }
    return row % gguf::block_size(smaller) == 0 ? smaller : TensorType::F16;
}

// Eighths at both ends, and every third layer between.
bool more_bits(int64_t i, int64_t n) { return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2; }

// The N of "blk.N.…", or -1.
int64_t block_number(std::string_view name) {
    constexpr std::string_view prefix = "blk.";
    int64_t number = -1;
    if (name.starts_with(prefix)) std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
    return number;
}

// The rules of the mixtures. They count the V and FFN-down tensors that they have seen, so an instance serves one pass.
class Mixture {
  public:
    Mixture(const ModelFacts& model, std::span<const TensorFacts> tensors, const PlanOptions& options)
        : model_(model), options_(options) {
        for (const TensorFacts& tensor : tensors) {
            const Role role = role_of(tensor.name);
            if (role == Role::AttentionV) ++n_v_;
            if (role == Role::Output) tied_ = false;
        }
        // 80 layers mark the 70B models, whose V is small beside their Q, wherever K and V are shared by heads.
        const bool shared_heads = model.architecture != "llama" || model.n_head != model.n_head_kv;
        const auto& kind = model.architecture;
        is_70b_ = (model.n_layer == 80 && shared_heads &&
                   (kind == "llama" || kind == "qwen2" || kind == "deci" || kind == "olmo")) ||
                  (model.n_layer == 68 && kind == "jais2");
    }

    // Whether this tensor is the projection to the vocabulary, under either of its names.
    bool is_output(Role role) const { return role == Role::Output || (tied_ && role == Role::TokenEmbedding); }

    TensorType choose(const TensorFacts& tensor, Role role) {
        const TensorType base = options_.scheme.base;
        if (is_output(role)) return output_type(tensor);
        switch (role) {
            case Role::AttentionV:
                return attention_v(i_v_++);
            case Role::AttentionK:
                return model_.n_expert == 8 ? TensorType::Q8_0 : base;
            case Role::AttentionOutput:
                return attention_output();
            case Role::FfnDown:
                return ffn_down(tensor.name);
            default:
                return base;
        }
    }

  private:
    bool is(FileType type) const { return options_.scheme.file_type == type; }
    bool is_falcon() const { return model_.architecture == "falcon"; }
    int64_t heads_per_kv() const { return model_.n_head_kv == 0 ? 0 : model_.n_head / model_.n_head_kv; }

    TensorType output_type(const TensorFacts& tensor) const {
        if (options_.output_type) return *options_.output_type;
        const TensorType base = options_.scheme.base;
        if (is_falcon() || tensor.ne[0] % gguf::block_size(base) != 0) return TensorType::Q8_0;
        return base == TensorType::Q8_0 ? base : TensorType::Q6_K;
    }

    TensorType attention_v(int64_t i) const {
        TensorType type = options_.scheme.base;
        const bool grouped = heads_per_kv() >= 4;
        if (is(FileType::Q2_K)) type = grouped ? TensorType::Q4_K : TensorType::Q3_K;
        if (is(FileType::Q2_K_S) && grouped) type = TensorType::Q4_K;
        if (is(FileType::Q3_K_M)) type = i < 2 ? TensorType::Q5_K : TensorType::Q4_K;
        if (is(FileType::Q3_K_L)) type = TensorType::Q5_K;
        if ((is(FileType::IQ4_NL) || is(FileType::IQ4_XS)) && grouped) type = TensorType::Q5_K;
        if ((is(FileType::Q4_K_M) || is(FileType::Q5_K_M)) && more_bits(i, n_v_)) type = TensorType::Q6_K;
        if (is(FileType::Q4_K_S) && i < 4) type = TensorType::Q5_K;
        if (is_70b_ && (type == TensorType::Q3_K || type == TensorType::Q4_K)) type = TensorType::Q5_K;
        if (model_.n_expert == 8) type = TensorType::Q8_0;
        return type;
    }

    TensorType attention_output() const {
        const TensorType base = options_.scheme.base;
        if (is_falcon()) return is(FileType::Q3_K_L) ? TensorType::Q4_K : base;
        if (model_.n_expert == 8) {
            for (FileType type : {FileType::Q2_K, FileType::Q3_K_S, FileType::Q3_K_M, FileType::IQ4_NL,
                                  FileType::Q4_K_S, FileType::Q4_K_M, FileType::IQ4_XS})
                if (is(type)) return TensorType::Q5_K;
            return base;
        }
        if (is(FileType::Q2_K)) return TensorType::Q3_K;
        if (is(FileType::Q3_K_M)) return TensorType::Q4_K;
        if (is(FileType::Q3_K_L)) return TensorType::Q5_K;
        return base;
    }

    TensorType ffn_down(std::string_view name) {
        const TensorType base = options_.scheme.base;
        const int64_t n = model_.n_layer;
        // Experts' tensors do not come in the layers' order, so there the name says the layer.
        const int64_t counted = i_down_++;
        const int64_t i = model_.n_expert > 1 ? block_number(name) : counted;
        if (i < 0 || (model_.n_expert > 1 && i >= n))
            throw ShapeError(fmt::format("tensor '{}' names no layer of the model's {}", name, n));
        const bool first_eighth = i < n / 8;
        if (is(FileType::Q2_K)) return TensorType::Q3_K;
        if (is(FileType::Q2_K_S)) return first_eighth ? TensorType::Q4_K : base;
        if (is(FileType::Q3_K_M)) {
            if (i < n / 16) return TensorType::Q5_K;
            return !is_falcon() || more_bits(i, n) ? TensorType::Q4_K : TensorType::Q3_K;
        }
        if (is(FileType::Q3_K_L)) return is_falcon() ? TensorType::Q4_K : TensorType::Q5_K;
        if (is(FileType::Q4_K_M)) {
            if (!is_falcon()) return more_bits(i, n) ? TensorType::Q6_K : base;
            return i < n / 16 ? TensorType::Q6_K : more_bits(i, n) ? TensorType::Q5_K : TensorType::Q4_K;
        }
        if (is(FileType::IQ4_NL) || is(FileType::IQ4_XS))
            return first_eighth && !options_.has_importance ? TensorType::Q5_K : base;
        if (is(FileType::Q5_K_M)) return more_bits(i, n) ? TensorType::Q6_K : base;
        if (is(FileType::Q4_K_S)) return first_eighth && !is_falcon() ? TensorType::Q5_K : base;
        // With importance weights the first layers' FFN-down can go astray in a type without a minimum.
        if (options_.has_importance && first_eighth) {
            if (is(FileType::Q4_0)) return TensorType::Q4_1;
            if (is(FileType::Q5_0)) return TensorType::Q5_1;
        }
        return base;
    }

    const ModelFacts& model_;
    const PlanOptions& options_;
    bool tied_ = true;
    bool is_70b_ = false;
    int64_t n_v_ = 0;
    int64_t i_v_ = 0, i_down_ = 0;
};

std::optional<size_t> find_override(const PlanOptions& options, const std::string& name) {
    for (size_t i = 0; i < options.overrides.size(); ++i)
        if (std::regex_search(name, options.overrides[i].pattern)) return i;
    return std::nullopt;
}

void check_rows(const TensorFacts& tensor, TensorType type) {
    const uint32_t block = gguf::block_size(type);
    if (tensor.ne[0] % block == 0) return;
    throw ShapeError(fmt::format("tensor '{}' has rows of {} values; the type asked for, {}, needs a multiple of {}",
                                 tensor.name, tensor.ne[0], gguf::type_name(type), block));
}

PlannedTensor plan_tensor(const TensorFacts& tensor, const PlanOptions& options, Mixture& mixture) {
    const TensorType base = options.scheme.base;
    const Role role = role_of(tensor.name);
    // Every number becomes an f32 but those that count or index.
    if (options.scheme.file_type == FileType::F32) {
        const bool counts = is_integer_type(tensor.type);
        return {counts ? tensor.type : TensorType::F32, counts ? Choice::Kept : Choice::Base};
    }
    if (!may_encode(tensor, options.quantize_output)) return {tensor.type, Choice::Kept};

    // These two are taken at their word, before any rule.
    const std::optional<size_t> override = find_override(options, tensor.name);
    const bool named_table = override && tensor.name == "per_layer_token_embd.weight";
    if (role == Role::TokenEmbedding && options.token_embedding_type && !named_table) {
        check_rows(tensor, *options.token_embedding_type);
        return {*options.token_embedding_type, Choice::Option};
    }
    if (role == Role::Output && options.output_type) {
        check_rows(tensor, *options.output_type);
        return {*options.output_type, Choice::Option};
    }
    if (!is_block_type(base)) return {base, Choice::Base};

    Choice choice = Choice::Base;
    TensorType type = base;
    if (override) {
        type = options.overrides[*override].type;
        choice = Choice::Option;
    } else if (!options.scheme.pure) {
        type = mixture.choose(tensor, role);
        if (type != base) choice = mixture.is_output(role) && options.output_type ? Choice::Option : Choice::Rule;
    }
    const TensorType fitting = fallback(type, tensor.ne[0]);
    if (fitting != type) choice = Choice::Demoted;
    return {.type = fitting, .choice = choice, .override_index = override};
}

}  // namespace

std::regex tensor_name_pattern(std::string text) {
    for (char& c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
    auto flags = std::regex::ECMAScript;
#ifdef __GLIBCXX__
    flags |= std::regex_constants::__polynomial;  // else it backtracks, and (.*)*(.*)*Z takes longer than anyone waits
#endif
    return std::regex(text, flags);
}

bool reference_order(std::string_view a, std::string_view b) {
    const int64_t block_a = block_number(a), block_b = block_number(b);
    return block_a != block_b ? block_a < block_b : a < b;
}

std::vector<PlannedTensor> plan(const ModelFacts& model, std::span<const TensorFacts> tensors,
                                const PlanOptions& options) {
    Mixture mixture(model, tensors, options);
    std::vector<PlannedTensor> planned;
    planned.reserve(tensors.size());
    for (const TensorFacts& tensor : tensors) {
        PlannedTensor choice = plan_tensor(tensor, options, mixture);
        const Role role = role_of(tensor.name);
        choice.needs_importance = choice.choice != Choice::Kept && choice.type == TensorType::Q2_K &&
                                  options.scheme.file_type == FileType::Q2_K_S && role != Role::Output &&
                                  role != Role::TokenEmbedding;
        planned.push_back(choice);
    }
    return planned;
}

}  // namespace minfer::quant
