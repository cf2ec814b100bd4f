"""Every check accepts a good tree and refuses one that breaks its rule."""

import os
import tempfile
import unittest
from pathlib import Path

import function_length
import kokkos_version
import layers
import named_files
import named_tests
import raw_api
import rooms
import source_tree
import spack_recipe
import words

ARCHITECTURE = r"""# A

## Layers

| layer | module | may include |
|---|---|---|
| 0 | base | |
| 1 | comm | base |
| 2 | fsdp | base, comm |

## C libraries

| library | header | calls | folders |
|---|---|---|---|
| MPI | `mpi.h` | `MPI_[A-Z][a-z]\w*` | src/comm |
| oneDNN | `dnnl.h(pp)?` | `dnnl(_\w+\|::\w+)` | src/tensor |
"""


ROOMS = """
## Inside comm

| room | may include | what |
|---|---|---|
| low | | a |
| high | low | b |
| top | low, high | c |
"""


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        self.write("docs/architecture.md", ARCHITECTURE)

    def write(self, path, text):
        file = self.root / path
        os.makedirs(file.parent, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def assert_refused(self, check, word):
        problems = check(self.root)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(word, problems[0])


class Layers(Tree):
    def test_downwards_and_own_files_are_fine(self):
        self.write("src/fsdp/private.hpp", "")
        self.write("src/fsdp/a.cpp", '#include "private.hpp"\n#include "sherd/comm/work.hpp"\n'
                                     '#include "fsdp/private.hpp"\n#include <vector>\n')
        self.assertEqual(layers.check(self.root), [])

    def test_upwards(self):
        self.write("include/sherd/comm/a.hpp", '#include "sherd/fsdp/b.hpp"\n')
        self.assert_refused(layers.check, "comm may not include")

    def test_private_header_of_another_module(self):
        self.write("src/fsdp/a.cpp", '#include "comm/mpi/api.hpp"\n')
        self.assert_refused(layers.check, "private")

    def test_umbrella(self):
        self.write("src/fsdp/a.cpp", '#include "sherd/sherd.hpp"\n')
        self.assert_refused(layers.check, "sherd.hpp")

    def test_module_without_a_row(self):
        self.write("src/stray/a.cpp", "")
        self.assert_refused(layers.check, "not in the table")

    def test_table_that_points_upwards(self):
        self.write("docs/architecture.md", ARCHITECTURE.replace("| 0 | base | |", "| 0 | base | comm |"))
        self.assert_refused(layers.check, "own layer or above")


class NamedFiles(Tree):
    def setUp(self):
        super().setUp()
        self.write("docs/architecture.md", ARCHITECTURE + "\n## A step\n\n`fsdp/a.cpp`\n\n## A save\n\n`save/b.cpp`\n")
        self.write("docs/extending.md", "Look at `src/fsdp/a.cpp` and `Communicator`.\n")
        self.write("src/fsdp/a.cpp", "")
        self.write("io/save/b.cpp", "")

    def test_files_that_are_there(self):
        self.assertEqual(named_files.check(self.root), [])

    def test_a_recipe_that_names_a_file_of_yesterday(self):
        self.write("docs/extending.md", "Look at `src/fsdp/gone.cpp`.\n")
        self.assert_refused(named_files.check, "gone.cpp")

    def test_a_walk_that_does(self):
        os.remove(self.root / "io/save/b.cpp")
        self.assert_refused(named_files.check, "A save: there is no file save/b.cpp")


class Rooms(Tree):
    def setUp(self):
        super().setUp()
        self.write("docs/architecture.md", ARCHITECTURE + ROOMS)
        self.write("src/comm/low/a.hpp", "")

    def test_downwards_and_other_modules_are_fine(self):
        self.write("src/comm/high/a.cpp", '#include "comm/low/a.hpp"\n#include "sherd/comm/work.hpp"\n')
        self.write("src/comm/top.cpp", '#include "comm/high/a.hpp"\n')
        self.assertEqual(rooms.check(self.root), [])

    def test_upwards(self):
        self.write("src/comm/low/a.cpp", '#include "comm/high/b.hpp"\n')
        self.assert_refused(rooms.check, "room low may not include")

    def test_to_the_top(self):
        self.write("src/comm/high/a.cpp", '#include "comm/top.hpp"\n')
        self.assert_refused(rooms.check, "room high may not include")

    def test_room_without_a_row(self):
        self.write("src/comm/attic/a.cpp", "")
        self.assert_refused(rooms.check, "not in the table")

    def test_table_that_points_upwards(self):
        self.write("docs/architecture.md", ARCHITECTURE + ROOMS.replace("| low | |", "| low | high |"))
        self.assert_refused(rooms.check, "below it in the table")


class RawApi(Tree):
    def test_allowed_folder_comments_and_strings(self):
        self.write("src/comm/a.cpp", "#include <mpi.h>\nint a = MPI_Barrier(c);\n")
        self.write("src/fsdp/a.cpp", '// MPI_Barrier(c)\nauto s = "MPI_Barrier(";\nint MPI_MAX;\n')
        self.assertEqual(raw_api.check(self.root), [])

    def test_include(self):
        self.write("include/sherd/comm/a.hpp", "#include <mpi.h>\n")
        self.assert_refused(raw_api.check, "MPI may not be used here")

    def test_include_in_a_folder_of_the_library(self):
        self.write("src/fsdp/a.cpp", "#include <oneapi/dnnl/dnnl.hpp>\n")
        self.assert_refused(raw_api.check, "oneDNN")

    def test_call(self):
        self.write("src/fsdp/a.cpp", "void f() {\n  MPI_Barrier(c);\n}\n")
        self.assert_refused(raw_api.check, "src/fsdp/a.cpp:2")


class KokkosVersion(Tree):
    def test_folder(self):
        self.write("include/sherd/kx/fence.hpp", "#if KOKKOS_VERSION >= 30500\n#endif\n")
        self.assertEqual(kokkos_version.check(self.root), [])
        self.write("src/tensor/a.cpp", "#if KOKKOS_VERSION >= 30500\n#endif\n")
        self.assert_refused(kokkos_version.check, "src/tensor/a.cpp:1")


class FunctionLength(Tree):
    def test_finds_functions_and_nothing_else(self):
        code = source_tree.bare_code(
            "namespace a {\nstruct S {\n  S() : x{1} {}\n  int f() const {\n    if (x) { }\n"
            "    return x;\n  }\n  int x;\n};\nenum class E { a, b };\n"
            'static void g(const char* s = "}{") {\n  auto h = [] { return 1; };\n}\n}\n')
        names = [name for name, _, _ in function_length.functions(code)]
        self.assertEqual(names, ["S", "f", "g"])

    def test_long_function(self):
        self.write("src/a/a.cpp", "void f() {\n" + "  g();\n" * 79 + "}\n")
        self.assert_refused(function_length.check, "81 lines")

    def test_longest_legal_function(self):
        self.write("src/a/a.cpp", "void f() {\n" + "  g();\n" * 78 + "}\n")
        self.assertEqual(function_length.check(self.root), [])

    def test_long_file_needs_a_reason(self):
        self.write("src/a/a.cpp", "int a;\n" * 301)
        self.assert_refused(function_length.check, "301 lines")
        self.write("src/a/a.cpp", "// One table.\n" + "int a;\n" * 301)
        self.assertEqual(function_length.check(self.root), [])


class Words(Tree):
    def test_forbidden(self):
        for text in ("// TO" + "DO: later", "GTEST_" + "SKIP();", "TEST(A, DISA" + "BLED_b) {}",
                     'f("/ho' + 'me/me/x");'):
            self.write("src/a/a.cpp", text + "\n")
            self.assert_refused(words.check, "src/a/a.cpp:1")

    def test_ordinary_text(self):
        self.write("src/a/a.cpp", 'f("${x}/home/"); // to do\n')
        self.assertEqual(words.check(self.root), [])


class NamedTests(Tree):
    def test_cases_of_both_kinds(self):
        self.write("tests/a.cpp", "TEST_F(Norm,\n       IsGlobal) {}\n")
        self.write("tests/a.py", "    def test_it(self):\n")
        for page in named_tests.PAGES:
            self.write(page, "Norm.IsGlobal, test_it\n")
        self.assertEqual(named_tests.check(self.root), [])
        for page in named_tests.PAGES:
            for name in ("Norm.IsLocal", "test_other"):
                self.write(page, name + "\n")
                self.assert_refused(named_tests.check, name)
            self.write(page, "")


class SpackRecipe(Tree):
    OPTIONS = """option(SHERD_ENABLE_X "An x" OFF)
cmake_dependent_option(SHERD_ENABLE_Y "A y" ON
                       "SHERD_ENABLE_X" OFF)
option(SHERD_WERROR "For work on it" OFF)
"""
    RECIPE = """variant("x", default=False)
variant("y", default=True, when="+x")
depends_on("z", when="+y ^zlib+shared")
a = [define_from_variant("SHERD_ENABLE_X", "x"), define_from_variant("SHERD_ENABLE_Y", "y")]
"""
    PAGE = "| `x` | `false` | `SHERD_ENABLE_X` |\n| `y` | `true` | `SHERD_ENABLE_Y` | text |\n"

    def write_all(self, options=OPTIONS, recipe=RECIPE, page=PAGE):
        self.write(spack_recipe.OPTIONS, options)
        self.write(spack_recipe.RECIPE, recipe)
        self.write(spack_recipe.PAGE, page)

    def test_same_on_both_sides(self):
        self.write_all()
        self.assertEqual(spack_recipe.check(self.root), [])

    def test_differences(self):
        recipe = self.RECIPE
        for changes, words in (
                ({"recipe": "def f(:\n"}, "package.py:1"),
                ({"recipe": recipe.replace("ENABLE_X", "ENABLE_W")}, "no option of the build"),
                ({"options": self.OPTIONS + 'option(SHERD_NEW "One more" ON)\n'}, "SHERD_NEW is set by no variant"),
                ({"recipe": recipe.replace('"y")]', '"w")]')}, "there is no variant w"),
                ({"recipe": recipe.replace("+y ^", "+w ^")}, "there is no variant w"),
                ({"recipe": recipe + 'variant("w", default=False)\n'}, "nothing depends on variant w"),
                ({"recipe": recipe.replace('"x", default=False', '"x", default=True')}, "unless asked for"),
                ({"page": self.PAGE.replace("`true`", "`false`")}, "variant y"),
                ({"page": self.PAGE.replace("SHERD_ENABLE_X", "SHERD_ENABLE_Y")}, "variant x"),
                ({"page": ""}, "variant x"),
                ({"page": self.PAGE + "| `w` | `false` | |\n"}, "variant w")):
            self.write_all(**changes)
            problems = spack_recipe.check(self.root)
            self.assertTrue(any(words in problem for problem in problems), (words, problems))


if __name__ == "__main__":
    unittest.main()
