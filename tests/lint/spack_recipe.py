"""The Spack recipe parses, and its variants name options that the build has."""

import ast
import re

import source_tree

RECIPE = "spack/spack_repo/sherd/packages/sherd/package.py"
BUILT_IN = {"BUILD_SHARED_LIBS", "CMAKE_CXX_COMPILER", "CMAKE_CUDA_ARCHITECTURES", "BUILD_TESTING"}


def check(root):
    text = source_tree.read(root, RECIPE)
    try:
        ast.parse(text, RECIPE)
    except SyntaxError as error:
        return [f"{RECIPE}:{error.lineno}: {error.msg}"]
    known = set(re.findall(r"^(?:option|set)\((SHERD_\w+)",
                           source_tree.read(root, "cmake/SherdOptions.cmake"), re.M))
    used = set(re.findall(r'define(?:_from_variant)?\(\s*"(\w+)"', text))
    return [f"{RECIPE}: sets {name}, which is no option of the build"
            for name in sorted(used - known - BUILT_IN)]
