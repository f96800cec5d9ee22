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
    void store_bytes(uint8_t* p) const { *p = uint8_t(v); }
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
