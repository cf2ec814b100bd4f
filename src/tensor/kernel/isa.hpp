#pragma once

#include <cstdint>

namespace sherd::kernel {

/// Instruction sets the host kernels are compiled for; v3 and v4 are the x86-64 levels (AVX2 with
/// FMA, AVX-512).
enum class Isa : std::uint8_t { baseline, v3, v4 };

/// The one in use: the best this CPU has, unless limited.
[[nodiscard]] Isa host_isa() noexcept;
/// For tests: uses at most `limit` from now on. Returns what is in use then.
Isa limit_host_isa(Isa limit) noexcept;

}  // namespace sherd::kernel
