# sherd::sherd (all libraries), and what `cmake --install` puts where: the program, libraries, headers,
# files for pkg-config, and a CMake package that finds every dependency again by the same helpers as the
# build. The installed tree names no path of its own, so it can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(SherdPkgConfig)

get_property(SHERD_LIBRARIES GLOBAL PROPERTY SHERD_LIBRARIES)
add_library(sherd_all INTERFACE)
add_library(sherd::sherd ALIAS sherd_all)
set_target_properties(sherd_all PROPERTIES EXPORT_NAME sherd)
target_link_libraries(sherd_all INTERFACE ${SHERD_LIBRARIES})

set(SHERD_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/sherd")
file(RELATIVE_PATH SHERD_RPATH "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
install(TARGETS sherd_all ${SHERD_LIBRARIES} EXPORT sherdTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
if(BUILD_SHARED_LIBS)
  set_target_properties(${SHERD_LIBRARIES} PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    INSTALL_RPATH "$ORIGIN;${CMAKE_INSTALL_RPATH}")
endif()
if(TARGET sherd_program)
  set_target_properties(sherd_program PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin" INSTALL_RPATH "$ORIGIN/${SHERD_RPATH};${CMAKE_INSTALL_RPATH}")
  install(TARGETS sherd_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/sherd" "${PROJECT_BINARY_DIR}/include/sherd"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# The Slurm scripts, for those who have no checkout.
file(GLOB SHERD_JOBS CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/jobs/*.sbatch")
install(FILES ${SHERD_JOBS} "${PROJECT_SOURCE_DIR}/jobs/slurm.sh" "${PROJECT_SOURCE_DIR}/jobs/scaling_table.py"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/sherd/jobs")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/jobs/env" DESTINATION "${CMAKE_INSTALL_DATADIR}/sherd/jobs")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/sherdConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/package/sherdConfig.cmake"
                              INSTALL_DESTINATION "${SHERD_PACKAGE_DIR}"
                              NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/sherdConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/sherdConfig.cmake"
              "${PROJECT_BINARY_DIR}/package/sherdConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/SherdPackages.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/SherdKokkos.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/SherdHdf5.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindNCCL.cmake"
        DESTINATION "${SHERD_PACKAGE_DIR}")
install(EXPORT sherdTargets NAMESPACE sherd:: DESTINATION "${SHERD_PACKAGE_DIR}")

sherd_add_pkg_config(sherd sherd_all "Fully sharded training over MPI, with checkpoints in HDF5")
sherd_add_pkg_config(sherd-io sherd_io "Checkpoints of distributed arrays in HDF5, over MPI")
