# Needs Spack 1.0 or newer: build systems come from spack_repo.builtin.
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Sherd(CMakePackage, CudaPackage):
    """Fully sharded training on MPI clusters, from C++, with checkpoints that never stop the
    training: parameters, gradients and optimizer state are cut over all ranks, and saved in the
    background into parallel HDF5 files."""

    tags = ["hpc", "machine-learning"]
    test_requires_compiler = True

    license("Apache-2.0")

    # The sources come from the checkout that spack.yaml develops.
    version("main")

    variant("shared", default=True, description="Build shared libraries")
    variant("io_uring", default=True, description="Write checkpoints with io_uring")
    variant("examples", default=False, description="Build the examples")
    variant("bench", default=False, description="Build the benchmarks")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")

    depends_on("mpi@3:")
    depends_on("hdf5@1.10.8:+mpi")
    depends_on("kokkos@3.7:5")
    depends_on("kokkos cxxstd=20", when="^kokkos@4:")
    depends_on("onednn@2.6:")
    depends_on("hwloc@2.7.1:")
    depends_on("fmt@9:")
    depends_on("spdlog@1.10:")
    depends_on("yaml-cpp@0.7:")
    depends_on("nlohmann-json@3.11:")
    depends_on("cli11@2.1:", type="build")
    depends_on("xxhash")
    depends_on("liburing@2.3:", when="+io_uring")
    depends_on("googletest@1.12:+gmock", type="test")
    depends_on("benchmark", when="+bench")
    depends_on("python@3.9:", type="test")

    # CUDA here means the host-side parts: NCCL and the CUDA runtime.
    depends_on("nccl@2.18:+cuda", when="+cuda")
    depends_on("hwloc+cuda+nvml", when="+cuda")
    for _arch in CudaPackage.cuda_arch_values:
        depends_on(f"nccl cuda_arch={_arch}", when=f"+cuda cuda_arch={_arch}")

    conflicts("cuda_arch=none", when="+cuda", msg="say which GPUs: cuda_arch=90")
    conflicts("%gcc@:11", msg="sherd is C++20 and needs g++ 12 or newer")

    sanity_check_is_file = [join_path("bin", "sherd"), join_path("include", "sherd", "sherd.hpp")]

    def cmake_args(self):
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("SHERD_ENABLE_CUDA", "cuda"),
            self.define_from_variant("SHERD_ENABLE_IO_URING", "io_uring"),
            self.define_from_variant("SHERD_BUILD_EXAMPLES", "examples"),
            self.define_from_variant("SHERD_BUILD_BENCH", "bench"),
            self.define("SHERD_BUILD_TESTS", self.run_tests),
        ]

    def check(self):
        """Tests inside the build: those that need no MPI launcher."""
        with working_dir(self.build_directory):
            ctest("--output-on-failure", "--no-tests=error", "-L", "unit")

    def test_version(self):
        """the installed program runs"""
        sherd = Executable(self.prefix.bin.sherd)
        output = sherd("--version", output=str.split, error=str.split)
        assert "sherd" in output

    def test_consumer(self):
        """a project that links the installed package builds"""
        folder = self.test_suite.current_test_cache_dir.tests.install.join("all")
        if not os.path.exists(folder):
            raise SkipTest("the consumer project was not kept")
        with working_dir("consumer", create=True):
            cmake = Executable(self.spec["cmake"].prefix.bin.cmake)
            cmake(folder, f"-DCMAKE_PREFIX_PATH={self.prefix}")
            cmake("--build", ".")

    @run_after("install")
    def keep_consumer(self):
        cache_extra_test_sources(self, "tests/install/all")
