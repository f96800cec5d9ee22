// Sessions on disk: whole ones give every bit back, and whatever is done to a file is found out.
#include "engine/session_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "base/error.h"
#include "base/sha256.h"
#include "engine/model_identity.h"
#include "model/tiny_file.h"
#include "support/support.h"

namespace minfer::engine {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr size_t kHeaderBytes = 312;

class SessionFile : public testing::Test {
  protected:
    SessionFile() {
        test::tiny_file("llama", kShape).write(model());
        engine_ = open();
        identity_ = model_identity(engine_->file(), engine_->threads());
        for (TokenId i = 0; i < 20; ++i) tokens_.push_back(i * 7 % 40);
        logits(*engine_, tokens_);
        // Cells in no order: what is written must follow the sequence.
        engine_->sequences().truncate(0, 5);
        logits(*engine_, {tokens_[5]}, 1);
        logits(*engine_, {tokens_.begin() + 5, tokens_.end()});
        save_session(path(), *engine_, 0, identity_, "the text", tokens_);
        expected_ = logits(*engine_, {11});
        bytes_ = test::read_file(path());
    }

    static constexpr test::TinyShape kShape = {.head_dim = 32};

    fs::path model() const { return folder_ / "model.gguf"; }
    std::string path() const { return folder_ / "session"; }

    std::unique_ptr<Engine> open(size_t n_ctx = 64, kv::CellType cells = kv::CellType::F32) const {
        return std::make_unique<Engine>(
            model().string(), EngineOptions{.n_ctx = n_ctx, .n_sequence = 2, .n_threads = 1, .cell_type = cells});
    }

    // Of the last of these tokens.
    static std::vector<float> logits(Engine& engine, const std::vector<TokenId>& ids, SequenceId sequence = 0) {
        Batch batch;
        for (const TokenId id : ids) batch.push_back({id, sequence, false});
        batch.back().wants_logits = true;
        std::vector<float> out;
        engine.run(batch, [&](const Engine::Logits& l) { out.assign(l.values.begin(), l.values.end()); });
        return out;
    }

    // What these bytes give; the engine's sequence is empty before.
    LoadedSession load(const std::string& bytes, Engine& engine) const {
        const std::string other = folder_ / "other";
        test::write_file(other, bytes);
        engine.sequences().clear();
        return load_session(other, engine, 0, identity_).value();
    }

    test::TemporaryFolder folder_;
    std::unique_ptr<Engine> engine_;
    std::string identity_;
    std::vector<TokenId> tokens_;
    std::vector<float> expected_;  // after one more token
    std::string bytes_;
};

TEST_F(SessionFile, GivesEveryBitBack) {
    const std::unique_ptr<Engine> engine = open(30);
    logits(*engine, {1, 2, 3}, 1);  // so that the cells are others
    const std::optional<LoadedSession> loaded = load_session(path(), *engine, 0, identity_);
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->problem, "");
    EXPECT_EQ(loaded->text, "the text");
    EXPECT_EQ(loaded->tokens, tokens_);
    EXPECT_EQ(logits(*engine, {11}), expected_);
    engine->sequences().truncate(0, 20);
    save_session(path(), *engine, 0, identity_, "the text", tokens_);
    EXPECT_EQ(test::read_file(path()), bytes_) << "the same file";
    EXPECT_FALSE(load_session(folder_ / "absent", *engine, 1, identity_));
    EXPECT_THROW(save_session(path(), *engine, 0, identity_, "", std::vector<TokenId>{1}), ShapeError);
    EXPECT_THROW(save_session("/no/such/folder/x", *engine, 0, identity_, "", tokens_), IoError);
}

TEST_F(SessionFile, HoldsCellsOfEveryType) {
    for (const kv::CellType type : {kv::CellType::F16, kv::CellType::Q8_0}) {
        const std::unique_ptr<Engine> first = open(64, type), second = open(64, type);
        logits(*first, tokens_);
        save_session(path(), *first, 0, identity_, "", tokens_);
        EXPECT_LT(test::read_file(path()).size(), bytes_.size());
        EXPECT_EQ(test::read_file(path())[12], type == kv::CellType::F16 ? 1 : 3) << "2 is of cells without rotation";
        EXPECT_EQ(load_session(path(), *second, 0, identity_)->problem, "");
        EXPECT_EQ(logits(*second, {11}), logits(*first, {11}));
        second->sequences().clear();
        EXPECT_EQ(load(bytes_, *second).problem,
                  "its cells are f32, those of this run " + std::string(kv::type_name(type)));
    }
}

TEST_F(SessionFile, AnEmptyOne) {
    const std::unique_ptr<Engine> engine = open();
    save_session(path(), *engine, 0, identity_, "", {});
    EXPECT_EQ(fs::file_size(path()), kHeaderBytes);
    const std::optional<LoadedSession> loaded = load_session(path(), *engine, 0, identity_);
    EXPECT_EQ(loaded->problem, "");
    EXPECT_THAT(loaded->tokens, testing::IsEmpty());
}

TEST_F(SessionFile, OfAnotherModelOrASmallerContext) {
    const std::unique_ptr<Engine> small = open(19);
    EXPECT_EQ(load(bytes_, *small).problem, "it holds 20 tokens, more than the context of 19");
    const std::string whole = identity_;
    identity_[5] = identity_[5] == '0' ? '1' : '0';
    const LoadedSession other = load(bytes_, *engine_);
    EXPECT_EQ(other.problem, "it is of another model");
    EXPECT_EQ(other.text, "the text");
    EXPECT_THAT(other.tokens, testing::IsEmpty());
    EXPECT_EQ(engine_->sequences().length(0), 0);
}

TEST_F(SessionFile, IdentityTellsModelsApart) {
    const auto identity = [&](auto change) {
        test::TinyFile f = test::tiny_file("llama", kShape);
        change(f);
        f.write(folder_ / "changed.gguf");
        ThreadPool threads(2);
        return model_identity(gguf::Gguf::open(folder_ / "changed.gguf"), threads);
    };
    EXPECT_EQ(identity([](test::TinyFile&) {}), identity_);
    EXPECT_EQ(identity([](test::TinyFile& f) { f.set("general.name", gguf::Value::string("a name")); }), identity_);
    EXPECT_NE(identity([](test::TinyFile& f) { f.set("llama.rope.freq_base", gguf::Value::scalar(1e5f)); }), identity_);
    EXPECT_NE(identity([](test::TinyFile& f) { f.tensors["output_norm.weight"].type = gguf::TensorType::F16; }),
              identity_);
    std::string bytes = test::read_file(model());
    bytes.back() ^= 1;
    test::write_file(folder_ / "bit.gguf", bytes);
    ThreadPool threads(1);
    EXPECT_NE(model_identity(gguf::Gguf::open(folder_ / "bit.gguf"), threads), identity_);
}

// Whatever happens to a file: an error, or the whole text and a problem with the rest, and a sequence left empty.
class HostileSession : public SessionFile {
  protected:
    enum class Outcome { Error, TextAlone, Whole };

    Outcome outcome(const std::string& bytes) {
        try {
            const LoadedSession loaded = load(bytes, *engine_);
            EXPECT_EQ(loaded.text, "the text");
            if (loaded.problem.empty()) return Outcome::Whole;
            EXPECT_THAT(loaded.tokens, testing::IsEmpty());
            EXPECT_EQ(engine_->sequences().length(0), 0);
            return Outcome::TextAlone;
        } catch (const FormatError& e) {
            EXPECT_THAT(e.what(), HasSubstr("other: "));
        } catch (const UnsupportedError& e) {
            EXPECT_THAT(e.what(), HasSubstr("a session of version"));
        }
        EXPECT_EQ(engine_->sequences().length(0), 0);
        return Outcome::Error;
    }
};

TEST_F(HostileSession, CutAnywhere) {
    const size_t text_end = kHeaderBytes + 8;
    for (size_t n = 0; n < bytes_.size(); n = n < text_end + 90 ? n + 1 : n + 97)
        EXPECT_EQ(outcome(bytes_.substr(0, n)), n < text_end ? Outcome::Error : Outcome::TextAlone) << n;
    EXPECT_EQ(outcome(bytes_), Outcome::Whole);
    EXPECT_EQ(outcome(bytes_ + "x"), Outcome::TextAlone) << "and longer";
    EXPECT_THAT([&] { load("", *engine_); }, ThrowsMessage<FormatError>(HasSubstr("start: found other bytes")));
    EXPECT_THAT([&] { load(bytes_.substr(0, 100), *engine_); },
                ThrowsMessage<FormatError>(HasSubstr("header: found 100 bytes, expected 312")));
    EXPECT_THAT([&] { load(bytes_.substr(0, 315), *engine_); },
                ThrowsMessage<FormatError>(HasSubstr("text: found 3 bytes, expected 8")));
}

TEST_F(HostileSession, FlippedAnywhere) {
    for (size_t at = 0; at < bytes_.size(); at = at < kHeaderBytes + 100 ? at + 1 : at + 61)
        for (const int bit : {0, 3, 7}) {
            std::string changed = bytes_;
            changed[at] = char(changed[at] ^ (1 << bit));
            const bool in_text = at < 12 || (at >= 40 && at < 48) || (at >= 120 && at < 184) ||
                                 (at >= kHeaderBytes && at < kHeaderBytes + 8);
            EXPECT_EQ(outcome(changed), in_text ? Outcome::Error : Outcome::TextAlone)
                << "byte " << at << " bit " << bit;
        }
}

// Bytes that a digest cannot guard, since whoever forges a file computes it too.
TEST_F(HostileSession, ForgedCounts) {
    const auto forged = [&](size_t at, uint64_t value, size_t size) {
        std::string changed = bytes_;
        std::memcpy(changed.data() + at, &value, size);
        Sha256 hash;
        hash.update(std::as_bytes(std::span(changed).first(kHeaderBytes - 64)));
        changed.replace(kHeaderBytes - 64, 64, hash.hex_digest());
        return changed;
    };
    for (const uint64_t huge :
         {uint64_t(21), uint64_t(19), uint64_t(0), uint64_t(1) << 31, uint64_t(1) << 63, UINT64_MAX})
        for (const size_t at : {16, 24, 32, 48})
            EXPECT_EQ(outcome(forged(at, huge, 8)), Outcome::TextAlone) << at << " " << huge;
    for (const uint64_t huge : {uint64_t(9), uint64_t(7), uint64_t(1) << 31, uint64_t(1) << 63, UINT64_MAX})
        EXPECT_EQ(outcome(forged(40, huge, 8)), Outcome::Error) << huge;
    for (const uint64_t type : {1, 2, 3, 255}) EXPECT_EQ(outcome(forged(12, type, 4)), Outcome::TextAlone) << type;
    EXPECT_THAT([&] { load(forged(8, 2, 4), *engine_); },
                ThrowsMessage<UnsupportedError>(HasSubstr("a session of version 2; this minfer reads version 1")));
    // A token outside the vocabulary, with all digests as they should be.
    std::string changed = bytes_;
    const int32_t outside = 40;
    std::memcpy(changed.data() + kHeaderBytes + 8, &outside, sizeof outside);
    Sha256 hash;
    hash.update(std::as_bytes(std::span(changed).subspan(kHeaderBytes + 8)));
    changed.replace(184, 64, hash.hex_digest());
    hash.update(std::as_bytes(std::span(changed).first(kHeaderBytes - 64)));
    changed.replace(kHeaderBytes - 64, 64, hash.hex_digest());
    EXPECT_EQ(outcome(changed), Outcome::TextAlone);
}

}  // namespace
}  // namespace minfer::engine
