// Blocks to lane order and back, one value at a time. Included by the lanes that have no better way.

// x[i][lane] = rows[lane][i]
inline void values_to_lanes(const float* const (&rows)[kLanes], int n, float* x) {
    for (int lane = 0; lane < kLanes; ++lane)
        for (int i = 0; i < n; ++i) x[i * kLanes + lane] = rows[lane][i];
}

// rows[lane][i] = bytes[i][lane]
inline void bytes_from_lanes(const uint8_t* bytes, int n, uint8_t* const (&rows)[kLanes]) {
    for (int lane = 0; lane < kLanes; ++lane)
        for (int i = 0; i < n; ++i) rows[lane][i] = bytes[i * kLanes + lane];
}
