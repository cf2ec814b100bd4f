// Every call of oneDNN is in this file. Two places differ between 2.x and 3.x.

#include "tensor/kernel/onednn_matmul.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstddef>
#include <dnnl.hpp>
#include <memory>
#include <new>
#include <unordered_map>

#include "sherd/base/error.hpp"

namespace sherd::kernel::onednn {
namespace {

using dnnl::memory;

/// Kept primitives of a thread; beyond it all are dropped (a program that multiplies ever new
/// shapes, such as generation token by token, stays bounded).
constexpr std::size_t kMaxKept = 512;

memory::data_type data_type(DType dtype) {
  return dtype == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

/// [rows, cols], or the same seen through the strides of its stored transpose. `row`: from one
/// stored row to the next.
memory::desc matrix(std::int64_t rows, std::int64_t cols, DType dtype, bool transposed,
                    std::int64_t row) {
  const std::int64_t stride = row != 0 ? row : transposed ? rows : cols;
  const memory::dims strides = transposed ? memory::dims{1, stride} : memory::dims{stride, 1};
  return {{rows, cols}, data_type(dtype), strides};
}

dnnl::matmul::primitive_desc describe(const Product& p, const dnnl::engine& engine) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (p.accumulate) {
    dnnl::post_ops post;
    post.append_sum(1.0F);
    attributes.set_post_ops(post);
  }
#if DNNL_VERSION_MAJOR * 100 + DNNL_VERSION_MINOR >= 304
  attributes.set_deterministic(true);
#endif
  const memory::desc a = matrix(p.m, p.k, p.in, p.trans_a, p.row_a);
  const memory::desc b = matrix(p.k, p.n, p.in, p.trans_b, p.row_b);
  const memory::desc c = matrix(p.m, p.n, p.out, false, p.row_c);
#if DNNL_VERSION_MAJOR >= 3
  return {engine, a, b, c, attributes};
#else
  return {dnnl::matmul::desc(a, b, c), attributes, engine};
#endif
}

/// oneDNN is built on OpenMP, whose thread count is the thread's own setting: a product given to it
/// runs on one thread of the rank's team, since its own threads would cut k. Looked up at run time
/// because nothing else here needs OpenMP.
class SingleThread {
 public:
  SingleThread() noexcept : previous_(functions().get ? functions().get() : 0) { set(1); }
  ~SingleThread() { set(previous_); }
  SingleThread(const SingleThread&) = delete;
  SingleThread& operator=(const SingleThread&) = delete;

 private:
  struct Functions {
    int (*get)() = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    void (*set)(int) = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT,
                                                               "omp_set_num_threads"));
  };
  static const Functions& functions() noexcept {
    static const Functions found;
    return found;
  }
  static void set(int threads) noexcept {
    if (functions().set != nullptr && threads > 0) {
      functions().set(threads);
    }
  }

  int previous_;
};

/// A primitive with its memory objects; each call only sets their addresses.
class Multiplication {
 public:
  Multiplication(const Product& product, const dnnl::engine& engine)
      : Multiplication(describe(product, engine), engine) {}

  void run(dnnl::stream& stream, const void* a, const void* b, void* c, void* scratch) {
    a_.set_data_handle(const_cast<void*>(a));
    b_.set_data_handle(const_cast<void*>(b));
    c_.set_data_handle(c);
    scratch_.set_data_handle(scratch);
    primitive_.execute(stream, arguments_);
    stream.wait();
  }
  [[nodiscard]] std::size_t scratch_bytes() const { return scratch_.get_desc().get_size(); }

 private:
  Multiplication(const dnnl::matmul::primitive_desc& pd, const dnnl::engine& engine)
      : primitive_(pd),
        a_(pd.src_desc(), engine, nullptr),
        b_(pd.weights_desc(), engine, nullptr),
        c_(pd.dst_desc(), engine, nullptr),
        scratch_(pd.scratchpad_desc(), engine, nullptr),
        arguments_{{DNNL_ARG_SRC, a_},
                   {DNNL_ARG_WEIGHTS, b_},
                   {DNNL_ARG_DST, c_},
                   {DNNL_ARG_SCRATCHPAD, scratch_}} {}

  dnnl::matmul primitive_;
  memory a_, b_, c_, scratch_;
  std::unordered_map<int, memory> arguments_;
};

/// What the library's kernels want beside their operands, which depends on the CPU: kept from call
/// to call, and outside the pool of tensors, whose peak the plan of a run foretells.
class Workspace {
 public:
  [[nodiscard]] void* of(std::size_t bytes) {
    if (bytes > bytes_) {
      memory_.reset();  // first, so that the two are never there at once
      bytes_ = 0;
      memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
      bytes_ = bytes;
    }
    return memory_.get();
  }

 private:
  static constexpr std::align_val_t kAlignment{4096};
  struct Free {
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

/// One for each thread, so that ranks that are threads multiply at once without a lock.
class Context {
 public:
  static Context& of_thread() {
    thread_local Context context;
    return context;
  }

  void run(const Product& product, const void* a, const void* b, void* c) {
    const SingleThread single;
    Multiplication& multiplication = find(product);
    multiplication.run(stream_, a, b, c, workspace_.of(multiplication.scratch_bytes()));
  }

  [[nodiscard]] std::string implementation(const Product& product) {
    const SingleThread single;
    return describe(product, engine_).impl_info_str();
  }

 private:
  Multiplication& find(const Product& product) {
    const auto found = kept_.find(product);
    if (found != kept_.end()) {
      return found->second;
    }
    if (kept_.size() >= kMaxKept) {
      kept_.clear();
    }
    return kept_.try_emplace(product, product, engine_).first->second;
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  Workspace workspace_;
  std::unordered_map<Product, Multiplication, ProductHash> kept_;
};

bool cpu_has(dnnl::cpu_isa isa) noexcept {
  const auto wanted = static_cast<unsigned>(isa);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

template <class F>
auto translate_errors(const Product& p, F&& f) {
  try {
    return f();
  } catch (const dnnl::error& error) {
    throw ArgumentError(fmt::format("oneDNN cannot multiply [{}, {}] by [{}, {}] in {}: {}", p.m,
                                    p.k, p.k, p.n, to_string(p.in), error.what()));
  }
}

}  // namespace

std::size_t ProductHash::operator()(const Product& p) const noexcept {
  std::size_t hash = 0;
  for (const std::int64_t part :
       {p.m, p.n, p.k, p.row_a, p.row_b, p.row_c, static_cast<std::int64_t>(p.in),
        static_cast<std::int64_t>(p.out),
        std::int64_t{p.trans_a} * 4 + std::int64_t{p.trans_b} * 2 + std::int64_t{p.accumulate}}) {
    hash = (hash ^ static_cast<std::size_t>(part)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  }
  return hash;
}

bool has_bf16() noexcept {
  static const bool has = cpu_has(dnnl::cpu_isa::avx512_core_bf16);
  return has;
}

bool has_avx512() noexcept {
  static const bool has = cpu_has(dnnl::cpu_isa::avx512_core);
  return has;
}

void run(const Product& product, const void* a, const void* b, void* c) {
  translate_errors(product, [&] { Context::of_thread().run(product, a, b, c); });
}

std::string implementation(const Product& product) {
  return translate_errors(product, [&] { return Context::of_thread().implementation(product); });
}

}  // namespace sherd::kernel::onednn
