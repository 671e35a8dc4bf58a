# LibTorch as the imported target `torch`.
#
# find_package(Torch) is not used: its config enables CUDA languages and puts the wheel's own old protobuf headers
# before the system's. The headers come last (-idirafter), so that the system's protobuf wins.

set(INLIER_TORCH_DIR "${CMAKE_SOURCE_DIR}/.deps/libtorch/torch" CACHE PATH
    "A LibTorch >= 2.11: the folder that holds include/ and lib/")

if(NOT EXISTS ${INLIER_TORCH_DIR}/lib/libtorch_cpu.so)
  message(FATAL_ERROR
    "No LibTorch in ${INLIER_TORCH_DIR}.\n"
    "Run `make setup` to install it there, or name one with -DINLIER_TORCH_DIR=<folder with include/ and lib/>,\n"
    "or build without training: cmake --preset service.")
endif()

file(STRINGS ${INLIER_TORCH_DIR}/include/torch/headeronly/version.h _version_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH)")
string(REGEX REPLACE "[^0-9;]" "" INLIER_TORCH_VERSION "${_version_lines}")
string(REPLACE ";" "." INLIER_TORCH_VERSION "${INLIER_TORCH_VERSION}")

add_library(torch INTERFACE)
target_compile_options(torch INTERFACE
  "SHELL:-idirafter ${INLIER_TORCH_DIR}/include"
  "SHELL:-idirafter ${INLIER_TORCH_DIR}/include/torch/csrc/api/include")
target_link_libraries(torch INTERFACE protobuf::libprotobuf
  ${INLIER_TORCH_DIR}/lib/libtorch.so ${INLIER_TORCH_DIR}/lib/libtorch_cpu.so ${INLIER_TORCH_DIR}/lib/libc10.so)
# libtorch.so and, on a GPU build, libtorch_cuda.so register themselves when loaded: keep them although nothing names them.
target_link_options(torch INTERFACE -Wl,--no-as-needed)
if(EXISTS ${INLIER_TORCH_DIR}/lib/libtorch_cuda.so)
  target_link_libraries(torch INTERFACE ${INLIER_TORCH_DIR}/lib/libtorch_cuda.so ${INLIER_TORCH_DIR}/lib/libc10_cuda.so)
  set(_cuda "with CUDA")
  # The project's own kernels need nvcc, too.
  include(CheckLanguage)
  check_language(CUDA)
  set(_nvcc ${CMAKE_SOURCE_DIR}/.deps/nvcc/nvidia/cu13/bin/nvcc)  # As `make setup` installs it.
  if(NOT CMAKE_CUDA_COMPILER AND EXISTS ${_nvcc})
    set(CMAKE_CUDA_COMPILER ${_nvcc})
  endif()
  if(CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_ARCHITECTURES OFF)  # core/cuda names its own.
    set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # LibTorch's.
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has it.
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    find_package(CUDAToolkit REQUIRED)
    set(INLIER_CUDA ON)
  else()
    set(_cuda "with CUDA; core/cuda is left out (no nvcc)")
  endif()
else()
  set(_cuda "CPU only (no CUDA in this LibTorch)")
endif()
message(STATUS "LibTorch ${INLIER_TORCH_VERSION}, ${_cuda}: ${INLIER_TORCH_DIR}")
