// What the multiply-add units of one core reach when nothing else limits them: independent chains in registers.
#pragma once

namespace minfer::cpu {

// In multiply-adds a second; 0 where this CPU or build has no such instruction.
struct Peaks {
    double fma = 0;   // float, the widest vectors there are
    double vnni = 0;  // vpdpbusd, 512 bits
    double amx = 0;   // tdpbssd, tiles of 16 x 64 bytes
};
Peaks measure_peaks();

}  // namespace minfer::cpu
