#include "core/images/unpacked_file.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::size_t kPieceMax = std::size_t{1} << 30;
// Deflate's most is 258 bytes for two bits.
constexpr std::uint64_t kRatioMax = 1032;

}  // namespace

void UnpackedFile::End::operator()(z_stream* stream) const {
  inflateEnd(stream);
  delete stream;
}

absl::StatusOr<UnpackedFile> UnpackedFile::Open(const std::filesystem::path& path, const DataRoots& roots) {
  UnpackedFile file;
  file.path_ = path;
  ASSIGN_OR_RETURN(file.file_, MappedFile::Open(path, roots));
  file.rest_ = file.file_.bytes();
  if (!file.rest_.starts_with(kGzipMagic)) return file;
  constexpr int kGzip = 15 + 16;
  auto stream = std::make_unique<z_stream>();
  if (inflateInit2(stream.get(), kGzip) != Z_OK) return absl::ResourceExhaustedError("zlib has no memory");
  file.stream_.reset(stream.release());
  return file;
}

std::uint64_t UnpackedFile::bytes_left_max() const {
  return stream_ == nullptr ? rest_.size() : (rest_.size() + stream_->avail_in + 1) * kRatioMax;
}

absl::StatusOr<std::size_t> UnpackedFile::Read(char* to, std::size_t bytes) {
  if (stream_ != nullptr) return Inflate(to, bytes);
  const std::string_view next = rest_.substr(0, bytes);
  std::memcpy(to, next.data(), next.size());
  rest_.remove_prefix(next.size());
  return next.size();
}

absl::StatusOr<std::size_t> UnpackedFile::Inflate(char* to, std::size_t bytes) {
  z_stream& stream = *stream_;
  std::size_t done = 0;
  while (done < bytes && !ended_) {
    if (stream.avail_in == 0) {
      const std::string_view next = rest_.substr(0, kPieceMax);
      rest_.remove_prefix(next.size());
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(next.data()));
      stream.avail_in = static_cast<uInt>(next.size());
    }
    stream.next_out = reinterpret_cast<Bytef*>(to + done);
    stream.avail_out = static_cast<uInt>(std::min(bytes - done, kPieceMax));
    const uInt room = stream.avail_out;
    const int state = inflate(&stream, Z_NO_FLUSH);
    done += room - stream.avail_out;
    if (state == Z_BUF_ERROR) return Damaged("truncated: its gzip stream ends early");
    if (state != Z_OK && state != Z_STREAM_END) {
      return Damaged(absl::StrCat("its gzip stream is damaged (",
                                  stream.msg == nullptr ? "no reason given" : stream.msg, ")"));
    }
    if (state != Z_STREAM_END) continue;
    // A file may have several members, one after the other.
    if (stream.avail_in == 0 && rest_.empty()) {
      ended_ = true;
    } else {
      inflateReset(&stream);
    }
  }
  return done;
}

absl::Status UnpackedFile::Damaged(const std::string& what) const {
  return absl::InvalidArgumentError(absl::StrCat(path_.string(), ": ", what, "; fetch it again"));
}

}  // namespace inlier
