// tokenize MODEL TEXTS OUT: the peer's ids of each text (u32 length, bytes; repeated), as records for
// tests/tokenizer/records.h: "E" with and without special tokens, and "P", the bytes of each token of the vocabulary.
#include <stdint.h>
#include <string.h>
#include "load.h"

static void put_u32(FILE *out, uint32_t value) { fwrite(&value, 4, 1, out); }
static void put_bytes(FILE *out, const char *bytes, uint32_t n) {
    put_u32(out, n);
    fwrite(bytes, 1, n, out);
}

int main(int argc, char **argv) {
    if (argc < 4) return fprintf(stderr, "usage: tokenize MODEL TEXTS OUT\n"), 2;
    struct llama_model *model = peer_load_vocab(argv[1]);
    const struct llama_vocab *vocab = llama_model_get_vocab(model);
    FILE *in = fopen(argv[2], "rb"), *out = fopen(argv[3], "wb");
    if (!in || !out) return fprintf(stderr, "cannot open %s or %s\n", argv[2], argv[3]), 1;

    enum { kMaxBytes = 1 << 22 };
    char *text = malloc(kMaxBytes);
    llama_token *ids = malloc(kMaxBytes * sizeof *ids);
    for (uint32_t n; fread(&n, 4, 1, in) == 1;) {
        if (n > kMaxBytes - 8 || fread(text, 1, n, in) != n) return fprintf(stderr, "a text is cut short\n"), 1;
        for (uint32_t special = 0; special < 2; special++) {
            int32_t count = llama_tokenize(vocab, text, (int32_t)n, ids, kMaxBytes, special, special);
            if (count < 0) return fprintf(stderr, "too many ids\n"), 1;
            fputc('E', out);
            put_u32(out, special);
            put_u32(out, special);
            put_bytes(out, text, n);
            put_u32(out, (uint32_t)count);
            fwrite(ids, sizeof *ids, (size_t)count, out);
        }
    }
    for (llama_token id = 0; id < llama_vocab_n_tokens(vocab); id++) {
        int32_t n = llama_token_to_piece(vocab, id, text, kMaxBytes, 0, true);
        fputc('P', out);
        put_u32(out, (uint32_t)id);
        put_bytes(out, text, (uint32_t)n);
    }
    return fclose(out) != 0;
}
