// Writes a model of a few kilobytes whose tokens are bytes, for tests in Python: write_tiny_file OUT.gguf
#include "model/tiny_file.h"

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    minfer::test::TinyFile file = minfer::test::tiny_file("llama", {.n_vocab = 258});
    minfer::test::add_byte_tokenizer(file);
    file.set("llama.context_length", minfer::gguf::Value::scalar(uint32_t(1 << 20)));
    file.set("tokenizer.chat_template",
             minfer::gguf::Value::string("{% for m in messages %}{{ m.content }}\n{% endfor %}"));
    file.write(argv[1]);
}
