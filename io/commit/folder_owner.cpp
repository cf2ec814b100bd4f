#include "sherd/io/folder_owner.hpp"

#include "io/commit/lease.hpp"

namespace sherd::io {

FolderOwner::FolderOwner(const std::filesystem::path& folder) : lease_(Lease::take(folder)) {}

FolderOwner::~FolderOwner() = default;
FolderOwner::FolderOwner(FolderOwner&& other) noexcept = default;
FolderOwner& FolderOwner::operator=(FolderOwner&& other) noexcept = default;

}  // namespace sherd::io
