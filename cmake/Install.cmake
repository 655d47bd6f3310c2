# `cmake --install build/release --prefix X`: the library, its four headers, the
# command line and a package config (find_package(lowwater)).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lowwater)
install(TARGETS lowwater EXPORT lowwaterTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# The command line finds the library beside it, wherever the two are moved.
set_target_properties(lowwater_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS lowwater_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/lowwater DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT lowwaterTargets NAMESPACE lowwater:: DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/lowwaterConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(WRITE ${CMAKE_BINARY_DIR}/lowwaterConfig.cmake
  "include(\${CMAKE_CURRENT_LIST_DIR}/lowwaterTargets.cmake)\n")
install(FILES ${CMAKE_BINARY_DIR}/lowwaterConfig.cmake ${CMAKE_BINARY_DIR}/lowwaterConfigVersion.cmake
  DESTINATION ${package_dir})
