#!/bin/bash
# Builds and runs a consumer of the installed package by one call of the compiler.
# usage: pkg_config.sh PREFIX all|io_only
set -euo pipefail
prefix=$1
consumer=$2

folder=$(dirname "$(find "$prefix" -name sherd.pc)")
export PKG_CONFIG_PATH=$folder
package=sherd
[ "$consumer" = all ] || package=sherd-io

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$(cd "$(dirname "$0")" && pwd)/$consumer/main.cpp
cd "$work"
# One argument a flag:
# shellcheck disable=SC2046,SC2086
"$CXX" -std=c++20 ${CXXFLAGS:-} "$source" $(pkg-config --cflags --libs $package) -o consumer
LD_LIBRARY_PATH=$(pkg-config --variable=libdir $package):${LD_LIBRARY_PATH:-} ./consumer
