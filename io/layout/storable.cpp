// What of a state HDF5, JSON and the format's own names can hold.
#include "io/layout/storable.hpp"

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>

#include "io/layout/utf8.hpp"
#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

constexpr std::size_t kMostDimensions = 32;      // of HDF5
constexpr std::size_t kLongestName = 16 * 1024;  // HDF5 keeps a name within 64 KiB, with more

std::string top_level(const std::string& key) { return key.substr(0, key.find('.')); }

void check_text(const char* what, std::string_view key, std::string_view text, const char* hint) {
  if (!is_utf8_without_nul(text)) {
    throw ArgumentError(
        fmt::format("{} '{}' is not UTF-8 or holds a NUL (files could not be read by others). "
                    "Try: {}",
                    what, printable(key), hint));
  }
}

void check_name(const char* what, std::string_view name) {
  check_text(what, name, name, "another name");
  if (name.size() > kLongestName) {
    throw ArgumentError(fmt::format("{} '{}...' is {} bytes long and cannot be stored (at most {})",
                                    what, printable(name.substr(0, 64)), name.size(),
                                    kLongestName));
  }
}

void check_tensor(const std::string& key, const dtensor::ShardSpec& spec) {
  check_name("the key of tensor", key);
  check_text("the name of tensor", key, spec.name, "another name");
  for (const std::string& alias : spec.aliases) {
    check_name("the alias of a tensor", alias);
  }
  const std::string top = top_level(key);
  if (key.empty() || top == "meta" || top == "dtypes" || top.starts_with("rank-")) {
    throw ArgumentError(fmt::format(
        "tensor key '{}' cannot be stored ('meta', 'dtypes' and 'rank-...' are the format's own "
        "groups). Try: another first part of the name",
        printable(key)));
  }
  const std::size_t dimensions = spec.global_shape.extents().size();
  if (dimensions > kMostDimensions) {
    throw ArgumentError(fmt::format(
        "tensor '{}' has {} dimensions and cannot be stored (HDF5 has at most {}). Try: fewer, "
        "such as a view of it",
        printable(key), dimensions, kMostDimensions));
  }
}

/// No name may be the beginning of another one's path.
void check_exclusive(const char* what, const std::set<std::string>& names) {
  for (const std::string& name : names) {
    for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
      if (names.count(name.substr(0, dot)) != 0) {
        throw ArgumentError(
            fmt::format("{} '{}' and '{}' exclude each other (one would "
                        "be a dataset and a group at once)",
                        what, printable(name.substr(0, dot)), printable(name)));
      }
    }
  }
}

void check_tensor_links(const dtensor::StateDict& state) {
  std::set<std::string> names;
  for (const auto& [key, tensor] : state.tensors) {
    names.insert(key);
  }
  for (const auto& [key, tensor] : state.tensors) {
    for (const std::string& alias : tensor.spec.aliases) {
      if (!names.insert(top_level(key) + "." + alias).second) {
        throw ArgumentError(fmt::format("alias '{}' of '{}' names another tensor too",
                                        printable(alias), printable(key)));
      }
    }
  }
  check_exclusive("tensor keys", names);
}

/// Texts share /meta with fields of the format; one that is called like a field is called
/// differently there (index_template.cpp, whole/hdf5.cpp).
void check_text_links(const dtensor::StateDict& state) {
  std::set<std::string> names{"step", "timing"};
  for (const auto& [key, text] : state.common) {
    if (!names.insert(key == "step" || key == "timing" ? key + "_text" : key).second) {
      throw ArgumentError(
          fmt::format("common texts 'step' and 'timing' are stored as 'step_text' and "
                      "'timing_text': '{}' cannot be stored beside them. Try: another name",
                      printable(key)));
    }
  }
  check_exclusive("common texts", names);
}

void check_blob_links(const dtensor::StateDict& state) {
  std::set<std::string> names;
  for (const auto& [key, blob] : state.per_rank) {
    names.insert(key);
  }
  check_exclusive("per_rank entries", names);
}

}  // namespace

void check_storable(const dtensor::StateDict& state) {
  for (const auto& [key, tensor] : state.tensors) {
    check_tensor(key, tensor.spec);
  }
  for (const auto& [key, blob] : state.per_rank) {
    check_name("the key of per_rank entry", key);
  }
  for (const auto& [key, text] : state.common) {
    check_name("the key of common text", key);
    check_text("common text", key, text, "a per_rank entry, which may be any bytes");
  }
  check_tensor_links(state);
  check_text_links(state);
  check_blob_links(state);
}

void check_not_empty(const dtensor::StateDict& state) {
  if (state.tensors.empty() && state.per_rank.empty() && state.common.empty()) {
    throw ArgumentError(
        "the state is empty: no tensors, per_rank entries or texts (a checkpoint of nothing would "
        "look like a good one). Try: filling the StateDict before it is saved");
  }
}

}  // namespace sherd::io
