// Four lanes of AArch64 NEON. See encoders.inl.

struct Mask {
    uint32x4_t v;  // all bits of a lane, or none
};
inline Mask operator&(Mask a, Mask b) { return {vandq_u32(a.v, b.v)}; }
inline Mask operator|(Mask a, Mask b) { return {vorrq_u32(a.v, b.v)}; }
inline Mask operator~(Mask a) { return {vmvnq_u32(a.v)}; }
inline bool any(Mask a) { return vmaxvq_u32(a.v) != 0; }

struct Floats {
    float32x4_t v;
    static Floats all(float x) { return {vdupq_n_f32(x)}; }
    static Floats load(const float* p) { return {vld1q_f32(p)}; }
    // Binary16, of which a NaN becomes quiet.
    static Floats load_halves(const uint8_t* p) { return {vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p)))}; }
    void store(float* p) const { vst1q_f32(p, v); }
};
inline Floats operator+(Floats a, Floats b) { return {vaddq_f32(a.v, b.v)}; }
inline Floats operator-(Floats a, Floats b) { return {vsubq_f32(a.v, b.v)}; }
inline Floats operator*(Floats a, Floats b) { return {vmulq_f32(a.v, b.v)}; }
inline Floats operator/(Floats a, Floats b) { return {vdivq_f32(a.v, b.v)}; }
inline Floats operator-(Floats a) { return {vnegq_f32(a.v)}; }
inline Floats fma(Floats a, Floats b, Floats c) { return {vfmaq_f32(c.v, a.v, b.v)}; }
inline Floats sqrt(Floats a) { return {vsqrtq_f32(a.v)}; }
inline Floats abs(Floats a) { return {vabsq_f32(a.v)}; }
inline Floats lesser(Floats a, Floats b) { return {vminq_f32(a.v, b.v)}; }  // of two numbers, no NaN
inline Floats greater(Floats a, Floats b) { return {vmaxq_f32(a.v, b.v)}; }
inline Mask operator<(Floats a, Floats b) { return {vcltq_f32(a.v, b.v)}; }
inline Mask operator==(Floats a, Floats b) { return {vceqq_f32(a.v, b.v)}; }
inline Floats select(Mask m, Floats a, Floats b) { return {vbslq_f32(m.v, a.v, b.v)}; }

struct Ints {
    int32x4_t v;
    static Ints all(int32_t x) { return {vdupq_n_s32(x)}; }
    static Ints load_bytes(const uint8_t* p) {
        uint32_t four;
        __builtin_memcpy(&four, p, 4);
        const uint16x8_t words = vmovl_u8(vcreate_u8(four));
        return {vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(words)))};
    }
    static Ints load_words(const uint8_t* p) {  // of 16 bits
        return {vreinterpretq_s32_u32(vmovl_u16(vreinterpret_u16_u8(vld1_u8(p))))};
    }
    void store_bytes(uint8_t* p) const {  // the low byte of each lane
        const uint16x4_t words = vmovn_u32(vreinterpretq_u32_s32(v));
        const uint8x8_t bytes = vmovn_u16(vcombine_u16(words, words));
        const uint32_t four = vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
        __builtin_memcpy(p, &four, 4);
    }
    void store_words(uint8_t* p) const {  // the low 16 bits of each lane
        vst1_u8(p, vreinterpret_u8_u16(vmovn_u32(vreinterpretq_u32_s32(v))));
    }
};
inline Ints operator+(Ints a, Ints b) { return {vaddq_s32(a.v, b.v)}; }
inline Ints operator-(Ints a, Ints b) { return {vsubq_s32(a.v, b.v)}; }
inline Ints operator&(Ints a, Ints b) { return {vandq_s32(a.v, b.v)}; }
inline Ints operator|(Ints a, Ints b) { return {vorrq_s32(a.v, b.v)}; }
template <int kBits>
Ints shift_left(Ints a) {
    return {vshlq_n_s32(a.v, kBits)};
}
template <int kBits>
Ints shift_right(Ints a) {  // copies of the sign come in
    return {vshrq_n_s32(a.v, kBits)};
}
inline Ints min(Ints a, Ints b) { return {vminq_s32(a.v, b.v)}; }
inline Ints max(Ints a, Ints b) { return {vmaxq_s32(a.v, b.v)}; }
inline Mask operator<(Ints a, Ints b) { return {vcltq_s32(a.v, b.v)}; }
inline Mask operator==(Ints a, Ints b) { return {vceqq_s32(a.v, b.v)}; }
inline Ints select(Mask m, Ints a, Ints b) { return {vbslq_s32(m.v, a.v, b.v)}; }

inline Floats to_floats(Ints a) { return {vcvtq_f32_s32(a.v)}; }
inline Ints truncate_in_range(Floats a) { return {vcvtq_s32_f32(a.v)}; }
inline Ints bits(Floats a) { return {vreinterpretq_s32_f32(a.v)}; }
inline Floats from_bits(Ints a) { return {vreinterpretq_f32_s32(a.v)}; }

constexpr int kLanes = 4;

#include "quant/transpose_plain.inl"
