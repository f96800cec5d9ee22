// Lanes of one: the fallback of every CPU, and on x86-64 the base instruction set itself. See encoders.inl.

struct Mask {
    bool v;
};
inline Mask operator&(Mask a, Mask b) { return {a.v && b.v}; }
inline Mask operator|(Mask a, Mask b) { return {a.v || b.v}; }
inline Mask operator~(Mask a) { return {!a.v}; }
inline bool any(Mask a) { return a.v; }

struct Floats {
    float v;
    static Floats all(float x) { return {x}; }
    static Floats load(const float* p) { return {*p}; }
    // Binary16, of which a NaN becomes quiet. Without a branch, so that compilers make vectors of a row.
    static Floats load_halves(const uint8_t* p) {
        const int32_t h = p[0] | p[1] << 8, magnitude = h & 0x7fff;
        const int32_t subnormal = __builtin_bit_cast(int32_t, float(magnitude) * 0x1p-24f);
        const int32_t exponent = magnitude < 0x7c00 ? 112 << 23 : 224 << 23;
        const int32_t normal = ((magnitude << 13) + exponent) | (magnitude > 0x7c00 ? 0x400000 : 0);
        const uint32_t sign = uint32_t(h & 0x8000) << 16;
        return {__builtin_bit_cast(float, uint32_t(magnitude < 0x0400 ? subnormal : normal) | sign)};
    }
    void store(float* p) const { *p = v; }
};
inline Floats operator+(Floats a, Floats b) { return {a.v + b.v}; }
inline Floats operator-(Floats a, Floats b) { return {a.v - b.v}; }
inline Floats operator*(Floats a, Floats b) { return {a.v * b.v}; }
inline Floats operator/(Floats a, Floats b) { return {a.v / b.v}; }
inline Floats operator-(Floats a) { return {-a.v}; }
inline Floats fma(Floats a, Floats b, Floats c) { return {__builtin_fmaf(a.v, b.v, c.v)}; }
inline Floats sqrt(Floats a) { return {__builtin_sqrtf(a.v)}; }
inline Floats abs(Floats a) { return {__builtin_fabsf(a.v)}; }
inline Floats lesser(Floats a, Floats b) { return a.v < b.v ? a : b; }  // of two numbers, no NaN
inline Floats greater(Floats a, Floats b) { return a.v < b.v ? b : a; }
inline Mask operator<(Floats a, Floats b) { return {a.v < b.v}; }
inline Mask operator==(Floats a, Floats b) { return {a.v == b.v}; }
inline Floats select(Mask m, Floats a, Floats b) { return m.v ? a : b; }

struct Ints {
    int32_t v;
    static Ints all(int32_t x) { return {x}; }
    static Ints load_bytes(const uint8_t* p) { return {*p}; }
    static Ints load_words(const uint8_t* p) { return {p[0] | p[1] << 8}; }  // of 16 bits
    void store_bytes(uint8_t* p) const { *p = uint8_t(v); }
    void store_words(uint8_t* p) const { p[0] = uint8_t(v), p[1] = uint8_t(v >> 8); }  // the low 16 bits
};
inline Ints operator+(Ints a, Ints b) { return {int32_t(uint32_t(a.v) + uint32_t(b.v))}; }
inline Ints operator-(Ints a, Ints b) { return {int32_t(uint32_t(a.v) - uint32_t(b.v))}; }
inline Ints operator&(Ints a, Ints b) { return {a.v & b.v}; }
inline Ints operator|(Ints a, Ints b) { return {a.v | b.v}; }
template <int kBits>
Ints shift_left(Ints a) {
    return {int32_t(uint32_t(a.v) << kBits)};
}
template <int kBits>
Ints shift_right(Ints a) {  // copies of the sign come in
    return {a.v >> kBits};
}
inline Ints min(Ints a, Ints b) { return a.v < b.v ? a : b; }
inline Ints max(Ints a, Ints b) { return a.v < b.v ? b : a; }
inline Mask operator<(Ints a, Ints b) { return {a.v < b.v}; }
inline Mask operator==(Ints a, Ints b) { return {a.v == b.v}; }
inline Ints select(Mask m, Ints a, Ints b) { return m.v ? a : b; }

inline Floats to_floats(Ints a) { return {float(a.v)}; }
inline Ints truncate_in_range(Floats a) { return {int32_t(a.v)}; }  // every lane must fit
inline Ints bits(Floats a) { return {__builtin_bit_cast(int32_t, a.v)}; }
inline Floats from_bits(Ints a) { return {__builtin_bit_cast(float, a.v)}; }

constexpr int kLanes = 1;

#include "quant/transpose_plain.inl"
