# Headers that are compiled once for all targets of a kind: a source file then needs a second instead of five.
#
# inlier_precompiled(TARGET KIND): KIND is standard (the standard library and absl), messages (also protobuf), services
# (also gRPC and Asio) or tensors (messages and LibTorch). The headers are cmake/precompiled/KIND.h. The target that owns
# a kind is made at its first use; libraries, programs and tests share it, for each takes up to 800 MB of the disk.
option(INLIER_PRECOMPILED "Precompile the headers that most files include" ON)

set(_inlier_precompiled_libs_standard absl::status absl::statusor absl::strings absl::str_format)
set(_inlier_precompiled_libs_messages inlier_proto ${_inlier_precompiled_libs_standard})
set(_inlier_precompiled_libs_services ${_inlier_precompiled_libs_messages} inlier_stubs Boost::headers PkgConfig::grpcpp)
set(_inlier_precompiled_libs_tensors ${_inlier_precompiled_libs_messages} torch)

function(inlier_precompiled target kind)
  if(NOT INLIER_PRECOMPILED)
    return()
  endif()
  set(owner inlier_precompiled_${kind})
  if(NOT TARGET ${owner})
    if(NOT EXISTS ${CMAKE_BINARY_DIR}/precompiled/${kind}.cc)
      file(WRITE ${CMAKE_BINARY_DIR}/precompiled/${kind}.cc "")
    endif()
    add_library(${owner} OBJECT ${CMAKE_BINARY_DIR}/precompiled/${kind}.cc)
    target_link_libraries(${owner} PRIVATE inlier_options ${_inlier_precompiled_libs_${kind}})
    target_precompile_headers(${owner} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled/${kind}.h)
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    target_compile_options(${target} PRIVATE -fPIC)  # As libraries: the compiler takes no header of another kind.
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
