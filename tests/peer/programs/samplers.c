// samplers CASES OUT [MODEL]: what the peer's samplers leave of some logits. MODEL, for its vocabulary alone, is needed
// by DRY. A case: u32 kind; u32 n, f32[n] parameters; u32 n, i32[n] tokens accepted before; u32 n, f32[n] logits by id.
// Its result: u32 n, then n times i32 id, f32 logit, f32 probability among those left.
#include <stdint.h>
#include "load.h"

enum { PENALTIES, DRY, TOP_N_SIGMA, TOP_K, TYPICAL, TOP_P, MIN_P, XTC, TEMPERATURE, DYNAMIC_TEMPERATURE, MIROSTAT, BIAS };

static FILE *in;

static void *array(uint32_t *n) {
    if (fread(n, 4, 1, in) != 1) fprintf(stderr, "a case is cut short\n"), exit(1);
    void *data = malloc(4 * (size_t)*n + 4);
    if (fread(data, 4, *n, in) != *n) fprintf(stderr, "a case is cut short\n"), exit(1);
    return data;
}

static struct llama_sampler *make(uint32_t kind, const float *p, uint32_t n_params, int32_t n_vocab, const struct llama_vocab *vocab) {
    static const char *breakers[] = {"\n", ":", "\"", "*"};
    switch (kind) {
        case PENALTIES: return llama_sampler_init_penalties(n_vocab, (int32_t)p[0], p[1], p[2], p[3]);
        case DRY: return llama_sampler_init_dry(vocab, p[0], p[1], (int32_t)p[2], (int32_t)p[3], breakers, 4);
        case TOP_N_SIGMA: return llama_sampler_init_top_n_sigma(p[0]);
        case TOP_K: return llama_sampler_init_top_k((int32_t)p[0]);
        case TYPICAL: return llama_sampler_init_typical(p[0], 0);
        case TOP_P: return llama_sampler_init_top_p(p[0], 0);
        case MIN_P: return llama_sampler_init_min_p(p[0], 0);
        case XTC: return llama_sampler_init_xtc(p[0], p[1], 0, 1);
        case TEMPERATURE: return llama_sampler_init_temp(p[0]);
        case DYNAMIC_TEMPERATURE: return llama_sampler_init_temp_ext(p[0], p[1], p[2]);
        case MIROSTAT: return llama_sampler_init_mirostat_v2(1, p[0], p[1]);
        case BIAS: {
            llama_logit_bias biases[64];
            for (uint32_t i = 0; i + 1 < n_params && i < 128; i += 2) biases[i / 2] = (llama_logit_bias){(llama_token)p[i], p[i + 1]};
            return llama_sampler_init_logit_bias(n_vocab, (int32_t)(n_params / 2), biases);
        }
    }
    fprintf(stderr, "no sampler %u\n", kind);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: samplers CASES OUT [MODEL]\n"), 2;
    llama_log_set(peer_quiet, NULL);
    const struct llama_vocab *vocab = argc > 3 ? llama_model_get_vocab(peer_load_vocab(argv[3])) : NULL;
    in = fopen(argv[1], "rb");
    FILE *out = fopen(argv[2], "wb");
    if (!in || !out) return fprintf(stderr, "cannot open %s or %s\n", argv[1], argv[2]), 1;
    for (uint32_t kind; fread(&kind, 4, 1, in) == 1;) {
        uint32_t n_params, n_tokens, n;
        float *params = array(&n_params);
        int32_t *tokens = array(&n_tokens);
        float *logits = array(&n);
        llama_token_data *data = malloc(n * sizeof *data);
        for (uint32_t i = 0; i < n; i++) data[i] = (llama_token_data){(llama_token)i, logits[i], 0};
        llama_token_data_array candidates = {data, n, -1, false};
        struct llama_sampler *sampler = make(kind, params, n_params, (int32_t)n, vocab), *draw = llama_sampler_init_dist(1);
        for (uint32_t i = 0; i < n_tokens; i++) llama_sampler_accept(sampler, tokens[i]);
        llama_sampler_apply(sampler, &candidates);
        llama_sampler_apply(draw, &candidates);  // for the probabilities
        uint32_t left = (uint32_t)candidates.size;
        fwrite(&left, 4, 1, out);
        for (uint32_t i = 0; i < left; i++) {
            fwrite(&candidates.data[i].id, 4, 1, out);
            fwrite(&candidates.data[i].logit, 4, 1, out);
            fwrite(&candidates.data[i].p, 4, 1, out);
        }
        llama_sampler_free(sampler);
        llama_sampler_free(draw);
        free(data), free(params), free(tokens), free(logits);
    }
    return fclose(out) != 0;
}
