// grammar MODEL GRAMMAR SEQUENCES OUT: the tokens that the peer allows under a grammar, at the start of each sequence
// (u32 n, i32[n] ids; repeated) and after each of its tokens: a bit a token of the vocabulary, in whole bytes. The model
// is loaded for its vocabulary alone. Exits with 3 where the peer does not take the grammar.
#include <stdint.h>
#include "load.h"

static char *whole_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) fprintf(stderr, "cannot open %s\n", path), exit(1);
    static char text[1 << 20];
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

int main(int argc, char **argv) {
    if (argc < 5) return fprintf(stderr, "usage: grammar MODEL GRAMMAR SEQUENCES OUT\n"), 2;
    struct llama_model *model = peer_load_vocab(argv[1]);
    const struct llama_vocab *vocab = llama_model_get_vocab(model);
    const int32_t n_vocab = llama_vocab_n_tokens(vocab);
    const char *text = whole_file(argv[2]);
    FILE *in = fopen(argv[3], "rb"), *out = fopen(argv[4], "wb");
    if (!in || !out) return fprintf(stderr, "cannot open %s or %s\n", argv[3], argv[4]), 1;
    llama_token_data *data = malloc((size_t)n_vocab * sizeof *data);
    unsigned char *bits = malloc((size_t)n_vocab / 8 + 1);
    for (uint32_t n; fread(&n, 4, 1, in) == 1;) {
        struct llama_sampler *grammar = llama_sampler_init_grammar(vocab, text, "root");
        if (!grammar) return 3;
        for (uint32_t step = 0; step <= n; step++) {
            for (int32_t id = 0; id < n_vocab; id++) data[id] = (llama_token_data){id, 0, 0};
            llama_token_data_array candidates = {data, (size_t)n_vocab, -1, false};
            llama_sampler_apply(grammar, &candidates);
            for (int32_t i = 0; i <= n_vocab / 8; i++) bits[i] = 0;
            for (int32_t id = 0; id < n_vocab; id++)
                if (data[id].logit == 0) bits[id / 8] |= (unsigned char)(1 << id % 8);
            fwrite(bits, 1, (size_t)(n_vocab + 7) / 8, out);
            int32_t token;
            if (step < n) {
                if (fread(&token, 4, 1, in) != 1) return fprintf(stderr, "a sequence is cut short\n"), 1;
                llama_sampler_accept(grammar, token);
            }
        }
        llama_sampler_free(grammar);
    }
    return fclose(out) != 0;
}
