#include "workloads/npz.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <new>

#include "compiler/support/file.h"
#include "compiler/support/strings.h"
#include "workloads/zip.h"

namespace fusemark {
namespace {

struct NumpyType {
  DType dtype;
  bool raw;
};

// The part of numpy's type codes after the byte order.
const std::map<std::string, NumpyType, std::less<>>& NumpyTypes() {
  static const auto* const kTypes = new std::map<std::string, NumpyType, std::less<>>{
      {"b1", {DType::kPred, false}}, {"i1", {DType::kS8, false}},    {"i2", {DType::kS16, false}},
      {"i4", {DType::kS32, false}},  {"i8", {DType::kS64, false}},   {"u1", {DType::kU8, false}},
      {"u2", {DType::kU16, false}},  {"u4", {DType::kU32, false}},   {"u8", {DType::kU64, false}},
      {"f2", {DType::kF16, false}},  {"f4", {DType::kF32, false}},   {"f8", {DType::kF64, false}},
      {"c8", {DType::kC64, false}},  {"c16", {DType::kC128, false}}, {"V1", {DType::kU8, true}},
      {"V2", {DType::kBF16, true}}};
  return *kTypes;
}

std::string DescrOf(DType dtype) {
  for (const auto& [code, type] : NumpyTypes()) {
    if (type.dtype == dtype && !type.raw) return (ByteSize(dtype) == 1 ? "|" : "<") + code;
  }
  return "|V" + std::to_string(ByteSize(dtype));
}

// The text after `'key':` in the header's Python dictionary, without leading spaces.
std::string_view HeaderField(std::string_view header, std::string_view key) {
  const size_t at = header.find("'" + std::string(key) + "':");
  return at == std::string_view::npos ? "" : Trim(header.substr(at + key.size() + 3));
}

Result<Shape> ReadShape(std::string_view header, DType dtype, const std::string& place) {
  const std::string_view field = HeaderField(header, "shape");
  const size_t end = field.find(')');
  if (field.empty() || field[0] != '(' || end == std::string_view::npos)
    return Invalid(place + ": the .npy header has no shape");
  Shape shape = ArrayShape(dtype, {});
  for (std::string_view part : Split(field.substr(1, end - 1), ',')) {
    if (Trim(part).empty()) continue;
    const auto dim = ParseInt(Trim(part));
    if (!dim || *dim < 0) return Invalid(place + ": bad shape in the .npy header");
    shape.dims.push_back(*dim);
  }
  if (!CheckedByteSize(shape))
    return Invalid(place + ": the size of " + ToString(shape) + " overflows 64 bits");
  return shape;
}

// Column-major data to row-major.
void Untranspose(const char* data, Tensor& tensor) {
  const auto size = static_cast<size_t>(ByteSize(tensor.shape.dtype));
  const std::vector<int64_t>& dims = tensor.shape.dims;
  std::vector<int64_t> at(dims.size(), 0);
  for (int64_t i = 0; i < ElementCount(tensor.shape); ++i) {
    int64_t from = 0;
    for (size_t d = dims.size(); d-- > 0;) from = from * dims[d] + at[d];
    std::memcpy(tensor.data.get() + static_cast<size_t>(i) * size,
                data + static_cast<size_t>(from) * size, size);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  }
}

Result<NamedTensor> ParseNpy(const ZipMember& member, const std::string& place) {
  const std::string_view bytes = member.bytes;
  if (bytes.size() < 12 || bytes.substr(0, 6) != std::string_view("\x93NUMPY", 6))
    return Invalid(place + ": not a .npy array");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(bytes[i])); };
  const bool wide = byte(6) >= 2;
  size_t length = byte(8) | byte(9) << 8;
  if (wide) length |= byte(10) << 16 | byte(11) << 24;
  const size_t start = wide ? 12 : 10;
  if (bytes.size() - start < length) return Invalid(place + ": the .npy header is cut off");
  const std::string_view header = bytes.substr(start, length);
  const std::string_view descr = HeaderField(header, "descr");
  const size_t quote = descr.find('\'', 1);
  if (descr.size() < 4 || descr[0] != '\'' || quote == std::string_view::npos)
    return Invalid(place + ": structured arrays are not supported, expected a plain type");
  const auto found = NumpyTypes().find(descr.substr(2, quote - 2));
  if (descr[1] == '>' || found == NumpyTypes().end())
    return Invalid(place + ": type " + std::string(descr.substr(0, quote + 1)) +
                   " is not supported, expected a little-endian number type");
  FM_TRY(Shape shape, ReadShape(header, found->second.dtype, place));
  const std::string_view data = bytes.substr(start + length);
  const int64_t wanted = ByteSizeOf(shape);
  if (static_cast<int64_t>(data.size()) != wanted)
    return Invalid(place + ": found " + std::to_string(data.size()) + " bytes of data, expected " +
                   std::to_string(wanted) + " for " + ToString(shape));
  NamedTensor array{member.name, MakeTensor(shape, false), found->second.raw};
  if (array.name.ends_with(".npy")) array.name.resize(array.name.size() - 4);
  if (HeaderField(header, "fortran_order").starts_with("True"))
    Untranspose(data.data(), array.tensor);
  else
    std::memcpy(array.tensor.data.get(), data.data(), data.size());
  return array;
}

std::string NpyHeader(const Shape& shape) {
  std::string dims;
  for (int64_t dim : shape.dims) dims += std::to_string(dim) + ",";
  if (shape.dims.size() > 1) dims.pop_back();
  std::string text = "{'descr': '" + DescrOf(shape.dtype) +
                     "', 'fortran_order': False, 'shape': (" + dims + "), }";
  // Padded so that the data starts at a multiple of 64 bytes.
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

Result<void> WriteWhole(const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".part";
  const auto fail = [&](const std::string& what) {
    const std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    return Error{Code::kIo, path + ": " + what + ": " + reason};
  };
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return fail("cannot create");
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool synced = written && std::fflush(file) == 0 && fsync(fileno(file)) == 0;
  if (std::fclose(file) != 0 || !synced) return fail("cannot write");
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return fail("cannot replace");
  return Ok();
}

// The three ways to name one leaf of the entry parameters.
std::vector<std::string> LeafNames(const Computation& entry, size_t number, size_t leaf,
                                   size_t leaves, size_t flat) {
  std::vector<std::string> names = {std::to_string(number) + "/" + std::to_string(leaf),
                                    "arr_" + std::to_string(flat)};
  if (leaves == 1) {
    names.insert(names.begin(), std::to_string(number));
    names.push_back(entry[entry.parameters[number]].name);
  }
  return names;
}

Result<void> CheckArray(NamedTensor& array, const Shape& wanted, const std::string& place) {
  const Shape& found = array.tensor.shape;
  const bool same_width = ByteSize(found.dtype) == ByteSize(wanted.dtype);
  // Sub-byte integers and pred may come as bytes.
  const bool as_bytes = BitWidth(wanted.dtype) < 8 && same_width;
  const bool same_type = found.dtype == wanted.dtype || (array.raw && same_width) || as_bytes;
  if (!same_type || found.dims != wanted.dims)
    return Invalid(place + ": found " + ToString(found) + (array.raw ? " (raw bytes)" : "") +
                   ", expected " + ToString(wanted));
  array.tensor.shape = AtBounds(wanted);
  return Ok();
}

}  // namespace

Result<std::vector<NamedTensor>> ParseNpz(std::string_view archive, std::string_view source_name) {
  try {
    FM_TRY(const auto members, ReadZip(archive, source_name));
    std::vector<NamedTensor> arrays;
    for (const ZipMember& member : members) {
      FM_TRY(auto array, ParseNpy(member, std::string(source_name) + ": " + member.name));
      arrays.push_back(std::move(array));
    }
    return arrays;
  } catch (const std::bad_alloc&) {
    return Error{Code::kIo, std::string(source_name) + ": too large for this machine's memory"};
  }
}

Result<std::vector<NamedTensor>> ReadNpz(const std::string& path) {
  FM_TRY(const std::string bytes, ReadFile(path, "an .npz archive of numpy"));
  return ParseNpz(bytes, path);
}

Result<void> WriteNpz(const std::string& path, std::span<const std::string> names,
                      std::span<const Tensor* const> tensors) {
  std::string archive;
  ZipWriter writer(archive);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = *tensors[i];
    const std::string_view data(reinterpret_cast<const char*>(tensor.data.get()),
                                static_cast<size_t>(tensor.size_bytes()));
    FM_RETURN_IF_ERROR(writer.Add(names[i] + ".npy", NpyHeader(tensor.shape), data));
  }
  FM_RETURN_IF_ERROR(writer.Finish());
  return WriteWhole(path, archive);
}

Result<std::vector<Tensor>> MatchInputs(const Module& module, std::vector<NamedTensor> arrays,
                                        std::string_view source_name) {
  const std::string source(source_name);
  std::map<std::string, NamedTensor*> by_name;
  for (NamedTensor& array : arrays) by_name[array.name] = &array;
  const Computation& entry = module.Entry();
  std::vector<Tensor> inputs;
  for (size_t number = 0; number < entry.parameters.size(); ++number) {
    std::vector<Shape> leaves;
    FlattenLeaves(entry[entry.parameters[number]].shape, leaves);
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      const auto names = LeafNames(entry, number, leaf, leaves.size(), inputs.size());
      auto found = by_name.end();
      for (size_t i = 0; i < names.size() && found == by_name.end(); ++i)
        found = by_name.find(names[i]);
      if (found == by_name.end())
        return Invalid(source + ": no array for parameter " + std::to_string(number) +
                       ", expected " + ToString(leaves[leaf]) + " under one of the names " +
                       Join(names, ", "));
      FM_RETURN_IF_ERROR(CheckArray(*found->second, leaves[leaf], source + ": " + found->first));
      inputs.push_back(std::move(found->second->tensor));
      by_name.erase(found);
    }
  }
  if (!by_name.empty())
    return Invalid(source + ": array " + by_name.begin()->first +
                   " belongs to no parameter; the entry takes " + std::to_string(inputs.size()) +
                   " arrays");
  return inputs;
}

Result<std::vector<Tensor>> LoadInputsNpz(const std::string& path, const Module& module) {
  FM_TRY(auto arrays, ReadNpz(path));
  return MatchInputs(module, std::move(arrays), path);
}

}  // namespace fusemark
