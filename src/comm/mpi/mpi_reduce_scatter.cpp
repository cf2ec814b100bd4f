#include "comm/mpi/mpi_reduce_scatter.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "comm/reduce/reduce.hpp"

namespace sherd::comm::mpi {
namespace {

/// Staging memory of one segment, over all ranks.
constexpr std::size_t kSegmentBytes = std::size_t{2} << 20;

/// What the stages of one reduce-scatter share.
class Reduction {
 public:
  Reduction(const Exchange& exchange, Pieces pieces, std::byte* out, DType dtype, ReduceOp op,
            StagingPool& pool)
      : exchange_(exchange), pieces_(std::move(pieces)), out_(out), dtype_(dtype), op_(op) {
    const std::size_t largest = *std::max_element(pieces_.counts.begin(), pieces_.counts.end());
    const std::size_t fit = kSegmentBytes / exchange_.width() / pieces_.counts.size();
    segment_ = std::max<std::size_t>(1, std::min(largest, fit));
    segments_ = (largest + segment_ - 1) / segment_;
    const std::size_t staged = std::min(my_count(), segment_) * pieces_.counts.size();
    for (std::size_t i = 0; i < std::min(segments_, kSegmentsUnderway); ++i) {
      staging_[i] = pool.take(staged * exchange_.width());
    }
  }

  [[nodiscard]] std::size_t segments() const { return segments_; }

  void start(std::size_t segment, MpiWork::Requests& requests) {
    const std::size_t begin = segment * segment_;
    for (int i = 1; i < exchange_.size(); ++i) {
      const int to = (exchange_.rank() + i) % exchange_.size();
      exchange_.send(mine(to, begin), length(to, begin), to, requests);
    }
    for (int i = 1; i < exchange_.size(); ++i) {
      const int from = (exchange_.rank() + exchange_.size() - i) % exchange_.size();
      exchange_.receive(staged(segment, from), length(exchange_.rank(), begin), from, requests);
    }
  }

  void finish(std::size_t segment) {
    const std::size_t begin = segment * segment_;
    std::vector<const void*> inputs;
    for (int peer = 0; peer < exchange_.size(); ++peer) {
      inputs.push_back(peer == exchange_.rank() ? mine(peer, begin) : staged(segment, peer));
    }
    reduce(out_ + std::min(begin, my_count()) * exchange_.width(), inputs,
           length(exchange_.rank(), begin), dtype_, op_);
  }

 private:
  [[nodiscard]] std::size_t my_count() const {
    return pieces_.counts[static_cast<std::size_t>(exchange_.rank())];
  }
  /// Elements of the segment starting at `begin` in the piece of `owner`.
  [[nodiscard]] std::size_t length(int owner, std::size_t begin) const {
    const std::size_t count = pieces_.counts[static_cast<std::size_t>(owner)];
    return begin < count ? std::min(segment_, count - begin) : 0;
  }
  [[nodiscard]] const std::byte* mine(int owner, std::size_t begin) const {
    const auto at = static_cast<std::size_t>(owner);
    return pieces_.data +
           (pieces_.begins[at] + std::min(begin, pieces_.counts[at])) * exchange_.width();
  }
  [[nodiscard]] std::byte* staged(std::size_t segment, int from) {
    const std::size_t each = std::min(my_count(), segment_) * exchange_.width();
    return staging_[segment % kSegmentsUnderway].get() + each * static_cast<std::size_t>(from);
  }

  Exchange exchange_;
  Pieces pieces_;
  std::byte* out_;
  DType dtype_;
  ReduceOp op_;
  std::size_t segment_ = 1;
  std::size_t segments_ = 0;
  std::shared_ptr<std::byte> staging_[kSegmentsUnderway];
};

}  // namespace

std::vector<MpiWork::Stage> reduce_scatter_stages(const Exchange& exchange, Pieces pieces,
                                                  std::byte* out, DType dtype, ReduceOp op,
                                                  StagingPool& pool) {
  const auto work = std::make_shared<Reduction>(exchange, std::move(pieces), out, dtype, op, pool);
  std::vector<MpiWork::Stage> stages;
  if (work->segments() == 0) {
    return stages;
  }
  for (std::size_t step = 0; step < work->segments() + kSegmentsUnderway; ++step) {
    stages.emplace_back([work, step](MpiWork::Requests& requests) {
      if (step >= kSegmentsUnderway && step - kSegmentsUnderway < work->segments()) {
        work->finish(step - kSegmentsUnderway);
      }
      if (step < work->segments()) {
        work->start(step, requests);
      }
    });
  }
  return stages;
}

}  // namespace sherd::comm::mpi
