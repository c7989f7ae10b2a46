# Libraries that the command reads images and compressed arrays with. What is missing here is left out
# of the command, which then says so when such a file is given; the library never needs them.

option(HONE_WITH_JPEG "Read JPEG files in the command, where libjpeg is" ON)
option(HONE_WITH_PNG "Read PNG files in the command, where libpng is" ON)
option(HONE_WITH_ZLIB "Read compressed .npz files in the command, where zlib is" ON)

# hone_link_codecs(TARGET)
function(hone_link_codecs target)
    foreach(codec JPEG PNG ZLIB)
        if(HONE_WITH_${codec})
            find_package(${codec} QUIET)
        endif()
        if(HONE_WITH_${codec} AND ${codec}_FOUND)
            target_link_libraries(${target} PRIVATE ${codec}::${codec})
            target_compile_definitions(${target} PRIVATE HONE_HAVE_${codec})
        endif()
    endforeach()
endfunction()
