#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "sherd/autograd/variable.hpp"

namespace sherd::autograd {

/// What a recorded operation's backward sees.
class BackwardContext {
 public:
  virtual ~BackwardContext() = default;
  /// Gradient of output i; undefined when nothing depended on it.
  [[nodiscard]] virtual const Tensor& grad_output(std::size_t i) const = 0;
  /// The same, given away: nobody else holds its memory any more unless shares_storage() says so.
  [[nodiscard]] virtual Tensor take_grad_output(std::size_t i) = 0;
  /// Whether input i wants a gradient.
  [[nodiscard]] virtual bool needs(std::size_t i) const = 0;
  /// Where to write input i's gradient. Call once per input and write before returning.
  [[nodiscard]] virtual GradTarget target(std::size_t i) = 0;
  /// Input i's gradient *is* this tensor (identity-like operations); may be shared, never written
  /// to by the callee afterwards. Ignored where the input wants none or the tensor is undefined.
  virtual void pass(std::size_t i, Tensor gradient) = 0;
  /// Saved tensor i, as given to record(); recomputed first where activation checkpointing dropped
  /// it. Where it is a leaf's data, the leaf's *present* data: a parameter may have moved since.
  [[nodiscard]] virtual Tensor saved(std::size_t i) = 0;
  /// The same, given away (once): its memory may be written to unless shares_storage() says that
  /// others hold it. A leaf's data are always shared.
  [[nodiscard]] virtual Tensor take_saved(std::size_t i) = 0;
};

using BackwardFunction = std::function<void(BackwardContext&)>;

/// Makes Variables of `outputs`; when recording is on and an input wants a gradient, also remembers
/// how to go back. `saved` are the tensors backward needs (inputs and outputs included); keep none
/// in the closure, so that activation checkpointing can drop and recompute them. A saved tensor
/// that is a leaf input's data (under any shape) is not kept: backward reads what the leaf holds by
/// then, so a gathered parameter may be given back after forward and gathered again, elsewhere, for
/// backward.
[[nodiscard]] std::vector<Variable> record(std::string_view name, std::vector<Variable> inputs,
                                           std::vector<Tensor> outputs, std::vector<Tensor> saved,
                                           BackwardFunction backward);
[[nodiscard]] Variable record_one(std::string_view name, std::vector<Variable> inputs,
                                  Tensor output, std::vector<Tensor> saved,
                                  BackwardFunction backward);

/// To be called before an operation computes, when all it will save (`saved`) is there already: a
/// recomputation that needs nothing further ends here and spares itself the rest. Optional.
void about_to_compute(std::span<const Variable> inputs, std::span<const Tensor> saved);

/// Whether operations are recorded on this thread.
[[nodiscard]] bool grad_enabled() noexcept;

/// Turns recording off (or on) for its lifetime.
class GradMode {
 public:
  explicit GradMode(bool enabled) noexcept;
  ~GradMode();
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool previous_;
};

/// Has `call` called between operations, forward and backward, on this thread for its lifetime:
/// work in the background can be moved on from there. `call` must not run operations itself.
class ScopedInterlude {
 public:
  explicit ScopedInterlude(std::function<void()> call);
  ~ScopedInterlude();
  ScopedInterlude(const ScopedInterlude&) = delete;
  ScopedInterlude& operator=(const ScopedInterlude&) = delete;

 private:
  std::function<void()> previous_;
};

/// Runs every recorded operation `root` depends on in the reverse order of recording, once.
/// `seed` is root's own gradient (shape of root); undefined: ones. The graph is freed as it is
/// walked. Exceptions from backward functions pass through.
void backward(const Variable& root, Tensor seed = {});

/// Whether backward() is running on this thread (recomputation happens inside it).
[[nodiscard]] bool in_backward() noexcept;

/// Whether a non_reentrant body is being re-run on this thread to bring back what it had saved.
[[nodiscard]] bool recomputing() noexcept;

/// Runs `body` now without keeping what its operations save, and again in backward to get it back.
/// reentrant: backward re-runs the whole body and differentiates it there and then. Otherwise the
/// graph is recorded at once and backward re-runs the body only as far as saved tensors are needed.
/// The body must compute the same from its input and from leaves (parameters) both times; results
/// recorded outside may be used by a non_reentrant body only. Inside a non_reentrant body another
/// one adds nothing: the outer one drops and recomputes all.
enum class Recompute : std::uint8_t { reentrant, non_reentrant };
[[nodiscard]] Variable checkpoint(const std::function<Variable(const Variable&)>& body,
                                  const Variable& input, Recompute mode);

}  // namespace sherd::autograd
