#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sherd/config/train_config.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::data {

/// Sequences of one forward: i32 [n, S] each. targets[i][j] is the token after tokens[i][j].
struct Batch {
  Tensor tokens;
  Tensor targets;
};

/// Part of a global batch: sequences first .. first+count-1 of it.
struct SequenceRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Rank `rank`'s part of a global batch: equal parts in rank order, the first ranks get one more
/// when it does not divide; empty parts are legal.
[[nodiscard]] SequenceRange rank_share(std::int64_t global_batch, int ranks, int rank);

/// The training data as one numbered list of sequences. With S the sequence length, sequence k
/// reads tokens k*S .. k*S+S of the stream (S+1 of them: S inputs, and the targets one further on).
/// Step t (from 0) takes positions t*B .. t*B+B-1; position p is sequence p mod N of epoch p / N,
/// or with `shuffled` a permutation of it that depends on (seed, epoch). Any position is found in
/// O(1), and none depends on the number of ranks.
///
/// Local; files are mapped, not read. Throws ConfigError (bad files, too little data).
class DataSource {
 public:
  DataSource(const config::DataConfig& config, std::int64_t vocab_size,
             std::int64_t global_batch_size, std::uint64_t seed);
  ~DataSource();
  DataSource(const DataSource&) = delete;
  DataSource& operator=(const DataSource&) = delete;

  [[nodiscard]] std::int64_t tokens() const noexcept;     ///< in all files
  [[nodiscard]] std::int64_t sequences() const noexcept;  ///< N, in one epoch

  /// Sequences [range.first, range.first+range.count) of step `step`'s global batch. Throws
  /// ConfigError naming file, position and value of a token that is not below vocab_size, IoError
  /// naming a file that has become shorter.
  [[nodiscard]] Batch batch(std::int64_t step, SequenceRange range) const;

  /// Looks at rank `rank`'s of `ranks` equal parts of the tokens that steps first_step ..
  /// last_step-1 read (at most 2^30 tokens in all; batch() checks the rest). Throws as batch()
  /// does.
  void check_tokens(std::int64_t first_step, std::int64_t last_step, int ranks, int rank) const;

  /// JSON: files, sizes, hashes, sequence length, order, seed. For StateDict::common["data"].
  [[nodiscard]] std::string manifest() const;
  /// Compares with the manifest in a checkpoint; throws ConfigError naming what changed unless
  /// data.allow_change (then a warning).
  void check_manifest(const std::string& saved) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sherd::data
