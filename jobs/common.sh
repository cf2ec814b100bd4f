# Read by the other scripts of this folder: `source jobs/common.sh`. Makes the repository's root the
# current folder and offers the steps they share.
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Asked before OMP_NUM_THREADS is set, which nproc would take for the answer.
cores=$(env -u OMP_NUM_THREADS nproc)

# Ranks of one machine as any user, more of them than cores, one thread each.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_btl_base_warn_component_unused=0 OMP_NUM_THREADS=1

step() { printf '\n== %s (%d s)\n' "$*" "$SECONDS"; }

# The preset for this machine: the CUDA and NCCL parts are compiled where both are found.
pick_preset() {
  local cuda nvcc
  nvcc=$(command -v nvcc || true)
  for cuda in "${CUDA_HOME:-}" "${nvcc:+$(dirname "$(dirname "$nvcc")")}" /usr/local/cuda; do
    [ -n "$cuda" ] && [ -e "$cuda/include/cuda_runtime_api.h" ] || continue
    for nccl in "${NCCL_ROOT:-}" "$cuda" /usr /usr/local; do
      if [ -n "$nccl" ] && [ -e "$nccl/include/nccl.h" ]; then
        echo ci
        return
      fi
    done
  done
  echo release
}

# configure PRESET [-D...]: with ccache where it is installed.
configure() {
  local launcher=()
  if command -v ccache > /dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  cmake --preset "$1" -G Ninja "${launcher[@]}" "${@:2}"
}

build() { cmake --build "build/$1" --parallel "$cores" "${@:2}"; }
