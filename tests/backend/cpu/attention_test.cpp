#include "backend/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "backend/cpu/rotation.h"
#include "base/error.h"
#include "each_kernels.h"

namespace minfer::cpu::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A chunk of n_token queries, the last of a sequence of n_key keys, in cells of no particular order.
struct Case {
    AttentionShape shape;
    size_t n_key, n_token, n_cell;
    std::vector<float> q, k, v;
    std::vector<int32_t> cells;
    std::vector<VisibleCells> visible;

    Case(AttentionShape s, size_t keys, size_t tokens, uint64_t seed = 1, float magnitude = 1)
        : shape(s), n_key(keys), n_token(tokens), n_cell(keys + 5) {
        q.resize(n_token * s.n_head * s.head_dim);
        k.resize(n_cell * s.n_head_kv * s.head_dim);
        v.resize(k.size());
        fill(q, seed, magnitude);
        fill(k, seed + 1, 4);
        fill(v, seed + 2, 1);
        cells.resize(n_key);
        std::iota(cells.begin(), cells.end(), 3);
        Random random(seed + 3);
        for (size_t i = n_key; i > 1; --i) std::swap(cells[i - 1], cells[random.below(i)]);
        for (size_t t = 0; t < n_token; ++t) visible.push_back({cells, n_key - n_token + t + 1});
    }
    size_t token_size() const { return shape.n_head * shape.head_dim; }
};

KvCells cells_of(kv::CellType type, const float* k, const float* v, size_t n_cell) {
    return {type, reinterpret_cast<const std::byte*>(k), reinterpret_cast<const std::byte*>(v), n_cell};
}

std::vector<float> run(const Kernels& kernels, int n_threads, const Case& c) {
    const Guarded<float> q{std::span<const float>(c.q)}, out(c.q.size());
    const Guarded<float> k{std::span<const float>(c.k)}, v{std::span<const float>(c.v)};
    ThreadPool pool(n_threads);
    Scratch scratch;
    attention(kernels, pool, c.shape, q.span(), cells_of(kv::CellType::F32, k.data(), v.data(), c.n_cell), c.visible,
              out.span(), scratch);
    return {out.begin(), out.end()};
}

// The same over cells of another type, which hold the case's keys and values as that type has them.
std::vector<float> run_packed(const Kernels& kernels, int n_threads, const Case& c, kv::CellType type) {
    const size_t dim = c.shape.n_head_kv * c.shape.head_dim;
    std::vector<int32_t> all(c.n_cell);
    std::iota(all.begin(), all.end(), 0);
    ThreadPool pool(n_threads);
    const Guarded<std::byte> k(c.n_cell * kv::row_bytes(type, dim)), v(c.n_cell * kv::row_bytes(type, dim));
    store_kv(kernels, pool, type, c.k, all, k.span(), c.n_cell);
    store_kv(kernels, pool, type, c.v, all, v.span(), c.n_cell);
    const Guarded<float> q{std::span<const float>(c.q)}, out(c.q.size());
    Scratch scratch;
    attention(kernels, pool, c.shape, q.span(), {type, k.data(), v.data(), c.n_cell}, c.visible, out.span(), scratch);
    return {out.begin(), out.end()};
}

// The case with each key and value as a cell of that type gives it back, and with queries to match: rotated for q8_0,
// as what comes of them then is.
Case as_read_back(Case c, kv::CellType type) {
    for (std::vector<float>* values : {&c.k, &c.v}) {
        ThreadPool pool(1);
        const int32_t cell = 0;
        std::vector<std::byte> bytes(kv::row_bytes(type, values->size()));
        store_kv(scalar_kernels(), pool, type, *values, std::span(&cell, 1), bytes, 1);
        if (type == kv::CellType::F16)
            decode_f16_row_reference(bytes.data(), values->data(), values->size());
        else
            decode_q8_0_row_reference(bytes.data(), values->data(), values->size());
    }
    if (type == kv::CellType::Q8_0) rotate(c.q.data(), c.q.data(), c.q.size(), kQueryScale);
    return c;
}

AttentionShape shape(size_t n_head, size_t n_head_kv, size_t head_dim) {
    return {n_head, n_head_kv, head_dim, 1.0f / std::sqrt(float(head_dim))};
}

TEST_P(EachKernels, AttentionHasTheBitsOfTheReference) {
    for (const size_t head_dim : {2, 14, 16, 18, 50, 64, 80, 128, 130, 256})
        for (const size_t n_key : {1, 2, 15, 16, 17, 63, 64, 65, 128, 200}) {
            const Case c(shape(4, 2, head_dim), n_key, std::min<size_t>(n_key, 3));
            EXPECT_EQ(bits(run(kernels(), 1, c)), bits(run(scalar_kernels(), 1, c))) << head_dim << " " << n_key;
        }
}

// Many queries over one tile, with one, three and seven heads to a key head, and tokens that see only some of it.
TEST_P(EachKernels, AttentionOfManyQueriesHasTheBitsOfTheReference) {
    for (const auto& [n_head, n_head_kv] : {std::pair<size_t, size_t>{7, 1}, {6, 2}, {2, 2}})
        for (const size_t head_dim : {2, 14, 18, 50, 64, 80, 130})
            for (const size_t n_key : {40, 65, 129, 200})
                for (const size_t n_token : {12, 37}) {
                    const Case c(shape(n_head, n_head_kv, head_dim), n_key, n_token, n_key);
                    const std::vector<uint32_t> expected = bits(run(scalar_kernels(), 1, c));
                    EXPECT_EQ(bits(run(kernels(), 1, c)), expected)
                        << n_head << " heads of " << head_dim << ", " << n_key << " keys, " << n_token << " tokens";
                    EXPECT_EQ(bits(run(kernels(), 2, c)), expected) << "2 threads";
                }
}

// An extreme value in one key and in one value of a head of 20, at each of `positions`.
// A second key whose weight, exp of -80 to -105, goes through the subnormal numbers to nothing; its value makes it
// seen.
TEST_P(EachKernels, AttentionWithSubnormalWeights) {
    for (float score = -80; score > -105; score -= 0.37f) {
        Case c({1, 1, 16, 1.0f}, 2, 1);
        std::ranges::fill(c.q, 0.0f);
        c.q[0] = 1;
        std::ranges::fill(c.k, 0.0f);
        std::ranges::fill(c.v, 0.0f);
        c.k[size_t(c.cells[1]) * 16] = score;
        for (size_t i = 0; i < 16; ++i) c.v[size_t(c.cells[1]) * 16 + i] = 1e38f + float(i) * 1e37f;
        EXPECT_EQ(bits(run(kernels(), 1, c)), bits(run(scalar_kernels(), 1, c))) << score;
        if (score > -103) {
            EXPECT_GT(run(kernels(), 1, c)[0], 0.0f) << score;
        }
    }
}

void expect_reference_bits_with_extreme_values(const Kernels& kernels, size_t n_head, size_t n_key, size_t n_token,
                                               std::initializer_list<size_t> positions) {
    for (const float value :
         {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 3e38f, -3e38f, 0x1p-149f, -0.0f})
        for (const size_t at : positions) {
            Case c(shape(n_head, 1, 20), n_key, n_token);
            for (size_t i = 0; i < 20; i += 3) c.k[size_t(c.cells[at]) * 20 + i] = value;
            EXPECT_EQ(bits(run(kernels, 1, c)), bits(run(scalar_kernels(), 1, c))) << value << " key " << at;
            Case d(shape(n_head, 1, 20), n_key, n_token);
            d.v[size_t(d.cells[at]) * 20 + 7] = value;
            EXPECT_EQ(bits(run(kernels, 1, d)), bits(run(scalar_kernels(), 1, d))) << value << " value " << at;
        }
}

TEST_P(EachKernels, AttentionOfManyQueriesWithExtremeValues) {
    expect_reference_bits_with_extreme_values(kernels(), 4, 100, 50, {0, 40, 70, 99});
}

// A value that a token does not see must not reach it, not even as zero times infinity.
TEST_P(EachKernels, AttentionLeavesOutWhatATokenDoesNotSee) {
    Case c(shape(4, 1, 64), 100, 50);
    const std::vector<float> before = run(kernels(), 1, c);
    std::fill_n(c.v.begin() + long(c.cells[80]) * 64, 64, kInfinity);
    const std::vector<float> after = run(kernels(), 1, c);
    for (size_t t = 0; t < c.n_token; ++t)
        for (size_t i = t * 256; i < (t + 1) * 256; ++i) {
            if (c.visible[t].n_visible <= 80)
                ASSERT_EQ(bits(before[i]), bits(after[i])) << "token " << t;
            else
                ASSERT_FALSE(std::isfinite(after[i])) << "token " << t;
        }
}

TEST_P(EachKernels, AttentionWithExtremeValues) {
    expect_reference_bits_with_extreme_values(kernels(), 1, 130, 1, {0, 40, 70, 129});
    const Case tiny(shape(1, 1, 20), 130, 1, 1, 1e-42f), huge(shape(1, 1, 20), 130, 1, 1, 1e5f);
    EXPECT_EQ(bits(run(kernels(), 1, tiny)), bits(run(scalar_kernels(), 1, tiny)));
    EXPECT_EQ(bits(run(kernels(), 1, huge)), bits(run(scalar_kernels(), 1, huge)));
}

TEST_P(EachKernels, AttentionDoesNotDependOnThreadsOrChunk) {
    for (const size_t n_key : {150, 700}) {
        const Case c(shape(6, 2, 64), n_key, 100);
        const std::vector<uint32_t> one = bits(run(kernels(), 1, c));
        for (const int n : {2, 3, 7}) EXPECT_EQ(bits(run(kernels(), n, c)), one) << n << " threads";
        for (const size_t first : {0, 1, 50, 99})
            for (const size_t n : {1, 2, 7}) {
                if (first + n > c.n_token) continue;
                Case part = c;
                part.q.assign(c.q.begin() + long(first * c.token_size()),
                              c.q.begin() + long((first + n) * c.token_size()));
                part.visible.assign(c.visible.begin() + long(first), c.visible.begin() + long(first + n));
                for (const int threads : {1, 3, 7}) {
                    const std::vector<uint32_t> some = bits(run(kernels(), threads, part));
                    EXPECT_TRUE(std::equal(some.begin(), some.end(), one.begin() + long(first * c.token_size())))
                        << first << " + " << n << ", " << threads << " threads";
                }
            }
    }
}

TEST_P(EachKernels, AttentionDoesNotDependOnTheCells) {
    const Case c(shape(4, 2, 64), 300, 2);
    Case moved = c;
    const size_t row = c.shape.n_head_kv * c.shape.head_dim;
    for (size_t i = 0; i < c.n_key; ++i) {  // the same keys and values in other cells
        moved.cells[i] = int32_t((i * 7) % 302);
        std::copy_n(c.k.begin() + long(size_t(c.cells[i]) * row), row,
                    moved.k.begin() + long(size_t(moved.cells[i]) * row));
        std::copy_n(c.v.begin() + long(size_t(c.cells[i]) * row), row,
                    moved.v.begin() + long(size_t(moved.cells[i]) * row));
    }
    for (VisibleCells& v : moved.visible) v.cells = moved.cells;
    EXPECT_EQ(bits(run(kernels(), 1, moved)), bits(run(kernels(), 1, c)));
}

TEST_P(EachKernels, AttentionOverPackedCellsIsThatOverWhatTheyHold) {
    for (const kv::CellType type : {kv::CellType::F16, kv::CellType::Q8_0})
        for (const size_t head_dim : {32, 64, 128, 256})
            for (const size_t n_key : {1, 17, 64, 200}) {
                const Case c(shape(4, 2, head_dim), n_key, std::min<size_t>(n_key, 3));
                std::vector<float> result = run(scalar_kernels(), 1, as_read_back(c, type));
                if (type == kv::CellType::Q8_0) rotate(result.data(), result.data(), result.size(), kQueryScale);
                const std::vector<uint32_t> expected = bits(result);
                for (const int n : {1, 2, 7})
                    EXPECT_EQ(bits(run_packed(kernels(), n, c, type)), expected)
                        << kv::type_name(type) << " " << head_dim << " " << n_key << ", " << n << " threads";
            }
    const Case odd(shape(6, 3, 50), 130, 100);
    const std::vector<uint32_t> expected = bits(run(scalar_kernels(), 1, as_read_back(odd, kv::CellType::F16)));
    for (const int n : {1, 3}) EXPECT_EQ(bits(run_packed(kernels(), n, odd, kv::CellType::F16)), expected);
}

// Tokens of several sequences in one call, in any order.
TEST_P(EachKernels, AttentionOfOneTokenDoesNotDependOnItsNeighbours) {
    const Case a(shape(4, 2, 64), 90, 1), b(shape(4, 2, 64), 200, 1);
    Case both = a;
    both.n_token = 2;
    both.n_cell = a.n_cell + b.n_cell;
    both.q.insert(both.q.begin(), b.q.begin(), b.q.end());
    both.k.insert(both.k.end(), b.k.begin(), b.k.end());
    both.v.insert(both.v.end(), b.v.begin(), b.v.end());
    std::vector<int32_t> of_b = b.cells;
    for (int32_t& cell : of_b) cell += int32_t(a.n_cell);
    both.visible = {{of_b, 200}, {both.cells, 90}};
    std::vector<uint32_t> expected = bits(run(kernels(), 1, b));
    for (const uint32_t x : bits(run(kernels(), 1, a))) expected.push_back(x);
    for (const int n : {1, 2, 7}) EXPECT_EQ(bits(run(kernels(), n, both)), expected) << n;
}

TEST(Attention, IsNearTheExactOne) {
    for (const size_t n_key : {5, 64, 300}) {
        const Case c(shape(4, 2, 50), n_key, 2);
        const std::vector<float> got = run(scalar_kernels(), 1, c);
        for (size_t t = 0; t < 2; ++t)
            for (size_t h = 0; h < 4; ++h) {
                std::vector<double> weight;
                double total = 0;
                const auto key = [&](const std::vector<float>& of, size_t i, size_t d) {
                    return double(of[(size_t(c.cells[i]) * 2 + h / 2) * 50 + d]);
                };
                for (size_t i = 0; i < c.visible[t].n_visible; ++i) {
                    double score = 0;
                    for (size_t d = 0; d < 50; ++d) score += double(c.q[(t * 4 + h) * 50 + d]) * key(c.k, i, d);
                    weight.push_back(std::exp(score * double(c.shape.scale)));
                    total += weight.back();
                }
                for (size_t d = 0; d < 50; ++d) {
                    double exact = 0;
                    for (size_t i = 0; i < weight.size(); ++i) exact += weight[i] / total * key(c.v, i, d);
                    EXPECT_NEAR(got[(t * 4 + h) * 50 + d], exact, 3e-6);
                }
            }
    }
}

TEST(Attention, RefusesSizesThatDoNotFit) {
    const auto refuse = [](auto change) {
        Case c(shape(4, 2, 8), 20, 2);
        change(c);
        EXPECT_THROW(run(scalar_kernels(), 1, c), ShapeError);
    };
    refuse([](Case& c) { c.shape.n_head_kv = 3; });
    refuse([](Case& c) { c.shape.n_head_kv = 0; });
    refuse([](Case& c) { c.q.pop_back(); });
    refuse([](Case& c) { c.visible[0].n_visible = 0; });
    refuse([](Case& c) { c.visible[1].n_visible = 21; });
    refuse([](Case& c) { c.cells[19] = int32_t(c.n_cell); });
    refuse([](Case& c) { c.cells[4] = -1; });
}

MINFER_EACH_KERNELS();

}  // namespace
}  // namespace minfer::cpu::test
