// What Engine refuses, and that a refusal leaves it as it was.
#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "engine/scoped_environment.h"
#include "model/tiny_file.h"
#include "support/support.h"

namespace minfer::engine {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class EngineTest : public testing::Test {
  protected:
    std::string write(const std::string& architecture = "llama") {
        const std::string path = folder_ / "model.gguf";
        test::tiny_file(architecture).write(path);
        return path;
    }

    static Batch batch(std::initializer_list<TokenId> ids, bool all_logits = true) {
        Batch b;
        for (const TokenId id : ids) b.push_back({id, 0, all_logits});
        return b;
    }

    static std::vector<float> logits(Engine& engine, const Batch& b) {
        std::vector<float> out;
        engine.run(b, [&](const Engine::Logits& l) { out.insert(out.end(), l.values.begin(), l.values.end()); });
        return out;
    }

    test::TemporaryFolder folder_;
};

TEST_F(EngineTest, RefusesTokensThatAreNone) {
    Engine engine(write(), {.n_ctx = 4, .n_threads = 1});
    EXPECT_THAT([&] { logits(engine, {}); }, ThrowsMessage<ShapeError>("no tokens to run"));
    EXPECT_THAT([&] { logits(engine, batch({1, 40})); },
                ThrowsMessage<ShapeError>("token id 40 is outside the vocabulary: expected 0 to 39"));
    EXPECT_THAT([&] { logits(engine, batch({-1})); }, ThrowsMessage<ShapeError>(HasSubstr("token id -1")));
    EXPECT_THAT([&] { logits(engine, {{1, 1, true}}); },
                ThrowsMessage<ShapeError>("found sequence 1, expected 0 to 0"));
    EXPECT_EQ(engine.sequences().length(0), 0);
}

TEST_F(EngineTest, AFullContextIsAnErrorThatChangesNothing) {
    Engine engine(write(), {.n_ctx = 4, .n_threads = 1});
    logits(engine, batch({1, 2, 3}));
    EXPECT_THAT(
        [&] { logits(engine, batch({4, 5})); },
        ThrowsMessage<ShapeError>(HasSubstr("the context is full: 3 of its 4 tokens are taken, and 2 more came")));
    EXPECT_EQ(engine.sequences().length(0), 3);
    const std::vector<float> after = logits(engine, batch({4}));
    Engine fresh(write(), {.n_ctx = 4, .n_threads = 1});
    const std::vector<float> all = logits(fresh, batch({1, 2, 3, 4}));
    EXPECT_EQ(after, std::vector<float>(all.end() - 40, all.end()));
}

TEST_F(EngineTest, TruncatedSequencesGoOnFromThere) {
    Engine engine(write(), {.n_ctx = 8, .n_threads = 1});
    logits(engine, batch({1, 2, 3, 4, 5}));
    engine.sequences().truncate(0, 2);
    const std::vector<float> after = logits(engine, batch({9}));
    Engine fresh(write(), {.n_ctx = 8, .n_threads = 1});
    const std::vector<float> all = logits(fresh, batch({1, 2, 9}));
    EXPECT_EQ(after, std::vector<float>(all.end() - 40, all.end()));
}

TEST_F(EngineTest, CellsThatNoBackendKeepsAreRefusedByName) {
    const std::string path = write();  // heads of 8 values
    EXPECT_THAT([&] { Engine(path, {.n_threads = 1, .cell_type = kv::CellType::Q8_0}); },
                ThrowsMessage<UnsupportedError>(
                    testing::AllOf(HasSubstr("over q8_0 cells in heads of 8 values"), HasSubstr("asked: cpu"))));
    const test::ScopedEnvironment environment("MINFER_CACHE_TYPE", "q8_0");
    EXPECT_THROW(Engine(path, {.n_threads = 1}), UnsupportedError);
    EXPECT_NO_THROW(Engine(path, {.n_threads = 1, .cell_type = kv::CellType::F16}));
    const test::ScopedEnvironment wrong("MINFER_CACHE_TYPE", "q9");
    EXPECT_THAT([&] { Engine(path, {.n_threads = 1}); },
                ThrowsMessage<UsageError>("MINFER_CACHE_TYPE: found 'q9', expected f32, f16 or q8_0"));
}

TEST_F(EngineTest, SequencesThatShareAPrefixGoOnAsIfEachHadItsOwn) {
    Engine engine(write(), {.n_ctx = 12, .n_sequence = 3, .n_threads = 1});
    logits(engine, batch({1, 2, 3, 4, 5}));
    engine.sequences().share(0, 1, 3);
    engine.sequences().share(0, 2, 5);
    EXPECT_EQ(engine.sequences().n_free(), 7);
    const std::vector<float> mixed = logits(engine, {{9, 1, true}, {7, 0, true}, {8, 2, true}});
    const auto fresh = [&](std::initializer_list<TokenId> ids) {
        Engine other(write(), {.n_ctx = 12, .n_threads = 1});
        const std::vector<float> all = logits(other, batch(ids));
        return std::vector<float>(all.end() - 40, all.end());
    };
    EXPECT_EQ(std::vector<float>(mixed.begin(), mixed.begin() + 40), fresh({1, 2, 3, 9}));
    EXPECT_EQ(std::vector<float>(mixed.begin() + 40, mixed.begin() + 80), fresh({1, 2, 3, 4, 5, 7}));
    EXPECT_EQ(std::vector<float>(mixed.begin() + 80, mixed.end()), fresh({1, 2, 3, 4, 5, 8}));
    engine.sequences().remove(0);
    engine.compact();
    EXPECT_EQ(engine.sequences().n_free(), 12 - 7);
    EXPECT_EQ(logits(engine, {{6, 2, true}}), fresh({1, 2, 3, 4, 5, 8, 6})) << "after compaction";
    EXPECT_EQ(logits(engine, {{6, 1, true}}), fresh({1, 2, 3, 9, 6}));
}

// In the first layer a key depends on its token and position alone, so a key turned back is the one of the new position
// but for the rounding.
TEST_F(EngineTest, AShiftTurnsKeysBack) {
    for (const char* architecture : {"llama", "qwen2", "qwen3"}) {
        const std::string path = write(architecture);
        Engine engine(path, {.n_ctx = 40, .n_sequence = 2, .n_threads = 1}), fresh(path, {.n_ctx = 40, .n_threads = 1});
        logits(engine, batch({1, 2, 3, 4, 5, 6, 7, 8}));
        engine.sequences().share(0, 1, 8);
        logits(fresh, batch({1, 2, 6, 7, 8}));
        engine.shift(0, 2, 3);
        EXPECT_EQ(engine.sequences().length(0), 5);
        const auto keys = [](Engine& e, SequenceId s) {
            const kv::Layout& layout = e.scheduler().layout();
            const std::span<const int32_t> cells = e.sequences().cells(s);
            std::vector<float> out(cells.size() * layout.n_head_kv * layout.head_dim_k);
            e.scheduler().read_cells(0, runtime::Scheduler::KvPart::Keys, cells,
                                     std::as_writable_bytes(std::span(out)));
            return out;
        };
        const std::vector<float> found = keys(engine, 0), expected = keys(fresh, 0);
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << architecture << " " << i;
        // The sequence that shared the cells has its own bits still.
        const std::vector<float> after = logits(engine, {{9, 1, true}});
        Engine whole(path, {.n_ctx = 40, .n_threads = 1});
        const std::vector<float> all = logits(whole, batch({1, 2, 3, 4, 5, 6, 7, 8, 9}));
        EXPECT_EQ(after, std::vector<float>(all.end() - 40, all.end()));
    }
}

TEST_F(EngineTest, ShiftsThatAreRefused) {
    const std::string path = write();
    Engine packed(path, {.n_ctx = 8, .n_threads = 1, .cell_type = kv::CellType::F16});
    logits(packed, batch({1, 2, 3}));
    EXPECT_THAT([&] { packed.shift(0, 0, 1); }, ThrowsMessage<UnsupportedError>(HasSubstr("shift: f16 cells")));
    Engine engine(path, {.n_ctx = 8, .n_sequence = 2, .n_threads = 1});
    logits(engine, batch({1, 2, 3, 4, 5}));
    EXPECT_THAT([&] { engine.shift(0, 3, 3); },
                ThrowsMessage<ShapeError>("shift: found 3 positions from 3 of sequence 0, which holds 5"));
    EXPECT_THROW(engine.shift(0, -1, 1), ShapeError);
    engine.sequences().share(0, 1, 5);
    EXPECT_THAT([&] { engine.shift(0, 0, 1); }, ThrowsMessage<ShapeError>(HasSubstr("4 cells to be copied")));
    EXPECT_EQ(engine.sequences().length(0), 5);
}

TEST_F(EngineTest, GivesTheRowsThatWereAskedFor) {
    Engine engine(write(), {.n_ctx = 200, .n_batch = 50, .n_threads = 1});
    Batch b;
    std::vector<size_t> wanted;
    for (size_t i = 0; i < 190; ++i) {
        b.push_back({TokenId(i % 40), 0, i % 3 != 1});
        if (i % 3 != 1) wanted.push_back(i);
    }
    std::vector<size_t> rows;
    engine.run(b, [&](const Engine::Logits& l) {
        EXPECT_LE(l.rows.size(), kMaxOutputRows);
        EXPECT_EQ(l.values.size(), l.rows.size() * 40);
        rows.insert(rows.end(), l.rows.begin(), l.rows.end());
    });
    EXPECT_EQ(rows, wanted);
    engine.sequences().clear();
    engine.run(batch({1, 2, 3}, false), [&](const Engine::Logits&) { ADD_FAILURE() << "nobody asked"; });
}

TEST_F(EngineTest, ATokenizerMadeAheadIsTheSameAndSoAreItsErrors) {
    const std::string path = folder_ / "with_tokenizer.gguf";
    test::TinyShape shape;
    shape.n_vocab = 258;
    test::TinyFile file = test::tiny_file("llama", shape);
    test::add_byte_tokenizer(file);
    file.write(path);
    Engine later(path, {.n_threads = 2}), ahead(path, {.n_threads = 2, .texts = true});
    EXPECT_EQ(ahead.tokenizer().encode("hello, world"), later.tokenizer().encode("hello, world"));
    EXPECT_EQ(&ahead.tokenizer(), &ahead.tokenizer());
    {
        const Engine never_asked(path, {.n_threads = 2, .texts = true});
    }

    file.set("tokenizer.ggml.model", gguf::Value::string("spm"));
    file.write(path);
    Engine without(path, {.n_threads = 2, .texts = true});
    for (int i = 0; i < 2; ++i)
        EXPECT_THAT([&] { without.tokenizer(); }, ThrowsMessage<UnsupportedError>(HasSubstr("unsupported tokenizer")));
    file.set("general.architecture", gguf::Value::string("other"));
    file.write(path);
    EXPECT_THROW(Engine(path, {.n_threads = 2, .texts = true}), UnsupportedError);
}

TEST_F(EngineTest, NaNLogitsNameTheToken) {
    // An embedding that is infinite makes NaN of whatever follows it.
    const std::string path = write();
    std::string bytes = test::read_file(path);
    const gguf::Gguf file = gguf::Gguf::open(path);
    const float infinity = std::numeric_limits<float>::infinity();
    const uint64_t row = file.tensor("token_embd.weight").offset + 7 * 32 * sizeof(float);
    bytes.replace(size_t(row), sizeof infinity, reinterpret_cast<const char*>(&infinity), sizeof infinity);
    test::write_file(path, bytes);
    Engine engine(path, {.n_ctx = 8, .n_threads = 1});
    EXPECT_THAT([&] { logits(engine, batch({1, 2, 7, 3})); },
                ThrowsMessage<Error>(HasSubstr("the logits of the token at position 2 of sequence 0 (id 7) are NaN")));
    EXPECT_EQ(engine.sequences().length(0), 0);
}

TEST_F(EngineTest, RefusesOptionsByName) {
    const std::string path = write();
    EXPECT_THAT([&] { Engine(path, {.n_batch = 0}); }, ThrowsMessage<UsageError>(HasSubstr("batch size: found 0")));
    EXPECT_THAT([&] { Engine(path, {.n_ctx = size_t(1) << 40}); },
                ThrowsMessage<UsageError>(HasSubstr("context size")));
    EXPECT_THAT([&] { Engine(path, {.n_sequence = 0}); }, ThrowsMessage<UsageError>(HasSubstr("sequences: found 0")));
    EXPECT_THROW(Engine(path, {.n_threads = -1}), UsageError);
    EXPECT_THROW(Engine((folder_ / "absent.gguf").string(), {}), IoError);
}

// A prefill's graphs, the first decode step's, and no other however long it goes on.
TEST_F(EngineTest, DecodeStepsReuseOneGraph) {
    Engine engine(write("qwen3"), {.n_ctx = 300, .n_threads = 1});
    logits(engine, batch({1, 2, 3}));
    for (int i = 0; i < 200; ++i) logits(engine, batch({TokenId(i % 40)}));
    EXPECT_EQ(engine.scheduler().statistics().n_build, 2u);
    EXPECT_EQ(engine.scheduler().statistics().n_run, 201u);
}

}  // namespace
}  // namespace minfer::engine
