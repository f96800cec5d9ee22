// Everything a vector set is made of, after its Vec, and the table of it.
// clang-format off: what is used comes before what uses it.
#include "backend/cpu/exp.inl"
#include "backend/cpu/matmul_float.inl"
#include "backend/cpu/compact_blocks.inl"
#include "backend/cpu/matmul_compact.inl"
#include "backend/cpu/repack.inl"
// clang-format on
#include "backend/cpu/add.inl"
#include "backend/cpu/attention.inl"
#include "backend/cpu/kv_cells.inl"
#include "backend/cpu/panel_pack.inl"
#include "backend/cpu/quantize_activations.inl"
#include "backend/cpu/rms_norm.inl"
#include "backend/cpu/rope.inl"
#include "backend/cpu/swiglu.inl"

#define MINFER_FLOAT(type)                   \
    {.rows = &matmul_rows_float<type>,       \
     .repack = &repack_float<type>,          \
     .compact = &matmul_compact_float<type>, \
     .pack = &matmul_pack_float<type>,       \
     .unpack = &unpack_float<type>,          \
     .panel = &matmul_panel_float,           \
     .panel_block_bytes = 64}
#define MINFER_INTEGER(type)           \
    {.rows = &matmul_rows<type>,       \
     .repack = &repack<type>,          \
     .compact = &matmul_compact<type>, \
     .pack = &matmul_pack<type>,       \
     .unpack = &unpack<type>,          \
     .panel = &matmul_panel<type>,     \
     .panel_block_bytes = kPanelBlockBytes<type>}
#define MINFER_KERNELS(set_name, set_needs)                                                                            \
    {                                                                                                                  \
        .name = set_name, .needs = set_needs, .rms_norm_row = &rms_norm_row, .add_row = &add_row, .mul_row = &mul_row, \
        .silu_row = &silu_row, .swiglu_row = &swiglu_row, .rope_interleaved = &rope_interleaved,                       \
        .rope_halves = &rope_halves, .quantize_row = &quantize_row, .arranged_bytes = kArrangedBytes,                  \
        .arrange = kArrange, .attention_tile = &attention_tile, .attention_across = &attention_across,                 \
        .attention_merge = &attention_merge, .attention_finish = &attention_finish, .encode_f16_row = &encode_f16_row, \
        .decode_f16_row = &decode_f16_row, .decode_q8_0_row = &decode_q8_0_row, .matmul = {                            \
            MINFER_FLOAT(F32),                                                                                         \
            MINFER_FLOAT(F16),                                                                                         \
            MINFER_FLOAT(BF16),                                                                                        \
            MINFER_INTEGER(Q4_0),                                                                                      \
            MINFER_INTEGER(Q4_1),                                                                                      \
            MINFER_INTEGER(Q5_0),                                                                                      \
            MINFER_INTEGER(Q5_1),                                                                                      \
            MINFER_INTEGER(Q8_0),                                                                                      \
            MINFER_INTEGER(Q2_K),                                                                                      \
            MINFER_INTEGER(Q3_K),                                                                                      \
            MINFER_INTEGER(Q4_K),                                                                                      \
            MINFER_INTEGER(Q5_K),                                                                                      \
            MINFER_INTEGER(Q6_K),                                                                                      \
            MINFER_INTEGER(IQ4_NL),                                                                                    \
            MINFER_INTEGER(IQ4_XS)                                                                                     \
        }                                                                                                              \
    }
