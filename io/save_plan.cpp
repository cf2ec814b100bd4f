#include "io/save_plan.hpp"

#include <unistd.h>

#include <algorithm>

#include "io/checkpoint_folder.hpp"
#include "io/process_identity.hpp"

namespace sherd::io {
namespace {

/// Where every dataset of every rank lies, and the files' sizes: what the node leaders know and all
/// ranks need. One flat array of numbers, so that one reduction spreads it.
class PlacementTable {
 public:
  PlacementTable(int world_size, int nodes, std::size_t items)
      : items_(items),
        nodes_at_(static_cast<std::size_t>(world_size) * items),
        numbers_(nodes_at_ + static_cast<std::size_t>(nodes) * 2, 0) {}

  void add(int node, const NodeTemplate& built) {
    for (const PlacedDataset& dataset : built.datasets) {
      numbers_[index(dataset.rank, dataset.item)] =
          static_cast<std::int64_t>(dataset.extent.offset) * 2 + (dataset.joined_with_next ? 1 : 0);
    }
    const std::size_t at = nodes_at_ + static_cast<std::size_t>(node) * 2;
    numbers_[at] = static_cast<std::int64_t>(built.file.bytes);
    numbers_[at + 1] = built.file.structure_crc32c;
  }
  void share(const Ranks& ranks) { max_over_ranks(ranks, numbers_); }

  std::uint64_t offset(int rank, std::size_t item) const {
    return static_cast<std::uint64_t>(numbers_[index(rank, item)]) / 2;
  }
  bool joined(int rank, std::size_t item) const { return numbers_[index(rank, item)] % 2 != 0; }
  FileRecord file(int node) const {
    const std::size_t at = nodes_at_ + static_cast<std::size_t>(node) * 2;
    return {node_file_name(node), static_cast<std::uint64_t>(numbers_[at]),
            static_cast<std::uint32_t>(numbers_[at + 1])};
  }

 private:
  std::size_t index(int rank, std::size_t item) const {
    return static_cast<std::size_t>(rank) * items_ + item;
  }

  std::size_t items_;
  std::size_t nodes_at_;
  std::vector<std::int64_t> numbers_;
};

std::vector<int> ranks_of_node(const mesh::DeviceMesh& mesh, int node) {
  std::vector<int> result;
  for (int rank = 0; rank < mesh.size(); ++rank) {
    if (mesh.coord(rank).node == node) {
      result.push_back(rank);
    }
  }
  return result;
}

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

class ManifestBuilder {
 public:
  ManifestBuilder(const StateLayout& layout, const mesh::DeviceMesh& mesh,
                  const PlacementTable& table)
      : layout_(layout), mesh_(mesh), table_(table) {}

  Manifest build(const IndexTemplate& index) const {
    Manifest manifest;
    manifest.world_size = layout_.world_size;
    manifest.host = host_name();
    manifest.pid = ::getpid();
    manifest.started = process_start(manifest.pid);
    manifest.files.push_back({"index.h5", index.image.size(), 0});
    for (int node = 0; node < mesh_.nodes(); ++node) {
      manifest.files.push_back(table_.file(node));
    }
    for (std::size_t item = 0; item < layout_.tensors.size(); ++item) {
      manifest.tensors.push_back(tensor(item));
    }
    for (std::size_t i = 0; i < layout_.blobs.size(); ++i) {
      add_blobs(manifest, i);
    }
    for (const auto& [key, extent] : index.texts) {
      manifest.texts.push_back({key, extent.offset, 0});
    }
    return manifest;
  }

 private:
  std::size_t file_of(int rank) const {
    return static_cast<std::size_t>(mesh_.coord(rank).node) + 1;
  }

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
    for (int rank = 0; rank < layout_.world_size; ++rank) {
      const dtensor::FlatRange range = entry.stored[static_cast<std::size_t>(rank)];
      if (range.numel > 0) {
        record.pieces.push_back(
            {rank, file_of(rank), table_.offset(rank, item), range.first, range.numel, 0});
      }
    }
    std::sort(record.pieces.begin(), record.pieces.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
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
  const mesh::DeviceMesh& mesh_;
  const PlacementTable& table_;
};

}  // namespace

std::shared_ptr<const SavePlan> make_save_plan(const Ranks& ranks,
                                               const std::filesystem::path& directory,
                                               const dtensor::StateDict& state) {
  auto plan = std::make_shared<SavePlan>();
  plan->layout = gather_layout(*ranks.world, *ranks.mesh, state);
  const std::vector<int> of_node = ranks_of_node(*ranks.mesh, ranks.node());
  plan->leads_node = of_node.front() == ranks.rank();
  plan->file_name = node_file_name(ranks.node());

  PlacementTable table(ranks.size(), ranks.mesh->nodes(), item_count(plan->layout));
  all_or_none(ranks, [&] {
    const std::string scratch = ".template-" + make_uuid();
    if (plan->leads_node) {
      NodeTemplate built =
          build_node_template(plan->layout, of_node, directory / (scratch + "-node.h5"));
      table.add(ranks.node(), built);
      plan->node_file = std::move(built.file);
    }
    if (ranks.rank() == 0) {
      plan->index = build_index_template(plan->layout, *ranks.mesh, capacities_for(state.common),
                                         directory / (scratch + "-index.h5"));
    }
  });
  table.share(ranks);
  plan->staging = plan_staging(datasets_of(plan->layout, table, ranks.rank()));
  if (ranks.rank() == 0) {
    plan->manifest = ManifestBuilder(plan->layout, *ranks.mesh, table).build(plan->index);
  }
  return plan;
}

}  // namespace sherd::io
