# The Debian packages inlier is built from, as imported targets. `make setup` installs them all.

find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(absl REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(muparser REQUIRED)
find_package(nlohmann_json REQUIRED)

find_program(INLIER_PROTOC protoc REQUIRED)

if(coordinator IN_LIST INLIER_COMPONENTS OR worker IN_LIST INLIER_COMPONENTS OR cli IN_LIST INLIER_COMPONENTS)
  pkg_check_modules(grpcpp REQUIRED IMPORTED_TARGET grpc++)
  find_program(INLIER_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)
  find_package(prometheus-cpp REQUIRED CONFIG)
  find_package(Boost 1.81 REQUIRED)
  find_package(SQLiteCpp REQUIRED)
  find_package(SQLite3 REQUIRED)
  find_package(CLI11 REQUIRED)
  find_package(ZLIB REQUIRED)
  find_package(CURL 7.88 REQUIRED)
  find_package(pugixml REQUIRED)
  pkg_check_modules(ncursesw REQUIRED ncursesw)  # The library alone: its definitions would keep the precompiled headers from being used.
  find_library(INLIER_JEMALLOC jemalloc)  # Optional: see inlier_fast_malloc.
endif()

if(core IN_LIST INLIER_COMPONENTS)
  find_package(CLI11 REQUIRED)  # Of bench.
  find_package(ICU REQUIRED COMPONENTS uc i18n)
  find_package(ZLIB REQUIRED)
  find_package(PNG REQUIRED)
  pkg_check_modules(turbojpeg REQUIRED IMPORTED_TARGET libturbojpeg)
endif()

if(INLIER_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
