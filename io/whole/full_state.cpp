// One file of whole tensors without gathering them: each rank writes what it holds.
#include "sherd/io/full_state.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <vector>

#include "io/commit/folder.hpp"
#include "io/disk/file_ops.hpp"
#include "io/layout/host_state.hpp"
#include "io/layout/region.hpp"
#include "io/layout/state_layout.hpp"
#include "io/layout/storable.hpp"
#include "io/whole/file.hpp"
#include "io/whole/load.hpp"
#include "sherd/base/check.hpp"
#include "sherd/comm/agree.hpp"

namespace sherd::io {
namespace {

namespace fs_std = std::filesystem;

dtensor::StateDict selected(const dtensor::StateDict& state,
                            const std::function<bool(const std::string&)>& select) {
  dtensor::StateDict result;
  for (const auto& [key, tensor] : state.tensors) {
    if (!select || select(key)) {
      result.tensors.emplace(key, tensor);
    }
  }
  result.common = state.common;
  return result;
}

std::string texts_of(const dtensor::StateDict& state) {
  std::string all;
  for (const auto& [key, text] : state.common) {
    all += fmt::format("{} {}\n{}\n", key, text.size(), text);
  }
  return all;
}

void agree(const comm::Ranks& ranks, const dtensor::StateDict& state, const fs_std::path& file) {
  all_or_none(ranks, [&] { check_state(state); });
  validate(same_on_all(ranks, file.string()),
           fmt::format("the ranks name different files (here '{}')", file.string()));
  validate(same_on_all(ranks, shared_signature(state) + texts_of(state)),
           "the ranks have different states: names, shapes, dtypes, placements and texts must be "
           "the same on all of them");
}

WholeFile whole_file_of(const StateLayout& layout, const dtensor::StateDict& state) {
  WholeFile whole;
  for (const TensorLayout& tensor : layout.tensors) {
    const dtensor::ShardSpec& facts = tensor.facts;
    WholeTensor entry{tensor.key, facts.name, facts.global_shape, facts.dtype, facts.requires_grad,
                      {},         0};
    const std::string top = tensor.key.substr(0, tensor.key.find('.') + 1);
    for (const std::string& alias : facts.aliases) {
      entry.aliases.push_back(top + alias);
    }
    whole.tensors.push_back(std::move(entry));
  }
  whole.texts = state.common;
  return whole;
}

/// Makes the file in its final size, so that a full disk is noticed before anything is written.
void create(const fs_std::path& path, WholeFile& whole, FullFormat format) {
  if (format == FullFormat::hdf5) {
    create_whole_hdf5(path, whole);
  } else {
    create_whole_safetensors(path, whole);
  }
  const auto fs = posix_file_system();
  const File file(*fs, path, O_WRONLY);
  if (fs->allocate(file.fd(), whole.bytes) == 0) {
    return;
  }
  if (errno == ENOSPC || errno == EDQUOT || fs->resize(file.fd(), whole.bytes) != 0) {
    throw_errno("reserve space for", path);
  }
}

void write_part(const File& file, const WholeTensor& whole, const TensorLayout& layout,
                const dtensor::DTensor& tensor, std::size_t rank) {
  const dtensor::FlatRange stored = layout.stored[rank];
  if (stored.numel == 0) {
    return;
  }
  const auto width = static_cast<std::int64_t>(size_of(whole.dtype));
  const dtensor::FlatRange held = layout.held[rank];
  Region from{held};
  if (!layout.blocks.empty()) {
    from.block = layout.blocks[rank];
  }
  for_each_run(whole.shape.extents(), from, {stored.first - held.first, stored.numel},
               {{0, whole.shape.numel()}}, [&](const CopyRun& run) {
                 file.write_at({tensor.local.raw() + run.from * width,
                                static_cast<std::size_t>(run.numel * width)},
                               whole.file_offset + static_cast<std::uint64_t>(run.to * width));
               });
}

void write_parts(const fs_std::path& path, const WholeFile& whole, const StateLayout& layout,
                 const dtensor::StateDict& state, int rank) {
  const auto fs = posix_file_system();
  const File file(*fs, path, O_WRONLY);
  for (std::size_t i = 0; i < layout.tensors.size(); ++i) {
    const TensorLayout& tensor = layout.tensors[i];
    write_part(file, whole.tensors[i], tensor, state.tensors.at(tensor.key),
               static_cast<std::size_t>(rank));
  }
  file.sync();
}

fs_std::path temporary_name(const comm::Ranks& ranks, const fs_std::path& file) {
  std::string uuid = make_uuid();
  broadcast_text(ranks, uuid);
  fs_std::path temporary = file;
  temporary += ".tmp-" + uuid;
  return temporary;
}

}  // namespace

void save_full_state(comm::MeshComms& comms, const dtensor::StateDict& state,
                     const fs_std::path& file, const FullStateOptions& options) {
  const comm::Ranks ranks{comms.world.get(), &comms.mesh};
  const dtensor::StateDict wanted = on_host(selected(state, options.select));
  all_or_none(ranks, [&] { check_not_empty(wanted); });
  agree(ranks, wanted, file);
  const StateLayout layout = gather_layout(*ranks.world, *ranks.mesh, wanted);
  const fs_std::path temporary = temporary_name(ranks, file);
  std::string plan;
  try {
    all_or_none(ranks, [&] {
      if (ranks.rank() == 0) {
        WholeFile whole = whole_file_of(layout, wanted);
        create(temporary, whole, options.format);
        plan = to_json(whole);
      }
    });
    broadcast_text(ranks, plan);
    const WholeFile whole = parse_whole_file(plan);
    all_or_none(ranks, [&] { write_parts(temporary, whole, layout, wanted, ranks.rank()); });
    all_or_none(ranks, [&] {
      if (ranks.rank() == 0) {
        const auto fs = posix_file_system();
        rename_path(*fs, temporary, file);
        sync_directory(*fs, file.parent_path());
      }
    });
  } catch (const Error&) {
    if (ranks.rank() == 0) {
      std::error_code ignored;
      fs_std::remove(temporary, ignored);
    }
    throw;
  }
}

LoadReport load_full_state(comm::MeshComms& comms, const fs_std::path& file,
                           dtensor::StateDict& state, const LoadOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const comm::Ranks ranks{comms.world.get(), &comms.mesh};
  agree(ranks, selected(state, options.select), file);
  HostCopies copies(state);
  std::string listing;
  all_or_none(ranks, [&] {
    if (ranks.rank() == 0) {
      listing = to_json(read_whole_file(file));
    }
  });
  broadcast_text(ranks, listing);
  const WholeFile whole = parse_whole_file(listing);
  LoadReport report;
  report.path = file;
  const std::vector<WholeMatch> matches = match_whole(whole, state, options, file, report);
  std::int64_t bytes = 0;
  all_or_none(ranks, [&] { bytes = read_whole(file, matches); });
  copies.finish();
  for (const auto& [key, text] : whole.texts) {
    state.common[key] = text;
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(ranks.size()));
  ranks.world->all_gather(&bytes, all.data(), 1, DType::i64).wait();
  for (const std::int64_t read : all) {
    report.bytes_read += static_cast<std::uint64_t>(read);
  }
  auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(
                          std::chrono::steady_clock::now() - start)
                          .count();
  max_over_ranks(ranks, std::span(&microseconds, 1));
  report.seconds = static_cast<double>(microseconds) * 1e-6;
  return report;
}

}  // namespace sherd::io
