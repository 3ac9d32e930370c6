#include "workloads/zip.h"

#include <zlib.h>

#include <algorithm>
#include <optional>

namespace fusemark {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kDirectoryHeader = 0x02014b50, kEnd = 0x06054b50,
                   kZip64End = 0x06064b50, kZip64Locator = 0x07064b50;
constexpr uint64_t kAbsent32 = 0xffffffff;

// Little-endian number of `bytes` bytes at `at`; the caller has checked the bounds.
uint64_t Number(std::string_view data, uint64_t at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= static_cast<uint64_t>(static_cast<uint8_t>(data[at + static_cast<uint64_t>(i)]))
             << (8 * i);
  return value;
}

bool Fits(std::string_view data, uint64_t at, uint64_t size) {
  return at <= data.size() && size <= data.size() - at;
}

void Put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

struct Directory {
  uint64_t offset = 0, count = 0;
};

// The end record lies in the last 64 KiB (it may be followed by a comment).
std::optional<Directory> FindDirectory(std::string_view archive) {
  constexpr uint64_t kEndSize = 22;
  if (archive.size() < kEndSize) return std::nullopt;
  uint64_t at = archive.size() - kEndSize;
  const uint64_t lowest = at > 65535 ? at - 65535 : 0;
  while (Number(archive, at, 4) != kEnd) {
    if (at == lowest) return std::nullopt;
    --at;
  }
  Directory directory{Number(archive, at + 16, 4), Number(archive, at + 10, 2)};
  if (directory.offset != kAbsent32 && directory.count != 0xffff) return directory;
  if (at < 20 || Number(archive, at - 20, 4) != kZip64Locator) return std::nullopt;
  const uint64_t end64 = Number(archive, at - 12, 8);
  if (!Fits(archive, end64, 56) || Number(archive, end64, 4) != kZip64End) return std::nullopt;
  return Directory{Number(archive, end64 + 48, 8), Number(archive, end64 + 32, 8)};
}

struct Entry {
  std::string name;
  uint64_t method = 0, crc = 0, packed = 0, size = 0, offset = 0;
};

// Sizes that did not fit 32 bits stand in the extra field 1, in this order.
void ReadZip64(std::string_view extra, Entry& entry) {
  uint64_t at = 0;
  while (Fits(extra, at, 4)) {
    const uint64_t id = Number(extra, at, 2), length = Number(extra, at + 2, 2);
    at += 4;
    if (!Fits(extra, at, length)) return;
    if (id == 1) {
      uint64_t from = at;
      for (uint64_t* field : {&entry.size, &entry.packed, &entry.offset}) {
        if (*field != kAbsent32 || !Fits(extra.substr(0, at + length), from, 8)) continue;
        *field = Number(extra, from, 8);
        from += 8;
      }
    }
    at += length;
  }
}

std::optional<Entry> ReadEntry(std::string_view archive, uint64_t& at) {
  if (!Fits(archive, at, 46) || Number(archive, at, 4) != kDirectoryHeader) return std::nullopt;
  const uint64_t name = Number(archive, at + 28, 2), extra = Number(archive, at + 30, 2);
  const uint64_t comment = Number(archive, at + 32, 2);
  if (!Fits(archive, at + 46, name + extra + comment)) return std::nullopt;
  Entry entry{std::string(archive.substr(at + 46, name)),
              Number(archive, at + 10, 2),
              Number(archive, at + 16, 4),
              Number(archive, at + 20, 4),
              Number(archive, at + 24, 4),
              Number(archive, at + 42, 4)};
  ReadZip64(archive.substr(at + 46 + name, extra), entry);
  at += 46 + name + extra + comment;
  return entry;
}

bool Inflate(std::string_view packed, std::string& bytes) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  // zlib counts in 32 bits: fed in pieces.
  constexpr uint64_t kPiece = 1U << 30;
  uint64_t read = 0, written = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    const uint64_t in = std::min<uint64_t>(packed.size() - read, kPiece);
    const uint64_t out = std::min<uint64_t>(bytes.size() - written, kPiece);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + read));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + written);
    stream.avail_out = static_cast<uInt>(out);
    status = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += out - stream.avail_out;
    if (in == stream.avail_in && out == stream.avail_out) break;  // no progress: truncated
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END && written == bytes.size();
}

uint32_t Crc(std::string_view bytes, uint32_t crc = 0) {
  return static_cast<uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

Result<std::vector<ZipMember>> ReadZip(std::string_view archive, std::string_view source_name) {
  const std::string source(source_name);
  const auto directory = FindDirectory(archive);
  if (!directory) return Invalid(source + ": not an .npz (zip) archive, or cut off");
  std::vector<ZipMember> members;
  uint64_t at = directory->offset;
  for (uint64_t i = 0; i < directory->count; ++i) {
    const auto entry = ReadEntry(archive, at);
    if (!entry) return Invalid(source + ": the archive's directory is damaged");
    const std::string place = source + ": member " + entry->name;
    if (!Fits(archive, entry->offset, 30) || Number(archive, entry->offset, 4) != kLocalHeader)
      return Invalid(place + " is damaged");
    const uint64_t data = entry->offset + 30 + Number(archive, entry->offset + 26, 2) +
                          Number(archive, entry->offset + 28, 2);
    if (!Fits(archive, data, entry->packed)) return Invalid(place + " is cut off");
    const std::string_view packed = archive.substr(data, entry->packed);
    ZipMember member{entry->name, {}};
    if (entry->method == 0 && entry->packed == entry->size) {
      member.bytes = packed;
    } else if (entry->method == 8) {
      // Deflate packs at most 1032 to 1: a larger claim is damage, not worth the memory.
      if (entry->size / 1032 > entry->packed + 1) return Invalid(place + " is damaged");
      member.bytes.resize(entry->size);
      if (!Inflate(packed, member.bytes)) return Invalid(place + " does not inflate: damaged");
    } else {
      return Invalid(place + " has compression method " + std::to_string(entry->method) +
                     ", expected stored or deflated");
    }
    if (Crc(member.bytes) != entry->crc) return Invalid(place + ": checksum is wrong: damaged");
    members.push_back(std::move(member));
  }
  return members;
}

Result<void> ZipWriter::Add(const std::string& name, std::string_view head, std::string_view body) {
  const uint64_t size = head.size() + body.size(), offset = out_.size();
  if (offset + size + name.size() + 30 >= kAbsent32 || count_ >= 0xfffe)
    return Unsupported("the archive would pass 4 GiB or 65,534 arrays at " + name);
  const uint32_t crc = Crc(body, Crc(head));
  std::string common;  // shared by both headers: version, flags, method, time, date, ...
  for (uint64_t field : {20, 0, 0, 0, 0x21}) Put(common, field, 2);  // date: 1980-01-01
  Put(common, crc, 4);
  Put(common, size, 4);
  Put(common, size, 4);
  Put(common, name.size(), 2);
  Put(common, 0, 2);
  Put(out_, kLocalHeader, 4);
  out_ += common;
  out_ += name;
  out_ += head;
  out_ += body;
  Put(directory_, kDirectoryHeader, 4);
  Put(directory_, 20, 2);
  directory_ += common;
  for (int zero : {2, 2, 2, 4}) Put(directory_, 0, zero);  // comment, disk, attributes
  Put(directory_, offset, 4);
  directory_ += name;
  ++count_;
  return Ok();
}

Result<void> ZipWriter::Finish() {
  const uint64_t offset = out_.size();
  if (offset + directory_.size() >= kAbsent32) return Unsupported("the archive would pass 4 GiB");
  out_ += directory_;
  Put(out_, kEnd, 4);
  Put(out_, 0, 4);
  Put(out_, count_, 2);
  Put(out_, count_, 2);
  Put(out_, directory_.size(), 4);
  Put(out_, offset, 4);
  Put(out_, 0, 2);
  return Ok();
}

}  // namespace fusemark
