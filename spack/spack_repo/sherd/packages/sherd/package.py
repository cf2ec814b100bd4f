try:  # Spack 1.0 moved the build systems out of its core
    from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
    from spack_repo.builtin.build_systems.cuda import CudaPackage
except ImportError:  # Spack 0.23: the next line brings them
    pass

from spack.package import *


class Sherd(CMakePackage, CudaPackage):
    """Fully sharded training on MPI clusters, from C++, with checkpoints that never stop the
    training: parameters, gradients and optimizer state are cut over all ranks, and saved in the
    background into parallel HDF5 files."""

    tags = ["hpc", "machine-learning"]
    test_requires_compiler = True

    license("Apache-2.0")

    # The sources come from the checkout that the environment develops.
    version("main")

    variant("shared", default=True, description="Build shared libraries")
    variant("nccl", default=True, when="+cuda", description="Collectives between GPUs by NCCL")
    # One, as Kokkos takes only one. CudaPackage lets a package have many.
    variant(
        "cuda_arch",
        default="none",
        values=("none",) + CudaPackage.cuda_arch_values,
        multi=False,
        sticky=True,
        when="+cuda",
        description="The GPUs it will run on: 90 for H100 and H200, 80 for A100",
    )
    variant("openmp", default=False, description="Kokkos with OpenMP: a rank may use many cores")
    variant("io_uring", default=True, description="Write checkpoints with io_uring")
    variant("tests", default=False, description="Build the tests")
    variant("examples", default=False, description="Build the examples")
    variant("bench", default=False, description="Build the benchmarks")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type=("build", "test"))

    depends_on("mpi@3:")
    depends_on("hdf5@1.10.8:+mpi")
    depends_on("kokkos@3.4.01:5")
    depends_on("kokkos cxxstd=20", when="^kokkos@4")
    depends_on("kokkos+openmp", when="+openmp")
    depends_on("onednn@2.6:")
    depends_on("hwloc@2.7.1:")
    depends_on("fmt@9:")
    depends_on("spdlog@1.10:")
    depends_on("yaml-cpp@0.7:")
    depends_on("nlohmann-json@3.11:")
    depends_on("cli11@2.1:", type="build")
    depends_on("xxhash@0.8:")
    depends_on("liburing@2.3:", when="+io_uring")
    depends_on("benchmark@1.7:", when="+bench")
    depends_on("googletest@1.12:+gmock", when="+tests", type=("build", "link"))
    depends_on("googletest@1.12:+gmock", type="test")
    depends_on("python@3.9:", when="+tests", type="build")
    depends_on("python@3.9:", type="test")

    depends_on("cuda@12:", when="+cuda")
    depends_on("kokkos@4.4:+cuda+wrapper", when="+cuda")
    depends_on("kokkos+cuda_lambda", when="+cuda ^kokkos@4")
    depends_on("nccl@2.18:+cuda", when="+nccl")
    for _arch in CudaPackage.cuda_arch_values:
        if _arch.isdigit():
            depends_on(f"kokkos+cuda cuda_arch={_arch}", when=f"+cuda cuda_arch={_arch}")
            depends_on(f"nccl+cuda cuda_arch={_arch}", when=f"+nccl cuda_arch={_arch}")
        else:
            conflicts(
                f"cuda_arch={_arch}",
                msg=f"Kokkos knows no cuda_arch={_arch}. Try: cuda_arch={_arch[:-1]}",
            )

    conflicts("cuda_arch=none", when="+cuda", msg="say for which GPU. Try: sherd+cuda cuda_arch=90")
    conflicts(
        "^cuda@13:",
        when="+cuda ^kokkos@:4.7.00",
        msg="CUDA 13 needs Kokkos 4.7.01. Try: ^kokkos@4.7.01: or ^cuda@12",
    )
    conflicts("%gcc@:11", msg="sherd is C++20. Try: %gcc@12 or newer")
    conflicts("%clang@:14", msg="sherd is C++20. Try: %clang@15 or newer, or %gcc@12")
    for _runtime in ("threadpool", "sycl"):
        conflicts(
            f"^onednn cpu_runtime={_runtime}",
            msg="sherd calls oneDNN from a rank's own thread. Try: ^onednn cpu_runtime=omp or seq",
        )

    sanity_check_is_file = [
        join_path("bin", "sherd"),
        join_path("include", "sherd", "sherd.hpp"),
    ]

    def cmake_args(self):
        arguments = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("SHERD_ENABLE_CUDA", "cuda"),
            self.define_from_variant("SHERD_ENABLE_NCCL", "nccl"),
            self.define_from_variant("SHERD_ENABLE_IO_URING", "io_uring"),
            self.define_from_variant("SHERD_BUILD_TESTS", "tests"),
            self.define_from_variant("SHERD_BUILD_EXAMPLES", "examples"),
            self.define_from_variant("SHERD_BUILD_BENCH", "bench"),
        ]
        if self.run_tests:
            arguments.append(self.define("SHERD_BUILD_TESTS", True))
        return arguments

    def check(self):
        """Tests inside the build: those that need no MPI launcher."""
        with working_dir(self.build_directory):
            ctest("--output-on-failure", "--no-tests=error", "-L", "unit")

    @run_after("install")
    def keep_examples(self):
        cache_extra_test_sources(self, "examples")

    def test_program(self):
        """the installed program runs"""
        sherd = Executable(self.prefix.bin.sherd)
        assert "sherd" in sherd("--version", output=str.split, error=str.split)
        assert "communication backends" in sherd("info", output=str.split, error=str.split)

    def test_examples(self):
        """the examples build against the installed package and run, each as one rank"""
        cmake = Executable(self.spec["cmake"].prefix.bin.cmake)
        prefixes = [str(spec.prefix) for spec in self.spec.traverse(deptype="link")]
        sources = self.test_suite.current_test_cache_dir.examples
        cmake("-S", sources, "-B", "build", f"-DCMAKE_PREFIX_PATH={';'.join(prefixes)}")
        cmake("--build", "build")
        for arguments in (
            ["00_twelve_lines"],
            ["01_user_mlp"],
            ["02_checkpoint_an_array", "save", "field.ckpt"],
            ["02_checkpoint_an_array", "load", "field.ckpt"],
        ):
            with test_part(self, "test_" + "_".join(arguments[:2]), purpose=" ".join(arguments)):
                Executable(join_path("build", arguments[0]))(*arguments[1:])
