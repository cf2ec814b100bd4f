// Engine: the values a step exchanges over all ranks.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include "fsdp/engine.hpp"
#include "sherd/base/check.hpp"

namespace sherd::fsdp {
namespace {

/// What every rank tells the others.
struct Exchange {
  double norm_part = 0.0;
  double loss = 0.0;
  double flag = 0.0;
  std::uint64_t history = 0;
  NonFiniteWatch::Place bad;
  std::int64_t has_bad = 0;
};

double combine(NormType type, double a, double b) {
  if (type != NormType::infinity) {
    return a + b;
  }
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : std::max(a, b);
}

double root(NormType type, double sum) {
  switch (type) {
    case NormType::two:
      return std::sqrt(sum);
    case NormType::three:
      return std::cbrt(sum);
    default:
      return sum;
  }
}

kernel::NormKind kind_of(NormType type) {
  switch (type) {
    case NormType::one:
      return kernel::NormKind::l1;
    case NormType::three:
      return kernel::NormKind::l3;
    default:
      return kernel::NormKind::max;
  }
}

/// Of several bad values the earliest; one whose origin is known before one that only shows in a
/// sum.
bool comes_first(const NonFiniteWatch::Place& a, const NonFiniteWatch::Place& b) {
  const auto key = [](const NonFiniteWatch::Place& place) {
    return std::tuple(place.micro_batch, place.rank < 0, place.rank, place.buffer, place.element);
  };
  return key(a) < key(b);
}

/// This rank's part of the norm, before the root.
double norm_part(const GradientReducer& reducer, const GroupSet& set, NormType type) {
  if (type == NormType::two) {
    return reducer.stats().sum_of_squares;
  }
  double part = 0.0;
  for (std::size_t b = 0; b < set.buffers.size(); ++b) {
    if (set.buffers[b].trainable) {
      part = combine(type, part, kernel::grad_power_sum(reducer.answered(b), kind_of(type)));
    }
  }
  return part;
}

}  // namespace

std::optional<NonFinite> Engine::locate(const NonFiniteWatch::Place& place) const {
  const FlatBuffer& buffer = set_.buffers[static_cast<std::size_t>(place.buffer)];
  const auto parts = buffer.layout.overlaps(place.element, 1);
  NonFinite found{"", place.element, place.rank < 0 ? -1 : mesh_.owner(place.rank),
                  std::max(place.micro_batch, 0)};
  if (!parts.empty()) {
    found.parameter = buffer.parameters[parts.front().slot].name;
    found.index = parts.front().parameter_begin;
  }
  return found;
}

void Engine::wait_for_device() {
  if (where() == MemoryKind::device) {
    const std::array<comm::Communicator*, 4> comms{gather_.local.get(), gather_.cross.get(),
                                                   reduce_.local.get(), reduce_.cross.get()};
    comm::wait_on_host(device_->compute_stream().record(), comms);
  }
}

/// The sum of losses that a device may still be computing. Reading them takes a wait for the
/// device; the norm's statistics are read behind the same one.
double Engine::read_losses(const std::vector<Tensor>& losses) {
  std::vector<Tensor> read;
  for (const Tensor& loss : losses) {
    expect(loss.dtype() == DType::f64 && loss.numel() == 1,
           "clip_grad_norm: a loss must be a single f64 value");
    read.push_back(
        loss.is_on_device() ? Tensor::empty(loss.shape(), loss.dtype(), MemoryKind::pinned) : loss);
    if (loss.is_on_device()) {
      copy(loss, read.back());
    }
  }
  wait_for_device();
  double sum = 0.0;
  for (const Tensor& loss : read) {
    sum += *loss.data<double>() / loss_scale_;
  }
  return sum;
}

double Engine::clip_grad_norm(double max_norm, StepValues* values, NormType type) {
  const WatchScope watch(*this);
  history_->norm();
  reducer_->finish_all();
  const double losses = read_losses(values != nullptr ? values->losses : std::vector<Tensor>{});
  reducer_->settle();
  Exchange mine{norm_part(*reducer_, set_, type),
                values != nullptr ? values->loss + losses : 0.0,
                values != nullptr ? values->flag : 0.0,
                history_->hash(),
                {},
                0};
  if (const auto& first = reducer_->watch().first()) {
    mine.bad = *first;
    mine.has_bad = 1;
  }
  std::vector<Exchange> all(static_cast<std::size_t>(world_->size()));
  world_->all_gather(&mine, all.data(), sizeof(Exchange), DType::u8).wait();

  double sum = 0.0;
  StepValues totals;
  std::optional<NonFiniteWatch::Place> bad;
  bool same = true;
  for (const Exchange& one : all) {
    same = same && one.history == mine.history;
    sum = combine(type, sum, one.norm_part);
    totals.loss += one.loss;
    totals.flag += one.flag;
    if (one.has_bad != 0 && (!bad || comes_first(one.bad, *bad))) {
      bad = one.bad;
    }
  }
  if (!same) {
    history_->explain(*world_);
  }
  gradients_synchronised_ = true;
  if (values != nullptr) {
    *values = totals;
  }
  non_finite_ = bad ? locate(*bad) : std::nullopt;
  const double norm = root(type, sum) / loss_scale_;
  clip_ = max_norm > 0.0 ? std::min(1.0, max_norm / (norm + 1e-6)) : 1.0;
  grad_scale_ = clip_ / loss_scale_;
  return norm;
}

}  // namespace sherd::fsdp
