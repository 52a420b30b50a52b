# SPDX-License-Identifier: MIT
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/jitgate-targets.cmake)
