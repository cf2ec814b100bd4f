#pragma once

#include <string>
#include <vector>

#include "sherd/io/checkpointer.hpp"
#include "sherd/mesh/device_mesh.hpp"

namespace sherd::io {

/// Which file holds which ranks' data under a layout. Files are numbered from 0; with single_file
/// the one file is index.h5 itself.
class ShardFiles {
 public:
  /// `mesh` must outlive this.
  ShardFiles(Layout layout, const mesh::DeviceMesh& mesh) : layout_(layout), mesh_(&mesh) {}

  [[nodiscard]] int count() const;
  [[nodiscard]] int of(int rank) const;
  /// Relative to the step folder: "shards/node-00000.h5", "shards/rank-00000.h5" or "index.h5".
  [[nodiscard]] std::string name(int file) const;
  [[nodiscard]] std::vector<int> members(int file) const;
  /// The lowest of them: makes the file.
  [[nodiscard]] int leader(int file) const { return members(file).front(); }
  /// Index into Manifest::files, where index.h5 comes first.
  [[nodiscard]] std::size_t manifest_index(int file) const;
  [[nodiscard]] bool in_index() const noexcept { return layout_ == Layout::single_file; }
  /// Several nodes write one file: no two ranks may share a page of it then, for their page caches
  /// need not agree.
  [[nodiscard]] bool pages_apart() const;

 private:
  Layout layout_;
  const mesh::DeviceMesh* mesh_;
};

}  // namespace sherd::io
