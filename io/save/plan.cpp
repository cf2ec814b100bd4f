// What all saves of one structure have in common: the only part of saving that calls HDF5.
#include "io/save/plan.hpp"

#include <unistd.h>

#include <algorithm>

#include "io/disk/process_identity.hpp"
#include "io/format/meta_fields.hpp"

#include "sherd/base/host_name.hpp"

namespace sherd::io {
namespace {

/// Where every dataset of every rank lies, and the files' sizes: what the files' makers know and
/// all ranks need. One flat array of numbers, so that one reduction spreads it.
class PlacementTable {
 public:
  PlacementTable(int world_size, int files, std::size_t items)
      : items_(items),
        files_at_(static_cast<std::size_t>(world_size) * items),
        numbers_(files_at_ + static_cast<std::size_t>(files) * 2, 0) {}

  void add(int file, const ShardTemplate& built) {
    for (const PlacedDataset& dataset : built.datasets) {
      numbers_[index(dataset.rank, dataset.item)] =
          static_cast<std::int64_t>(dataset.extent.offset) * 2 + (dataset.joined_with_next ? 1 : 0);
    }
    const std::size_t at = files_at_ + static_cast<std::size_t>(file) * 2;
    numbers_[at] = static_cast<std::int64_t>(built.file.bytes);
    numbers_[at + 1] = built.file.structure_crc32c;
  }
  void share(const comm::Ranks& ranks) { max_over_ranks(ranks, numbers_); }

  std::uint64_t offset(int rank, std::size_t item) const {
    return static_cast<std::uint64_t>(numbers_[index(rank, item)]) / 2;
  }
  bool joined(int rank, std::size_t item) const { return numbers_[index(rank, item)] % 2 != 0; }
  FileRecord file(int file, std::string name) const {
    const std::size_t at = files_at_ + static_cast<std::size_t>(file) * 2;
    return {std::move(name), static_cast<std::uint64_t>(numbers_[at]),
            static_cast<std::uint32_t>(numbers_[at + 1])};
  }

 private:
  std::size_t index(int rank, std::size_t item) const {
    return static_cast<std::size_t>(rank) * items_ + item;
  }

  std::size_t items_;
  std::size_t files_at_;
  std::vector<std::int64_t> numbers_;
};

std::vector<PlacedDataset> datasets_of(const StateLayout& layout, const PlacementTable& table,
                                       int rank) {
  std::vector<PlacedDataset> mine;
  for (std::size_t item = 0; item < item_count(layout); ++item) {
    const std::uint64_t bytes = item_bytes(layout, rank, item);
    if (bytes > 0) {
      mine.push_back({rank, item, {table.offset(rank, item), bytes}, table.joined(rank, item)});
    }
  }
  std::sort(mine.begin(), mine.end(),
            [](const auto& a, const auto& b) { return a.extent.offset < b.extent.offset; });
  return mine;
}

/// The ranks that store a part of the tensor; those of blocks by rank.
std::vector<int> by_first_element(const TensorLayout& tensor) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < tensor.stored.size(); ++rank) {
    if (tensor.stored[rank].numel > 0) {
      ranks.push_back(static_cast<int>(rank));
    }
  }
  std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) {
    return tensor.stored[static_cast<std::size_t>(a)].first <
           tensor.stored[static_cast<std::size_t>(b)].first;
  });
  return ranks;
}

class ManifestBuilder {
 public:
  ManifestBuilder(const StateLayout& layout, const ShardFiles& files, const PlacementTable& table)
      : layout_(layout), files_(files), table_(table) {}

  Manifest build(const IndexTemplate& index) const {
    Manifest manifest;
    manifest.world_size = layout_.world_size;
    manifest.host = host_name();
    manifest.pid = ::getpid();
    manifest.started = process_start(manifest.pid);
    manifest.files.push_back(
        {"index.h5", index.content.file.bytes, index.content.file.structure_crc32c});
    for (int file = 0; !files_.in_index() && file < files_.count(); ++file) {
      manifest.files.push_back(table_.file(file, files_.name(file)));
    }
    for (std::size_t item = 0; item < layout_.tensors.size(); ++item) {
      manifest.tensors.push_back(tensor(item));
    }
    for (std::size_t i = 0; i < layout_.blobs.size(); ++i) {
      add_blobs(manifest, i);
    }
    list_fields(index, manifest);
    return manifest;
  }

 private:
  std::size_t file_of(int rank) const { return files_.manifest_index(files_.of(rank)); }

  TensorRecord tensor(std::size_t item) const {
    const TensorLayout& entry = layout_.tensors[item];
    const dtensor::ShardSpec& facts = entry.facts;
    // Which ranks held a hybrid tensor means nothing to a reader: it is stored as a sharded one.
    TensorRecord record{entry.key,
                        facts.name,
                        facts.global_shape,
                        facts.dtype,
                        facts.placement == dtensor::Placement::replicated
                            ? dtensor::Placement::replicated
                            : dtensor::Placement::sharded,
                        facts.requires_grad,
                        {},
                        {}};
    const std::string top = entry.key.substr(0, entry.key.find('.'));
    for (const std::string& alias : facts.aliases) {
      record.aliases.push_back(top + "." + alias);
    }
    for (const int rank : by_first_element(entry)) {
      const dtensor::FlatRange range = entry.stored[static_cast<std::size_t>(rank)];
      record.pieces.push_back(
          {rank, file_of(rank), table_.offset(rank, item), range.first, range.numel});
      if (!entry.blocks.empty()) {
        record.pieces.back().block = entry.blocks[static_cast<std::size_t>(rank)];
      }
    }
    return record;
  }

  void add_blobs(Manifest& manifest, std::size_t i) const {
    const std::size_t item = layout_.tensors.size() + i;
    for (int rank = 0; rank < layout_.world_size; ++rank) {
      const std::uint64_t bytes = item_bytes(layout_, rank, item);
      manifest.blobs.push_back({layout_.blobs[i].key, rank, file_of(rank),
                                bytes > 0 ? table_.offset(rank, item) : 0, bytes, 0});
    }
  }

  const StateLayout& layout_;
  const ShardFiles& files_;
  const PlacementTable& table_;
};

/// What this rank builds with HDF5: index.h5 on rank 0, the shard file where it leads one.
void build_files(const comm::Ranks& ranks, const ShardFiles& files, const dtensor::StateDict& state,
                 SavePlan& plan, PlacementTable& table) {
  const int file = files.of(ranks.rank());
  if (ranks.rank() == 0) {
    plan.index = build_index_template(plan.layout, files, capacities_for(state.common));
  }
  if (!plan.leads_file) {
    return;
  }
  if (files.in_index()) {
    table.add(file, plan.index.content);
    return;
  }
  const std::vector<int> members = files.members(file);
  ShardTemplate built = build_shard_template(plan.layout, members);
  table.add(file, built);
  plan.shard_file = std::move(built.file);
}

}  // namespace

std::shared_ptr<const SavePlan> make_save_plan(const comm::Ranks& ranks, const PlanOptions& options,
                                               const dtensor::StateDict& state) {
  auto plan = std::make_shared<SavePlan>();
  const ShardFiles files(options.layout, *ranks.mesh);
  const int file = files.of(ranks.rank());
  plan->layout = gather_layout(*ranks.world, *ranks.mesh, state);
  plan->leads_file = files.leader(file) == ranks.rank();
  plan->file_name = files.name(file);

  PlacementTable table(ranks.size(), files.count(), item_count(plan->layout));
  all_or_none(ranks, [&] { build_files(ranks, files, state, *plan, table); });
  table.share(ranks);
  plan->file_bytes = table.file(file, "").bytes;
  plan->staging = std::make_shared<StagingPlan>(plan_staging(
      plan->layout, datasets_of(plan->layout, table, ranks.rank()), options.chunk_bytes));
  if (ranks.rank() == 0) {
    plan->manifest = ManifestBuilder(plan->layout, files, table).build(plan->index);
  }
  return plan;
}

}  // namespace sherd::io
