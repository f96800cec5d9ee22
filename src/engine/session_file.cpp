#include "engine/session_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <functional>

#include "base/atomic_file.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"

namespace minfer::engine {

namespace {

using KvPart = runtime::Scheduler::KvPart;

constexpr std::string_view kMagic("minfer\x1a\n", 8);
constexpr uint32_t kVersion = 1;
constexpr size_t kDigits = 64;        // of a SHA-256
constexpr size_t kHeaderBytes = 312;  // its own digest, the last of it, included
constexpr size_t kPieceTokens = 256;  // read and written at a time
constexpr size_t kMostText = size_t(1) << 30;

// The number of q8_0 cells before they were rotated.
constexpr uint32_t kPlainQ8_0 = 2;

// As the file names it.
uint32_t code_of(kv::CellType type) {
    switch (type) {
        case kv::CellType::F32:
            return 0;
        case kv::CellType::F16:
            return 1;
        case kv::CellType::Q8_0:
            return 3;
    }
    return UINT32_MAX;
}

struct Header {
    uint32_t version = kVersion;
    uint32_t cell_type = 0;
    uint64_t n_layer = 0;
    uint64_t k_row_bytes = 0;
    uint64_t v_row_bytes = 0;
    uint64_t text_bytes = 0;
    uint64_t n_token = 0;
    std::string identity, text_digest, rest_digest;

    bool same_layout(const kv::Layout& layout) const {
        return n_layer == layout.n_layer && k_row_bytes == layout.k_row_bytes() && v_row_bytes == layout.v_row_bytes();
    }
    // Bytes of the whole file; nothing where they do not fit 64 bits.
    std::optional<uint64_t> file_bytes() const {
        const auto rows = checked_add(k_row_bytes, v_row_bytes);
        const auto cell = rows ? checked_mul(*rows, n_layer) : rows;
        const auto token = cell ? checked_add(*cell, sizeof(int32_t)) : cell;
        const auto tokens = token ? checked_mul(*token, n_token) : token;
        const auto start = checked_add(text_bytes, kHeaderBytes);
        return tokens && start ? checked_add(*tokens, *start) : std::nullopt;
    }
};

std::string digest_of(std::span<const std::byte> bytes) {
    Sha256 hash;
    hash.update(bytes);
    return hash.hex_digest();
}

std::string header_text(const Header& header) {
    std::string bytes(kMagic);
    const auto add = [&](const auto& value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
    add(header.version);
    add(header.cell_type);
    add(header.n_layer);
    add(header.k_row_bytes);
    add(header.v_row_bytes);
    add(header.text_bytes);
    add(header.n_token);
    bytes += header.identity + header.text_digest + header.rest_digest;
    return bytes + digest_of(std::as_bytes(std::span(bytes)));
}

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Everything up to the header's own digest, unchecked but for what it takes to read it.
Header parse(std::span<const std::byte> bytes, const std::string& path) {
    ByteCursor cursor(bytes);
    const auto magic = cursor.take(kMagic.size());
    if (!magic || text_of(*magic) != kMagic)
        throw FormatError(path, "start", "other bytes", "those of a session that minfer wrote");
    const auto version = cursor.read<uint32_t>();
    if (version && *version != kVersion)
        throw UnsupportedError(
            fmt::format("{}: a session of version {}; this minfer reads version {}", path, *version, kVersion));
    if (bytes.size() < kHeaderBytes)
        throw FormatError(path, "header", fmt::format("{} bytes", bytes.size()), fmt::format("{}", kHeaderBytes));
    Header header;
    header.cell_type = *cursor.read<uint32_t>();
    header.n_layer = *cursor.read<uint64_t>();
    header.k_row_bytes = *cursor.read<uint64_t>();
    header.v_row_bytes = *cursor.read<uint64_t>();
    header.text_bytes = *cursor.read<uint64_t>();
    header.n_token = *cursor.read<uint64_t>();
    header.identity = text_of(*cursor.take(kDigits));
    header.text_digest = text_of(*cursor.take(kDigits));
    header.rest_digest = text_of(*cursor.take(kDigits));
    return header;
}

std::string read_text(const File& file, const Header& header) {
    const uint64_t left = file.size() - kHeaderBytes;
    if (header.text_bytes > left || header.text_bytes > kMostText)
        throw FormatError(file.path(), "text", fmt::format("{} bytes", left), fmt::format("{}", header.text_bytes));
    std::string text(size_t(header.text_bytes), '\0');
    file.pread_exact(kHeaderBytes, std::as_writable_bytes(std::span(text)));
    if (const std::string digest = digest_of(std::as_bytes(std::span(text))); digest != header.text_digest)
        throw FormatError(file.path(), "text", "SHA-256 " + digest, header.text_digest);
    return text;
}

// Why keys and values cannot be taken, before any is read; empty where they can.
std::string problem(const File& file, const Header& header, std::span<const std::byte> bytes, Engine& engine,
                    const std::string& identity) {
    const kv::Layout& layout = engine.scheduler().layout();
    const size_t own_digest = kHeaderBytes - kDigits;
    if (digest_of(bytes.first(own_digest)) != text_of(bytes.subspan(own_digest))) return "its header is damaged";
    if (header.identity != identity) return "it is of another model";
    if (header.cell_type != code_of(layout.type)) {
        std::string name =
            header.cell_type == kPlainQ8_0 ? "q8_0 without rotation" : fmt::format("type {}", header.cell_type);
        for (const kv::CellType type : {kv::CellType::F32, kv::CellType::F16, kv::CellType::Q8_0})
            if (header.cell_type == code_of(type)) name = kv::type_name(type);
        return fmt::format("its cells are {}, those of this run {}", name, kv::type_name(layout.type));
    }
    if (!header.same_layout(layout)) return "its cells are of another shape";
    if (const auto expected = header.file_bytes(); !expected || *expected != file.size())
        return fmt::format("it has {} bytes, expected {}", file.size(), expected.value_or(UINT64_MAX));
    if (header.n_token > uint64_t(engine.sequences().n_free()))
        return fmt::format("it holds {} tokens, more than the context of {}", header.n_token, engine.n_ctx());
    return {};
}

// Calls fn(layer, part, first, n) for pieces of the tokens, in the file's order.
template <typename Function>
void for_each_piece(const kv::Layout& layout, size_t n_token, Function fn) {
    for (size_t layer = 0; layer < layout.n_layer; ++layer)
        for (const KvPart part : {KvPart::Keys, KvPart::Values})
            for (size_t first = 0; first < n_token; first += kPieceTokens)
                fn(layer, part, first, std::min(kPieceTokens, n_token - first));
}

// Reads tokens, keys and values into the sequence; empty, with the sequence as before, where they are damaged.
std::vector<TokenId> read_cells(const File& file, const Header& header, Engine& engine, SequenceId sequence) {
    const kv::Layout& layout = engine.scheduler().layout();
    Sha256 hash;
    uint64_t at = kHeaderBytes + header.text_bytes;
    const auto read = [&](std::span<std::byte> out) {
        file.pread_exact(at, out);
        hash.update(out);
        at += out.size();
    };
    std::vector<TokenId> tokens(size_t(header.n_token));
    read(std::as_writable_bytes(std::span(tokens)));
    const bool known =
        std::ranges::all_of(tokens, [&](TokenId id) { return id >= 0 && size_t(id) < engine.n_vocab(); });
    if (!known) return {};
    engine.sequences().append(sequence, int32_t(tokens.size()));
    std::vector<std::byte> rows;
    try {
        const std::span<const int32_t> cells = engine.sequences().cells(sequence);
        for_each_piece(layout, tokens.size(), [&](size_t layer, KvPart part, size_t first, size_t n) {
            rows.resize(n * engine.scheduler().row_bytes(part));
            read(rows);
            engine.scheduler().write_cells(layer, part, cells.subspan(first, n), rows);
        });
    } catch (...) {
        engine.sequences().remove(sequence);
        throw;
    }
    if (hash.hex_digest() == header.rest_digest) return tokens;
    engine.sequences().remove(sequence);
    return {};
}

}  // namespace

void save_session(const std::string& path, Engine& engine, SequenceId sequence, const std::string& identity,
                  const std::string& text, std::span<const TokenId> tokens,
                  const std::function<void()>& before_commit) {
    const std::span<const int32_t> cells = engine.sequences().cells(sequence);
    if (cells.size() != tokens.size())
        throw ShapeError(fmt::format("session: {} tokens of a sequence that holds {}", tokens.size(), cells.size()));
    const kv::Layout& layout = engine.scheduler().layout();
    Header header{.cell_type = code_of(layout.type),
                  .n_layer = layout.n_layer,
                  .k_row_bytes = layout.k_row_bytes(),
                  .v_row_bytes = layout.v_row_bytes(),
                  .text_bytes = text.size(),
                  .n_token = tokens.size(),
                  .identity = identity,
                  .text_digest = digest_of(std::as_bytes(std::span(text))),
                  .rest_digest = std::string(kDigits, '0')};
    AtomicFile file(path);
    std::string header_bytes = header_text(header);
    file.write(std::as_bytes(std::span(header_bytes)));
    file.write(std::as_bytes(std::span(text)));
    Sha256 hash;
    const auto write = [&](std::span<const std::byte> bytes) {
        hash.update(bytes);
        file.write(bytes);
    };
    write(std::as_bytes(tokens));
    std::vector<std::byte> rows;
    for_each_piece(layout, tokens.size(), [&](size_t layer, KvPart part, size_t first, size_t n) {
        rows.resize(n * engine.scheduler().row_bytes(part));
        engine.scheduler().read_cells(layer, part, cells.subspan(first, n), rows);
        write(rows);
    });
    header.rest_digest = hash.hex_digest();
    header_bytes = header_text(header);
    file.pwrite(0, std::as_bytes(std::span(header_bytes)));
    if (before_commit) before_commit();
    file.commit();
}

std::optional<LoadedSession> load_session(const std::string& path, Engine& engine, SequenceId sequence,
                                          const std::string& identity) {
    if (!std::filesystem::exists(path)) return std::nullopt;
    const File file = File::open(path);
    std::vector<std::byte> bytes(size_t(std::min<uint64_t>(file.size(), kHeaderBytes)));
    file.pread_exact(0, bytes);
    const Header header = parse(bytes, path);
    LoadedSession session{read_text(file, header), {}, {}};
    session.problem = problem(file, header, bytes, engine, identity);
    if (!session.problem.empty() || header.n_token == 0) return session;
    session.tokens = read_cells(file, header, engine, sequence);
    if (session.tokens.empty()) session.problem = "its keys and values are damaged";
    return session;
}

}  // namespace minfer::engine
