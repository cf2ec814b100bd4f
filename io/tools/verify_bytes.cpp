#include "io/tools/verify_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "io/disk/crc32c.hpp"
#include "io/disk/damaged.hpp"
#include "io/disk/positioned_reader.hpp"
#include "io/format/digests.hpp"
#include "sherd/base/error.hpp"
#include "sherd/runtime/team.hpp"

namespace sherd::io {
namespace {

constexpr std::uint64_t kUnitBytes = std::uint64_t{8} << 20;
constexpr unsigned kMostThreads = 8;

/// What one thread reads at a time: a part of an item.
struct Unit {
  std::size_t item = 0;
  Extent extent;
  std::uint32_t crc = 0;
  std::string error = {};
  bool unreadable = false;
};

class ByteCheck {
 public:
  ByteCheck(const std::filesystem::path& folder, const Manifest& manifest,
            const VerifyOptions& options, std::vector<bool>& sound)
      : manifest_(manifest), options_(options), sound_(sound), items_(list_digests(manifest)) {
    for (std::size_t i = 0; i < manifest.files.size(); ++i) {
      open(folder, i);
    }
    for (std::size_t i = 0; i < items_.size(); ++i) {
      cut(i);
    }
  }

  std::uint64_t run(std::vector<VerifyProblem>& problems) {
    read_all();
    for (std::size_t i = 0, unit = 0; i < items_.size(); ++i) {
      const std::size_t begin = unit;
      while (unit < units_.size() && units_[unit].item == i) {
        ++unit;
      }
      judge(items_[i], std::span(units_).subspan(begin, unit - begin));
    }
    problems = std::move(problems_);
    return done_;
  }

 private:
  void open(const std::filesystem::path& folder, std::size_t index) {
    const FileRecord& record = manifest_.files[index];
    readers_.emplace_back();
    try {
      readers_.back().emplace(folder / record.name);
      const std::uint64_t bytes = readers_.back()->bytes();
      if (bytes != record.bytes) {
        add(index,
            fmt::format("'{}' has {} bytes, should have {}", record.name, bytes, record.bytes));
      }
    } catch (const DamagedError& error) {
      readers_.back().reset();
      add(index, error.what());
    } catch (const IoError& error) {
      readers_.back().reset();
      add(index, error.what(), true);
    }
  }

  void add(std::size_t file, std::string text, bool unreadable = false) {
    sound_[file] = false;
    problems_.push_back(
        {.file = manifest_.files[file].name, .unreadable = unreadable, .text = std::move(text)});
  }

  void cut(std::size_t item) {
    for (const Extent& extent : items_[item].extents) {
      for (std::uint64_t at = extent.offset; at < extent.end(); at += kUnitBytes) {
        units_.push_back({item, {at, std::min(kUnitBytes, extent.end() - at)}});
        total_ += units_.back().extent.bytes;
      }
    }
  }

  void read_all() {
    const unsigned wanted = options_.threads > 0
                                ? static_cast<unsigned>(options_.threads)
                                : std::min(kMostThreads, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < wanted && i < units_.size(); ++i) {
      threads.emplace_back([this] {
        runtime::leave_the_team();
        read_units();
      });
    }
    read_units();
    for (std::thread& thread : threads) {
      thread.join();
    }
  }

  void read_units() {
    std::vector<std::byte> buffer;
    for (std::size_t i = next_++; i < units_.size(); i = next_++) {
      Unit& unit = units_[i];
      const auto& reader = readers_[items_[unit.item].file];
      if (!reader) {
        continue;
      }
      try {
        buffer.resize(unit.extent.bytes);
        reader->read(unit.extent.offset, buffer);
        unit.crc = crc32c(buffer);
        count(unit.extent.bytes);
      } catch (const DamagedError& error) {
        unit.error = error.what();
      } catch (const IoError& error) {
        unit.error = error.what();
        unit.unreadable = true;
      }
    }
  }

  void count(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    done_ += bytes;
    if (options_.progress) {
      options_.progress(done_, total_);
    }
  }

  void judge(const DigestItem& item, std::span<const Unit> units) {
    if (!readers_[item.file]) {
      return;  // said already
    }
    std::uint32_t crc = 0;
    for (const Unit& unit : units) {
      if (!unit.error.empty()) {
        add(item, fmt::format("{}: {}", item.what, unit.error), {}, unit.unreadable);
        return;
      }
      crc = crc32c_combine(crc, unit.crc, unit.extent.bytes);
    }
    if (crc != item.expected) {
      const Extent where = locate(item);
      add(item,
          item.piece == nullptr
              ? item.what + " does not match its crc32c"
              : fmt::format("{} does not match its crc32c (bytes {} to {} of the file)", item.what,
                            where.offset, where.end()),
          where);
    }
  }

  void add(const DigestItem& item, std::string text, Extent where, bool unreadable = false) {
    if (item.tensor == nullptr) {
      sound_[item.file] = false;
    }
    problems_.push_back({.file = manifest_.files[item.file].name,
                         .tensor = item.tensor == nullptr ? "" : item.tensor->key,
                         .rank = item.piece == nullptr ? -1 : item.piece->rank,
                         .first_byte = where.offset,
                         .end_byte = where.end(),
                         .unreadable = unreadable,
                         .text = std::move(text)});
  }

  /// The bytes that the damage lies in: as close as the digests say.
  Extent locate(const DigestItem& item) const {
    if (item.piece == nullptr) {
      return {};
    }
    const Extent whole = item.extents.front();
    Extent found{whole.end(), 0};
    std::vector<std::byte> buffer;
    for (std::size_t i = 0; i < item.piece->parts_crc32c.size(); ++i) {
      const std::uint64_t at = whole.offset + i * kDigestBytes;
      buffer.resize(std::min(kDigestBytes, whole.end() - at));
      readers_[item.file]->read(at, buffer);
      if (crc32c(buffer) != item.piece->parts_crc32c[i]) {
        found.offset = std::min(found.offset, at);
        found.bytes = at + buffer.size() - found.offset;
      }
    }
    return found.bytes == 0 ? whole : found;
  }

  const Manifest& manifest_;
  const VerifyOptions& options_;
  std::vector<bool>& sound_;
  std::vector<DigestItem> items_;
  std::vector<std::optional<PositionedReader>> readers_;
  std::vector<Unit> units_;
  std::vector<VerifyProblem> problems_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace

std::vector<VerifyProblem> verify_bytes(const std::filesystem::path& folder,
                                        const Manifest& manifest, const VerifyOptions& options,
                                        std::vector<bool>& sound, std::uint64_t& bytes) {
  std::vector<VerifyProblem> problems;
  bytes = ByteCheck(folder, manifest, options, sound).run(problems);
  return problems;
}

}  // namespace sherd::io
