"""The Spack recipe's variants and the options of the build are the same: each option that a package may
choose has a variant and the other way round, with equal defaults, and docs/spack.md's table has them all."""

import ast
import re

import source_tree

RECIPE = "spack/spack_repo/sherd/packages/sherd/package.py"
OPTIONS = "cmake/SherdOptions.cmake"
PAGE = "docs/spack.md"
BUILT_IN = {"CMAKE_CXX_COMPILER", "CMAKE_CUDA_ARCHITECTURES"}
# Not for packages: they are for work on sherd itself; instruction sets are Spack's own target=.
FOR_DEVELOPERS = {"SHERD_FUZZ", "SHERD_NATIVE", "SHERD_QUICK_TEST_BUILD", "SHERD_SANITIZE",
                  "SHERD_UNITY_BUILD", "SHERD_WERROR"}
MIXINS = {"CudaPackage": {"cuda": False, "cuda_arch": "none"}}


def calls(tree, *names):
    """Every call of a function or method with one of the names: the call, its literal arguments, its keywords."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", None))
            if name in names:
                yield ([argument.value for argument in node.args if isinstance(argument, ast.Constant)],
                       {keyword.arg: getattr(keyword.value, "value", None) for keyword in node.keywords})


def variants_of(tree):
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                found.update(MIXINS.get(getattr(base, "id", None), {}))
    found.update({arguments[0]: keywords.get("default") for arguments, keywords in calls(tree, "variant")})
    return found


def options_of(text):
    """Name to default: True, False, or None where it depends or is no switch."""
    pattern = r'^(?:option|set|cmake_dependent_option)\(\s*(SHERD_\w+|BUILD_SHARED_LIBS)\s+"[^"]*"\s+(\S+?)[\s)]'
    return {name: {"ON": True, "OFF": False}.get(default)
            for name, default in re.findall(pattern, text, re.M)}


def conditions(tree):
    """Names of variants in the recipe's own conditions: before any ^, which is about a dependency."""
    texts = [keywords["when"] for _, keywords in calls(tree, "depends_on", "conflicts", "variant")
             if isinstance(keywords.get("when"), str)]
    texts += [arguments[0] for arguments, _ in calls(tree, "satisfies")]
    for text in texts:
        yield from re.findall(r"[+~](\w+)|\b(\w+)=", text.split("^")[0])


def table_of(text):
    """Rows `| variant | default | option | ...` of the page."""
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (?:`(\w+)`)?[^|]*\|", text, re.M)
    return {variant: (default, option) for variant, default, option in rows}


def check(root):
    text = source_tree.read(root, RECIPE)
    try:
        tree = ast.parse(text, RECIPE)
    except SyntaxError as error:
        return [f"{RECIPE}:{error.lineno}: {error.msg}"]
    variants, options = variants_of(tree), options_of(source_tree.read(root, OPTIONS))
    by_variant = {arguments[0]: arguments[-1] for arguments, _ in calls(tree, "define_from_variant")}
    by_hand = {arguments[0] for arguments, _ in calls(tree, "define")}
    tested = {name for pair in conditions(tree) for name in pair if name}

    problems = [f"{RECIPE}: sets {name}, which is no option of the build"
                for name in sorted((set(by_variant) | by_hand) - set(options) - BUILT_IN)]
    problems += [f"{OPTIONS}: {name} is set by no variant of {RECIPE}"
                 for name in sorted(set(options) - set(by_variant) - by_hand - FOR_DEVELOPERS)]
    problems += [f"{RECIPE}: there is no variant {name}"
                 for name in sorted((set(by_variant.values()) | tested) - set(variants))]
    problems += [f"{RECIPE}: nothing depends on variant {name}"
                 for name in sorted(set(variants) - set(by_variant.values()) - tested - {"cuda_arch"})]
    for option, variant in sorted(by_variant.items()):
        enables = option.startswith("SHERD_ENABLE_")  # the others are on for who builds a checkout
        if enables and options.get(option) != variants.get(variant):
            problems.append(f"{RECIPE}: {variant} is {variants.get(variant)} unless asked for, {option} is "
                            f"{options.get(option)}")
    return problems + check_page(root, variants, by_variant)


def check_page(root, variants, by_variant):
    table = table_of(source_tree.read(root, PAGE))
    option_of = {variant: option for option, variant in by_variant.items()}
    problems = []
    for variant in sorted(set(variants) | set(table)):
        default = str(variants.get(variant)).lower()
        expected = (default, option_of.get(variant, "")) if variant in variants else None
        if table.get(variant) != expected:
            problems.append(f"{PAGE}: variant {variant} is {table.get(variant)} there and {expected} in the recipe")
    return problems
