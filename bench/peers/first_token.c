// first_token MODEL PROMPT [THREADS=2]: starts, loads, reads the prompt, prints the most likely next token, ends.
#include <string.h>
#include "load.h"

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: first_token MODEL PROMPT [THREADS]\n"), 2;
    struct llama_model *model = peer_load(argv[1]);
    const struct llama_vocab *vocab = llama_model_get_vocab(model);
    llama_token tokens[4096];
    int n = llama_tokenize(vocab, argv[2], (int)strlen(argv[2]), tokens, 4096, true, true);
    if (n <= 0) return fprintf(stderr, "cannot tokenize the prompt\n"), 1;
    struct llama_context *context = peer_context(model, 512, 512, argc > 3 ? atoi(argv[3]) : 2);
    if (llama_decode(context, llama_batch_get_one(tokens, n))) return 1;
    const float *logits = llama_get_logits_ith(context, -1);
    int best = 0;
    for (int i = 1; i < llama_vocab_n_tokens(vocab); i++)
        if (logits[i] > logits[best]) best = i;
    char piece[256];
    int length = llama_token_to_piece(vocab, best, piece, sizeof piece, 0, false);
    printf("%.*s", length > 0 ? length : 0, piece);
    fprintf(stderr, "%d tokens\n", n);
    return 0;
}
