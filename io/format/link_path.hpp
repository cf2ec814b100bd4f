#pragma once

#include <set>
#include <string>
#include <string_view>

#include "io/hdf5/handles.hpp"

namespace sherd::io {

/// "model.layers.0.weight" -> "/model/layers/0/weight". Characters an HDF5 link name cannot hold
/// ('/') and '%' become %XX, an empty part becomes "%00", a part "." cannot occur.
[[nodiscard]] std::string link_path(std::string_view key);

/// The inverse; a '%' that link_path() would not write stays as it is.
[[nodiscard]] std::string key_of_path(std::string_view path);

/// "/rank-00003"
[[nodiscard]] std::string rank_group(int rank);

/// Makes the groups above the links of one file, each once.
class GroupTree {
 public:
  explicit GroupTree(hid_t file) : file_(file) {}
  /// All groups on the way to `link`.
  void make_parents(const std::string& link);
  /// Notes that `group` is there already.
  void assume(const std::string& group) { made_.insert(group); }

 private:
  hid_t file_;
  std::set<std::string> made_;
};

}  // namespace sherd::io
