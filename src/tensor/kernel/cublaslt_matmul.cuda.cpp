// Every call of cuBLASLt is in this file. It sees matrices by columns: what is stored by rows is
// its transpose, so c = a b is computed as c' = b' a' and the operands change places.

#include "tensor/kernel/cublaslt_matmul.hpp"

#include <cublasLt.h>
#include <fmt/format.h>

#include <array>
#include <mutex>
#include <unordered_map>

#include "sherd/base/error.hpp"
#include "sherd/base/unique_handle.hpp"
#include "tensor/kernel/body/convert.hpp"
#include "tensor/kernel/launch.hpp"
#include "tensor/kernel/scratch.hpp"

namespace sherd::kernel::cublaslt {
namespace {

/// What NVIDIA recommends for Hopper.
constexpr std::int64_t kWorkspaceBytes = std::int64_t{32} << 20;

void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw DeviceError(fmt::format("{} failed: {}", call, cublasLtGetStatusString(status)));
  }
}

struct DescriptionTraits {
  using Raw = cublasLtMatmulDesc_t;
  static Raw null() { return nullptr; }
  static void close(Raw raw) noexcept { static_cast<void>(cublasLtMatmulDescDestroy(raw)); }
};
struct LayoutTraits {
  using Raw = cublasLtMatrixLayout_t;
  static Raw null() { return nullptr; }
  static void close(Raw raw) noexcept { static_cast<void>(cublasLtMatrixLayoutDestroy(raw)); }
};
struct PreferenceTraits {
  using Raw = cublasLtMatmulPreference_t;
  static Raw null() { return nullptr; }
  static void close(Raw raw) noexcept { static_cast<void>(cublasLtMatmulPreferenceDestroy(raw)); }
};

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return CUDA_R_64F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

/// Matrices stored by rows, [rows, cols], as cuBLASLt sees them.
UniqueHandle<LayoutTraits> layout(DType dtype, std::int64_t rows, std::int64_t cols,
                                  std::int64_t count, std::int64_t stride) {
  cublasLtMatrixLayout_t raw = nullptr;
  check(cublasLtMatrixLayoutCreate(&raw, type_of(dtype), static_cast<std::uint64_t>(cols),
                                   static_cast<std::uint64_t>(rows), cols),
        "cublasLtMatrixLayoutCreate");
  UniqueHandle<LayoutTraits> result(raw);
  const auto matrices = static_cast<std::int32_t>(count);
  check(cublasLtMatrixLayoutSetAttribute(raw, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &matrices,
                                         sizeof matrices),
        "cublasLtMatrixLayoutSetAttribute");
  check(cublasLtMatrixLayoutSetAttribute(raw, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                         sizeof stride),
        "cublasLtMatrixLayoutSetAttribute");
  return result;
}

UniqueHandle<DescriptionTraits> describe(const onednn::Product& p) {
  const bool wide = p.in == DType::f64;
  cublasLtMatmulDesc_t raw = nullptr;
  check(cublasLtMatmulDescCreate(&raw, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                 wide ? CUDA_R_64F : CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  UniqueHandle<DescriptionTraits> description(raw);
  const cublasOperation_t first = p.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = p.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  check(cublasLtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first),
        "cublasLtMatmulDescSetAttribute");
  check(cublasLtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second),
        "cublasLtMatmulDescSetAttribute");
  return description;
}

/// What an algorithm may be chosen for: the product, and how its operands lie. Parameters lie where
/// their unit has them, not at the multiples of 256 bytes that cuBLASLt takes for granted.
struct Key {
  onednn::Product product;
  Batch batch;
  std::array<std::uint32_t, 3> alignment = {};  // of a, b, c

  friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
  std::size_t operator()(const Key& key) const noexcept {
    std::size_t hash = onednn::ProductHash()(key.product);
    hash = hash * 31 + static_cast<std::size_t>(key.batch.count);
    for (const std::uint32_t alignment : key.alignment) {
      hash = hash * 31 + alignment;
    }
    return hash;
  }
};

/// Up to 16 bytes, which is what one load of a GPU takes at most.
std::uint32_t alignment_of(const void* data) {
  constexpr std::uintptr_t kMost = 16;
  const auto address = reinterpret_cast<std::uintptr_t>(data) | kMost;
  return static_cast<std::uint32_t>(address & (~address + 1));
}

void prefer(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
            std::uint32_t value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
}

/// Results may not depend on the order in which parts of a sum arrive.
UniqueHandle<PreferenceTraits> preference(const Key& key) {
  cublasLtMatmulPreference_t raw = nullptr;
  check(cublasLtMatmulPreferenceCreate(&raw), "cublasLtMatmulPreferenceCreate");
  UniqueHandle<PreferenceTraits> result(raw);
  const auto workspace = static_cast<std::uint64_t>(kWorkspaceBytes);
  check(cublasLtMatmulPreferenceSetAttribute(raw, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspace, sizeof workspace),
        "cublasLtMatmulPreferenceSetAttribute");
  prefer(raw, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE |
             CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
  prefer(raw, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.alignment[1]);  // b comes first there
  prefer(raw, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.alignment[0]);
  prefer(raw, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.alignment[2]);
  prefer(raw, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.alignment[2]);
  return result;
}

/// A product with its descriptions and the algorithm chosen for it.
class Multiplication {
 public:
  Multiplication(cublasLtHandle_t handle, const Key& key) : Multiplication(key.product, key.batch) {
    const onednn::Product& p = key.product;
    int found = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle, description_.get(), b_.get(), a_.get(), c_.get(),
                                         c_.get(), preference(key).get(), 1, &chosen_, &found),
          "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0) {
      throw DeviceError(fmt::format("cuBLASLt cannot multiply [{}, {}] by [{}, {}] in {}", p.m, p.k,
                                    p.k, p.n, to_string(p.in)));
    }
  }
  void run(cublasLtHandle_t handle, cudaStream_t stream, const void* a, const void* b,
           void* c) const {
    const Scratch<std::byte> workspace(static_cast<std::int64_t>(chosen_.workspaceSize),
                                       MemoryKind::device);
    const double one = 1.0;
    const double beta = accumulate_ ? 1.0 : 0.0;
    const float narrow_one = 1.0F;
    const float narrow_beta = accumulate_ ? 1.0F : 0.0F;
    const void* alpha = wide_ ? static_cast<const void*>(&one) : &narrow_one;
    const void* scale = wide_ ? static_cast<const void*>(&beta) : &narrow_beta;
    check(cublasLtMatmul(handle, description_.get(), alpha, b, b_.get(), a, a_.get(), scale, c,
                         c_.get(), c, c_.get(), &chosen_.algo, workspace.data(),
                         chosen_.workspaceSize, stream),
          "cublasLtMatmul");
  }

 private:
  Multiplication(const onednn::Product& p, const Batch& batch)
      : description_(describe(p)),
        a_(layout(p.in, p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k, batch.count, batch.stride_a)),
        b_(layout(p.in, p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n, batch.count, batch.stride_b)),
        c_(layout(p.out, p.m, p.n, batch.count, batch.stride_c)),
        wide_(p.in == DType::f64),
        accumulate_(p.accumulate) {}

  UniqueHandle<DescriptionTraits> description_;
  UniqueHandle<LayoutTraits> a_, b_, c_;
  bool wide_;
  bool accumulate_;
  cublasLtMatmulHeuristicResult_t chosen_ = {};
};

/// The process's, for its one device. Never ended: at exit CUDA may be gone before it.
class Library {
 public:
  static Library& instance() {
    static Library& library = *new Library;
    return library;
  }
  void run(const onednn::Product& p, const Batch& batch, cudaStream_t stream, const void* a,
           const void* b, void* c) {
    const std::lock_guard lock(mutex_);
    const Key key{p, batch, {alignment_of(a), alignment_of(b), alignment_of(c)}};
    auto found = kept_.find(key);
    if (found == kept_.end()) {
      if (kept_.size() >= kMaxKept) {
        kept_.clear();
      }
      found = kept_.try_emplace(key, handle_, key).first;
    }
    found->second.run(handle_, stream, a, b, c);
  }

 private:
  /// Beyond it all are dropped, so that a program with ever new shapes stays bounded.
  static constexpr std::size_t kMaxKept = 512;
  Library() { check(cublasLtCreate(&handle_), "cublasLtCreate"); }

  std::mutex mutex_;
  cublasLtHandle_t handle_ = nullptr;
  std::unordered_map<Key, Multiplication, KeyHash> kept_;
};

/// Whether cuBLASLt stores what it multiplies in this type.
bool has_types(DType in, DType out) {
  return in == out || (out == DType::f32 && (in == DType::bf16 || in == DType::f16));
}

template <class T>
void multiply_through_f32(runtime::Device& device, onednn::Product p, const void* a, const void* b,
                          T* c) {
  const std::int64_t numel = p.m * p.n;
  const Scratch<float> wide(numel, MemoryKind::device);
  if (p.accumulate) {
    launch_device(device, "sherd::convert", Convert<T, float>{c, wide.data()}, numel);
  }
  p.out = DType::f32;
  multiply(device, p, a, b, wide.data(), {});
  launch_device(device, "sherd::convert", Convert<float, T>{wide.data(), c}, numel);
}

}  // namespace

void multiply(runtime::Device& device, const onednn::Product& product, const void* a, const void* b,
              void* c, const Batch& batch) {
  if (has_types(product.in, product.out)) {
    auto* stream = static_cast<cudaStream_t>(device.compute_stream().native());
    Library::instance().run(product, batch, stream, a, b, c);
  } else if (batch.count > 1) {
    throw ArgumentError("a batch of products into a type that cuBLASLt has not for them");
  } else if (product.out == DType::bf16) {
    multiply_through_f32(device, product, a, b, static_cast<BFloat16*>(c));
  } else {
    multiply_through_f32(device, product, a, b, static_cast<Float16*>(c));
  }
}

std::string version() {
  const std::size_t number = cublasLtGetVersion();
  return fmt::format("cuBLASLt {}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

}  // namespace sherd::kernel::cublaslt
