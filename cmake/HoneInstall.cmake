# Install rules: libraries, header, command with its man page and completions, CMake package, pkg-config file.

include(CMakePackageConfigHelpers)

install(TARGETS hone_static hone_shared EXPORT hone
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/hone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(HONE_BUILD_CLI)
    install(TARGETS hone RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES share/man/man1/hone.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES share/bash-completion/completions/hone
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES share/zsh/site-functions/_hone
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES share/fish/vendor_completions.d/hone.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hone)
install(EXPORT hone FILE hone-targets.cmake NAMESPACE hone:: DESTINATION ${package_dir})
configure_package_config_file(cmake/hone-config.cmake.in hone-config.cmake
    INSTALL_DESTINATION ${package_dir}
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(hone-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/hone-config.cmake
    ${PROJECT_BINARY_DIR}/hone-config-version.cmake
    DESTINATION ${package_dir})

# The .pc file finds the prefix from its own place, so the installed tree can be moved.
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
foreach(kind LIBDIR INCLUDEDIR)
    file(RELATIVE_PATH HONE_PC_${kind}
        ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_${kind}})
    string(REGEX REPLACE "/$" "" HONE_PC_${kind} ${HONE_PC_${kind}})
endforeach()
set(HONE_PC_DL)
if(CMAKE_DL_LIBS)
    string(CONCAT HONE_PC_DL " -l" ${CMAKE_DL_LIBS})
endif()
configure_file(cmake/hone.pc.in hone.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hone.pc DESTINATION ${pkgconfig_dir})
