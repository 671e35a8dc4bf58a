# inlier_proto_library(NAME PROTOS a.proto b.proto [DESCRIPTORS set.bin]) and inlier_grpc_library(NAME PROTOS s.proto LIBS x):
# C++ from the .proto files of proto/. DESCRIPTORS also writes one descriptor set with source comments.

set(INLIER_PROTO_ROOT ${CMAKE_SOURCE_DIR}/proto)
set(INLIER_PROTO_OUT ${CMAKE_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${INLIER_PROTO_OUT})

function(_inlier_generate out_sources suffix plugin_arguments)
  set(sources)
  foreach(proto IN LISTS ARGN)
    string(REGEX REPLACE "\\.proto$" "" stem ${proto})
    set(cc ${INLIER_PROTO_OUT}/${stem}${suffix}.cc)
    add_custom_command(
      OUTPUT ${cc} ${INLIER_PROTO_OUT}/${stem}${suffix}.h
      COMMAND ${INLIER_PROTOC} -I ${INLIER_PROTO_ROOT} ${plugin_arguments} ${INLIER_PROTO_ROOT}/${proto}
      DEPENDS ${INLIER_PROTO_ROOT}/${proto}
      COMMENT "protoc ${proto}" VERBATIM)
    list(APPEND sources ${cc})
  endforeach()
  set(${out_sources} ${sources} PARENT_SCOPE)
endfunction()

function(_inlier_proto_target name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} SYSTEM PUBLIC ${INLIER_PROTO_OUT})
  target_link_libraries(${name} PUBLIC ${ARG_LIBS})
  # Generated code is not held to the project's warnings, and not to its sanitizers' speed; but messages have a field
  # more under the thread sanitizer, and all targets must agree on that.
  target_compile_options(${name} PRIVATE -w)
  # protoc gives the same names to two tables of every file: where the files are compiled as one, each has its own.
  set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 8 UNITY_BUILD_UNIQUE_ID INLIER_FILE UNITY_BUILD_CODE_BEFORE_INCLUDE [[
#define INLIER_PASTE(name, file) name##file
#define INLIER_NAME(name, file) INLIER_PASTE(name, file)
#define schemas INLIER_NAME(schemas_, INLIER_FILE)
#define file_default_instances INLIER_NAME(file_default_instances_, INLIER_FILE)]])
  if(INLIER_SANITIZE STREQUAL "thread")
    target_compile_options(${name} PRIVATE -fsanitize=thread)
  endif()
endfunction()

function(inlier_proto_library name)
  cmake_parse_arguments(ARG "" "DESCRIPTORS" "PROTOS" ${ARGN})
  _inlier_generate(sources .pb "--cpp_out=${INLIER_PROTO_OUT}" ${ARG_PROTOS})
  _inlier_proto_target(${name} SOURCES ${sources} LIBS protobuf::libprotobuf)
  if(ARG_DESCRIPTORS)
    list(TRANSFORM ARG_PROTOS PREPEND ${INLIER_PROTO_ROOT}/ OUTPUT_VARIABLE files)
    add_custom_command(
      OUTPUT ${ARG_DESCRIPTORS}
      COMMAND ${INLIER_PROTOC} -I ${INLIER_PROTO_ROOT} --include_source_info --descriptor_set_out=${ARG_DESCRIPTORS} ${files}
      DEPENDS ${files} COMMENT "protoc descriptors" VERBATIM)
  endif()
endfunction()

function(inlier_grpc_library name)
  cmake_parse_arguments(ARG "" "" "PROTOS;LIBS" ${ARGN})
  _inlier_generate(sources .grpc.pb
    "--grpc_out=generate_mock_code=false:${INLIER_PROTO_OUT};--plugin=protoc-gen-grpc=${INLIER_GRPC_PLUGIN}" ${ARG_PROTOS})
  _inlier_proto_target(${name} SOURCES ${sources} LIBS ${ARG_LIBS} PkgConfig::grpcpp)
endfunction()
