#pragma once

#include <cstdint>

/// System calls that change files, interposed: they fail where a test says so, and are logged in
/// the order in which they happened on this machine. Linked into a program, or preloaded into one
/// that knows nothing of it. Only paths below SHERD_SHIM_ROOT are looked at.
///
///   SHERD_SHIM_ROOT=FOLDER          an absolute path
///   SHERD_SHIM_FAULT=CALL:N:WHAT[:RANK]
///       CALL  pwrite, fsync (and fdatasync), rename, open, fallocate, mkdir, any
///       N     the N-th such call of a process; "N+": that and all later ones
///       WHAT  EIO, ENOSPC, short (half of what a pwrite should write) or kill (SIGKILL)
///       RANK  of OMPI_COMM_WORLD_RANK; without: every rank
///   SHERD_SHIM_LOG=FILE             appended to by all processes; see operation_log.hpp
extern "C" {

/// Sets the fault as SHERD_SHIM_FAULT does and counts from one again; nullptr: no more faults.
void sherd_shim_arm(const char* fault);
/// Calls so far of the kind that the fault names.
int sherd_shim_calls();
/// Whether the fault has happened.
int sherd_shim_fired();
/// Starts logging to a file; nullptr stops it.
void sherd_shim_log(const char* root, const char* file);
/// A remark in the log, such as "committed 3".
void sherd_shim_note(const char* text);
}
