// PyTorch's names for FULL, SHARDED and LOCAL state dicts, and which call each means.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "sherd/base/error.hpp"
#include "sherd/io/checkpointer.hpp"
#include "sherd/io/full_state.hpp"

namespace sherd::io {
namespace {

constexpr std::array<std::pair<StateDictType, std::string_view>, 3> kNames{{
    {StateDictType::full_state_dict, "FULL_STATE_DICT"},
    {StateDictType::sharded_state_dict, "SHARDED_STATE_DICT"},
    {StateDictType::local_state_dict, "LOCAL_STATE_DICT"},
}};

CheckpointerOptions only_one(const std::filesystem::path& directory) {
  CheckpointerOptions options;
  options.directory = directory;
  options.keep_last = 0;
  options.overwrite = true;
  return options;
}

}  // namespace

std::string_view to_string(StateDictType type) noexcept {
  return kNames[static_cast<std::size_t>(type)].second;
}

StateDictType parse_state_dict_type(std::string_view name) {
  for (const auto& [type, each] : kNames) {
    if (each == name) {
      return type;
    }
  }
  throw ConfigError(fmt::format("state dict type '{}' is unknown. Try: {}, {} or {}", name,
                                kNames[0].second, kNames[1].second, kNames[2].second));
}

void save_state(comm::MeshComms& comms, const dtensor::StateDict& state,
                const std::filesystem::path& path, StateDictType type) {
  switch (type) {
    case StateDictType::full_state_dict: {
      FullStateOptions options;
      options.format = path.extension() == ".h5" ? FullFormat::hdf5 : FullFormat::safetensors;
      save_full_state(comms, state, path, options);
      return;
    }
    case StateDictType::sharded_state_dict:
      Checkpointer(comms, only_one(path)).save_async(0, state).wait();
      return;
    case StateDictType::local_state_dict:
      save_local_state(comms, state, path);
      return;
  }
}

void load_state(comm::MeshComms& comms, const std::filesystem::path& path,
                dtensor::StateDict& state, StateDictType type) {
  switch (type) {
    case StateDictType::full_state_dict:
      (void)load_full_state(comms, path, state);
      return;
    case StateDictType::sharded_state_dict:
      if (!Checkpointer(comms, only_one(path)).load_latest(state)) {
        throw ConfigError(fmt::format("'{}' holds no checkpoint", path.string()));
      }
      return;
    case StateDictType::local_state_dict:
      load_local_state(comms, path, state);
      return;
  }
}

}  // namespace sherd::io
