// One attempt at one checkpoint: match, read, check, and agree on what was found.
#include "io/load/loader.hpp"

#include <fmt/format.h>

#include <future>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "io/format/checkpoint_files.hpp"
#include "io/load/blobs.hpp"
#include "io/load/match.hpp"
#include "io/load/state_reader.hpp"
#include "io/load/structure_check.hpp"
#include "sherd/base/check.hpp"
#include "sherd/runtime/team.hpp"

namespace sherd::io {
namespace {

std::vector<int> ranks_of_node(const LoadRanks& ranks) {
  const mesh::DeviceMesh& mesh = *ranks.all.mesh;
  if (ranks.node == nullptr) {
    return {ranks.all.rank()};
  }
  std::vector<int> members;
  for (int local = 0; local < mesh.local_size(); ++local) {
    members.push_back(mesh.rank({ranks.all.node(), local}));
  }
  return members;
}

/// One checkpoint as one load sees it.
class Load {
 public:
  Load(const LoadRanks& ranks, const std::filesystem::path& folder, dtensor::StateDict& state,
       const LoadOptions& options)
      : ranks_(ranks), folder_(folder), state_(state), options_(options) {}

  std::optional<Damage> run() {
    if (auto damage = find_damage(ranks_.all, [&] { open(); })) {
      return damage;
    }
    validate(same_on_all(ranks_.all, manifest_.uuid),
             fmt::format("the ranks find different checkpoints in '{}' (a directory of each node's "
                         "own?). Try: one that all nodes share",
                         folder_.string()));
    all_or_none(ranks_.all, [&] { match(); });
    expect(same_on_all(ranks_.all, matched_keys()), "ranks select different tensors to load");
    layout_ = gather_layout(*ranks_.all.world, *ranks_.all.mesh, state_);
    list_items();
    if (auto damage = read()) {
      return damage;
    }
    deliver();
    return std::nullopt;
  }

  /// After run() went well.
  void add_to(LoadReport& report, LoadedFrom& loaded) {
    loaded = {manifest_.step, manifest_.uuid, manifest_.lineage};
    report.step = manifest_.step;
    report.path = folder_;
    report.saved_by_ranks = manifest_.world_size;
    report.bytes_read = bytes_;
    report.missing = std::move(found_.missing);
    report.unexpected = std::move(found_.unexpected);
    report.mismatched = std::move(found_.mismatched);
    report.cast = std::move(found_.cast);
    for (std::string& note : found_.notes) {
      report.notes.push_back(std::move(note));
    }
  }

 private:
  /// The files that this rank looks at for all.
  FileShare share() const {
    return {static_cast<std::size_t>(ranks_.all.rank()),
            static_cast<std::size_t>(ranks_.all.size())};
  }

  void open() {
    manifest_ = read_manifest(folder_ / "COMMITTED.json");
    files_ = std::make_unique<CheckpointFiles>(folder_, manifest_, share());
    common_ = read_common(*files_, manifest_);
  }

  void match() {
    check_state(state_);
    matches_ = match_tensors(manifest_, state_, options_, folder_, found_);
    chosen_blobs_ = choose_blobs(manifest_, ranks_.all, state_, options_, folder_, found_);
  }

  std::string matched_keys() const {
    std::string keys;
    for (const MatchedTensor& match : matches_) {
      keys += fmt::format("{} {}\n", match.tensor, match.record->key);
    }
    return keys;
  }

  void list_items() {
    std::vector<const Tensor*> memory;
    for (const auto& [key, tensor] : state_.tensors) {
      memory.push_back(&tensor.local);
    }
    for (const MatchedTensor& match : matches_) {
      items_.push_back({match.record, &layout_.tensors[match.tensor], *memory[match.tensor]});
    }
  }

  std::optional<Damage> read() {
    std::unique_ptr<StateReader> reader;
    std::unique_ptr<DigestTable> digests;
    auto damage = find_damage(ranks_.all, [&] {
      ReadPlan plan = plan_reads(items_, ranks_of_node(ranks_), ranks_.all.rank());
      digests = std::make_unique<DigestTable>(options_.verify ? plan.digests : 0);
      reader = std::make_unique<StateReader>(*files_, items_, std::move(plan), *ranks_.all.mesh,
                                             ranks_.all.rank(), options_.verify);
      auto structure = check_rest();
      reader->read_own();
      reader->begin_shared();
      structure.get();
    });
    if (!damage && ranks_.node != nullptr) {
      reader->read_shared(*ranks_.node);
    }
    if (!damage) {
      damage = find_damage(ranks_.all, [&] {
        reader->finish(*digests, manifest_);
        blobs_ = read_blobs(*files_, manifest_, chosen_blobs_, options_.verify);
      });
    }
    if (!damage && options_.verify) {
      damage = digests->find_problem(ranks_.all, items_, manifest_);
    }
    if (!damage) {
      count_bytes(*reader);
    }
    return damage;
  }

  /// In the background.
  std::future<void> check_rest() const {
    return std::async(std::launch::async, [this] {
      runtime::leave_the_team();
      if (options_.verify) {
        check_structure(*files_, manifest_, share());
      }
    });
  }

  void count_bytes(const StateReader& reader) {
    auto bytes = static_cast<std::int64_t>(reader.bytes());
    for (const auto& [key, blob] : blobs_) {
      bytes += static_cast<std::int64_t>(blob.size());
    }
    ranks_.all.world->all_reduce(&bytes, &bytes, 1, DType::i64, comm::ReduceOp::sum).wait();
    bytes_ = static_cast<std::uint64_t>(bytes);
  }

  void deliver() {
    for (auto& [key, bytes] : blobs_) {
      state_.per_rank[key] = std::move(bytes);
    }
    for (auto& [key, text] : common_) {
      state_.common[key] = std::move(text);
    }
  }

  const LoadRanks& ranks_;
  const std::filesystem::path& folder_;
  dtensor::StateDict& state_;
  const LoadOptions& options_;
  Manifest manifest_;
  std::unique_ptr<CheckpointFiles> files_;
  std::map<std::string, std::string> common_;
  std::vector<MatchedTensor> matches_;
  std::vector<const BlobRecord*> chosen_blobs_;
  StateLayout layout_;
  std::vector<LoadItem> items_;
  std::map<std::string, std::vector<std::byte>> blobs_;
  std::uint64_t bytes_ = 0;
  LoadReport found_;
};

}  // namespace

void agree_on_load(const comm::Ranks& ranks, const dtensor::StateDict& state,
                   const LoadOptions& options) {
  expect(same_on_all(ranks,
                     fmt::format("{} {} {} {} {} {}", options.strict, options.allow_cast,
                                 static_cast<int>(options.per_rank), options.verify,
                                 static_cast<bool>(options.select), options.older_if_unreadable)),
         "ranks load with different options");
  expect(same_on_all(ranks, shared_signature(state)),
         "ranks load into states of different structure");
}

std::optional<Damage> try_load(const LoadRanks& ranks, const std::filesystem::path& folder,
                               dtensor::StateDict& state, const LoadOptions& options,
                               LoadReport& report, LoadedFrom& loaded) {
  Load load(ranks, folder, state, options);
  auto damage = load.run();
  if (!damage) {
    load.add_to(report, loaded);
  }
  return damage;
}

}  // namespace sherd::io
