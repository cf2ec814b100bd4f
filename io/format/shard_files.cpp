// Which rank writes to which file, by the layout of the checkpoint.
#include "io/format/shard_files.hpp"

#include <fmt/format.h>

namespace sherd::io {

int ShardFiles::count() const {
  switch (layout_) {
    case Layout::per_node:
      return mesh_->nodes();
    case Layout::per_rank:
      return mesh_->size();
    case Layout::single_file:
      break;
  }
  return 1;
}

int ShardFiles::of(int rank) const {
  switch (layout_) {
    case Layout::per_node:
      return mesh_->coord(rank).node;
    case Layout::per_rank:
      return rank;
    case Layout::single_file:
      break;
  }
  return 0;
}

std::string ShardFiles::name(int file) const {
  switch (layout_) {
    case Layout::per_node:
      return fmt::format("shards/node-{:05}.h5", file);
    case Layout::per_rank:
      return fmt::format("shards/rank-{:05}.h5", file);
    case Layout::single_file:
      break;
  }
  return "index.h5";
}

std::vector<int> ShardFiles::members(int file) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < mesh_->size(); ++rank) {
    if (of(rank) == file) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

std::size_t ShardFiles::manifest_index(int file) const {
  return in_index() ? 0 : static_cast<std::size_t>(file) + 1;
}

bool ShardFiles::pages_apart() const {
  return layout_ == Layout::single_file && mesh_->nodes() > 1;
}

}  // namespace sherd::io
