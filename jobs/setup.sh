#!/bin/bash
# Installs what sherd needs to be built and tested on Debian 12, and nothing that is already there.
# As root it calls apt-get; otherwise it prints the one command to run and exits with 2.
# usage: jobs/setup.sh [--check]     --check: print what is missing, install nothing
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config              # the build
  libopenmpi-dev openmpi-bin                    # MPI and mpirun
  libhdf5-openmpi-dev hdf5-tools                # parallel HDF5; h5ls and h5dump
  libtrilinos-kokkos-dev                        # Kokkos 3.4.01
  libdnnl-dev ocl-icd-opencl-dev                # oneDNN, whose CMake package looks for OpenCL
  libhwloc-dev libyaml-cpp-dev libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libxxhash-dev
  liburing-dev                                  # asynchronous writes
  libgtest-dev libgmock-dev libbenchmark-dev    # tests and benchmarks
  python3 python3-h5py clang-format-14          # checks over sources and files
  iproute2 util-linux mount                     # tests over two nodes made of one machine
  slurmctld slurmd slurm-client munge           # jobs on those nodes; no service of theirs has to run
)

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

if [ "${1:-}" = --check ]; then
  echo "missing: ${missing[*]}"
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "sherd needs ${#missing[@]} more Debian packages. Run this once, then start again:" >&2
  echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 2
fi

echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
install=(apt-get install -y -q --no-install-recommends "${missing[@]}")
if ! "${install[@]}"; then
  apt-get update -q  # the lists may be absent or older than the archive
  "${install[@]}"
fi
