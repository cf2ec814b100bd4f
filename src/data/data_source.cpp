#include "sherd/data/data_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "data/manifest.hpp"
#include "data/permutation.hpp"
#include "data/token_stream.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/log.hpp"
#include "sherd/base/mix64.hpp"

namespace sherd::data {
namespace {

constexpr std::int64_t kMostChecked = std::int64_t{1} << 30;

TokenStream open_stream(const config::DataConfig& config, std::int64_t vocab_size) {
  return config.text.empty() ? TokenStream::from_token_files(config, vocab_size)
                             : TokenStream::from_text(config.text);
}

}  // namespace

SequenceRange rank_share(std::int64_t global_batch, int ranks, int rank) {
  expect(global_batch >= 0 && ranks > 0 && rank >= 0 && rank < ranks, "no such rank share");
  const std::int64_t each = global_batch / ranks;
  const std::int64_t more = global_batch % ranks;
  return {each * rank + std::min<std::int64_t>(rank, more), each + (rank < more ? 1 : 0)};
}

struct DataSource::Impl {
  config::DataConfig config;
  std::int64_t vocab_size;
  std::int64_t batch_size;
  std::uint64_t seed;
  TokenStream stream;
  std::int64_t sequences;

  /// Which sequence a position of the run reads.
  [[nodiscard]] std::int64_t sequence_at(std::int64_t position) const {
    const std::int64_t index = position % sequences;
    if (config.order == config::DataConfig::Order::sequential) {
      return index;
    }
    const auto epoch = static_cast<std::uint64_t>(position / sequences);
    const Permutation permute(static_cast<std::uint64_t>(sequences), mix64(seed) + epoch);
    return static_cast<std::int64_t>(permute(static_cast<std::uint64_t>(index)));
  }

  /// The stretch of the stream that positions begin .. end-1 lie in.
  [[nodiscard]] SequenceRange tokens_of(std::int64_t begin, std::int64_t end) const {
    const std::int64_t first = begin % sequences;
    const bool all =
        config.order == config::DataConfig::Order::shuffled || first + end - begin > sequences;
    const std::int64_t s = config.sequence_length;
    return all ? SequenceRange{0, sequences * s + 1}
               : SequenceRange{first * s, (end - begin) * s + 1};
  }
};

DataSource::DataSource(const config::DataConfig& config, std::int64_t vocab_size,
                       std::int64_t global_batch_size, std::uint64_t seed) {
  expect(config.sequence_length > 0 && global_batch_size > 0,
         "sequence length and batch size must "
         "be positive");
  TokenStream stream = open_stream(config, vocab_size);
  const std::int64_t tokens = stream.size();
  const std::int64_t sequences = tokens > 0 ? (tokens - 1) / config.sequence_length : 0;
  if (sequences < global_batch_size) {
    const auto& paths = config.text.empty() ? config.tokens : config.text;
    throw ConfigError(fmt::format(
        "{}: {} tokens make {} sequences of {}, less than one batch of {}. Try: more data, or a "
        "smaller sequence_length or global_batch_size",
        paths.empty() ? "data" : paths.front().string(), tokens, sequences, config.sequence_length,
        global_batch_size));
  }
  impl_ = std::make_unique<Impl>(
      Impl{config, vocab_size, global_batch_size, seed, std::move(stream), sequences});
}

DataSource::~DataSource() = default;

std::int64_t DataSource::tokens() const noexcept { return impl_->stream.size(); }
std::int64_t DataSource::sequences() const noexcept { return impl_->sequences; }

Batch DataSource::batch(std::int64_t step, SequenceRange range) const {
  expect(step >= 0 && range.first >= 0 && range.count >= 0 &&
             range.first + range.count <= impl_->batch_size,
         "range beyond the global batch");
  const std::int64_t length = impl_->config.sequence_length;
  Batch batch{Tensor::empty({range.count, length}, DType::i32),
              Tensor::empty({range.count, length}, DType::i32)};
  std::vector<std::int32_t> row(static_cast<std::size_t>(length) + 1);
  for (std::int64_t i = 0; i < range.count; ++i) {
    const std::int64_t position = step * impl_->batch_size + range.first + i;
    impl_->stream.copy(impl_->sequence_at(position) * length, impl_->vocab_size, row);
    std::copy(row.begin(), row.end() - 1, batch.tokens.data<std::int32_t>() + i * length);
    std::copy(row.begin() + 1, row.end(), batch.targets.data<std::int32_t>() + i * length);
  }
  return batch;
}

void DataSource::check_tokens(std::int64_t first_step, std::int64_t last_step, int ranks,
                              int rank) const {
  if (last_step <= first_step) {
    return;
  }
  const SequenceRange all =
      impl_->tokens_of(first_step * impl_->batch_size, last_step * impl_->batch_size);
  SequenceRange part = rank_share(std::min(all.count, kMostChecked), ranks, rank);
  part.first += all.first;
  std::vector<std::int32_t> scratch(
      static_cast<std::size_t>(std::min<std::int64_t>(part.count, std::int64_t{1} << 16)));
  while (part.count > 0) {
    const auto now = std::min(part.count, static_cast<std::int64_t>(scratch.size()));
    impl_->stream.copy(part.first, impl_->vocab_size,
                       std::span(scratch).first(static_cast<std::size_t>(now)));
    part.first += now;
    part.count -= now;
  }
}

std::string DataSource::manifest() const {
  return make_manifest(impl_->stream, impl_->config, impl_->batch_size, impl_->seed);
}

void DataSource::check_manifest(const std::string& saved) const {
  const auto changes = manifest_changes(saved, manifest());
  if (changes.empty()) {
    return;
  }
  const std::string text =
      fmt::format("data: not what the checkpoint was trained on: {}", fmt::join(changes, "; "));
  validate(
      impl_->config.allow_change,
      text + " (the run would not be the same). Try: the same data, or data.allow_change=true");
  log::info(text);
}

}  // namespace sherd::data
