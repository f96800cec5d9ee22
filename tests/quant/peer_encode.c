// peer_encode LIBRARY <REQUESTS >BYTES: ggml_quantize_chunk of a llama.cpp library as a filter, for a library of
// another machine under its emulator. A request is five int64 (type, rows, row length, whether importance follows,
// bytes of the result), the values and the importance of one row as float32, all as this machine lays them out.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef size_t (*quantize_chunk)(int, const float*, void*, int64_t, int64_t, int64_t, const float*);

static float* read_floats(int64_t n) {
    float* x = malloc((size_t)n * sizeof *x);
    if (x == NULL || fread(x, sizeof *x, (size_t)n, stdin) != (size_t)n) exit(2);
    return x;
}

int main(int argc, char** argv) {
    void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (library == NULL) {
        fprintf(stderr, "peer_encode: %s\n", argc == 2 ? dlerror() : "one argument, the library");
        return 2;
    }
    const quantize_chunk quantize = (quantize_chunk)dlsym(library, "ggml_quantize_chunk");
    if (quantize == NULL) return 2;
    int64_t request[5];
    while (fread(request, sizeof request[0], 5, stdin) == 5) {
        float* values = read_floats(request[1] * request[2]);
        float* importance = request[3] ? read_floats(request[2]) : NULL;
        void* out = calloc(1, (size_t)request[4]);
        const size_t n = quantize((int)request[0], values, out, 0, request[1], request[2], importance);
        if (n != (size_t)request[4] || fwrite(out, 1, n, stdout) != n) return 3;
        free(values);
        free(importance);
        free(out);
    }
    return fflush(stdout) == 0 ? 0 : 3;
}
