#include "compiler/runtime/library.h"

#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>

#include "compiler/support/memory.h"

namespace fusemark {
namespace {

using dnnl::memory;

const dnnl::engine& CpuEngine() {
  static const auto* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::stream& CpuStream() {
  static auto* const stream = new dnnl::stream(CpuEngine());
  return *stream;
}

memory::data_type TypeOf(LibraryType type) {
  switch (type) {
    case LibraryType::kF32: return memory::data_type::f32;
    case LibraryType::kBF16: return memory::data_type::bf16;
    case LibraryType::kS8: return memory::data_type::s8;
    case LibraryType::kU8: return memory::data_type::u8;
  }
  return memory::data_type::undef;
}

bool IsReferenceImplementation(std::string_view name) {
  return name.find("ref") != std::string_view::npos;
}

// One channel per group, unfolded for a product of matrices with one column: every tap is copied
// and no vector is full.
bool UnfoldsSingleChannels(std::string_view name, const ConvSpec& spec) {
  const bool depthwise =
      spec.weight_dims[0] > 1 && spec.weight_dims[1] == 1 && spec.weight_dims[2] == 1;
  return depthwise && name.find("gemm") != std::string_view::npos;
}

// The scratchpad belongs to the caller (dnnl::scratchpad_mode::user), so that running allocates
// nothing.
dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

// Both kernels: result = primitive(lhs, rhs). Where the library wants the right operand in a layout
// of its own, it is reordered into scratch on every run.
class OneDnnKernel final : public LibraryKernel {
 public:
  OneDnnKernel(dnnl::primitive primitive, int lhs_arg, int rhs_arg, memory::desc lhs,
               memory::desc rhs, memory::desc rhs_wanted, memory::desc result,
               memory::desc scratchpad, std::string name)
      : primitive_(std::move(primitive)),
        lhs_arg_(lhs_arg),
        rhs_arg_(rhs_arg),
        lhs_(lhs, CpuEngine(), nullptr),
        rhs_(rhs, CpuEngine(), nullptr),
        packed_(rhs_wanted, CpuEngine(), nullptr),
        result_(result, CpuEngine(), nullptr),
        scratchpad_(scratchpad, CpuEngine(), nullptr),
        reorders_(rhs != rhs_wanted),
        name_(std::move(name)) {
    packed_bytes_ = reorders_ ? AlignUp(static_cast<int64_t>(rhs_wanted.get_size())) : 0;
    scratch_bytes_ = packed_bytes_ + static_cast<int64_t>(scratchpad.get_size());
    if (reorders_) reorder_ = dnnl::reorder(rhs_, packed_);
  }

  Result<void> Run(const void* lhs, const void* rhs, void* result, void* scratch) override {
    try {
      lhs_.set_data_handle(const_cast<void*>(lhs));
      rhs_.set_data_handle(const_cast<void*>(rhs));
      result_.set_data_handle(result);
      auto* base = static_cast<std::byte*>(scratch);
      scratchpad_.set_data_handle(base + packed_bytes_);
      if (reorders_) {
        packed_.set_data_handle(kept_ != nullptr ? kept_.get() : base);
        if (kept_ == nullptr) reorder_.execute(CpuStream(), rhs_, packed_);
      }
      primitive_.execute(CpuStream(), {{lhs_arg_, lhs_},
                                       {rhs_arg_, reorders_ ? packed_ : rhs_},
                                       {DNNL_ARG_DST, result_},
                                       {DNNL_ARG_SCRATCHPAD, scratchpad_}});
      CpuStream().wait();
    } catch (const dnnl::error& error) {
      return Error{Code::kLaunchFailed, "oneDNN " + name_ + ": " + error.what()};
    }
    return Ok();
  }
  Result<void> Pack(const void* rhs) override {
    if (!reorders_) return Ok();
    try {
      kept_.reset(AllocateArray(packed_bytes_));
      if (kept_ == nullptr) {
        return Error{Code::kLaunchFailed, "out of memory: packed weights take " +
                                              std::to_string(packed_bytes_) + " bytes"};
      }
      rhs_.set_data_handle(const_cast<void*>(rhs));
      packed_.set_data_handle(kept_.get());
      reorder_.execute(CpuStream(), rhs_, packed_);
      CpuStream().wait();
    } catch (const dnnl::error& error) {
      return Error{Code::kLaunchFailed, "oneDNN " + name_ + ": " + error.what()};
    }
    return Ok();
  }
  int64_t scratch_bytes() const override { return scratch_bytes_; }
  const char* implementation() const override { return name_.c_str(); }

 private:
  dnnl::primitive primitive_;
  dnnl::reorder reorder_;
  int lhs_arg_, rhs_arg_;
  memory lhs_, rhs_, packed_, result_, scratchpad_;
  bool reorders_;
  std::string name_;
  int64_t packed_bytes_ = 0;
  int64_t scratch_bytes_ = 0;
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> kept_;  // the packed right operand, once it is resident
};

memory::dims Concat(const std::vector<int64_t>& front, std::initializer_list<int64_t> back) {
  memory::dims dims(front.begin(), front.end());
  dims.insert(dims.end(), back);
  return dims;
}

}  // namespace

std::unique_ptr<LibraryKernel> MakeMatmul(const MatmulSpec& spec) {
  try {
    const auto type = TypeOf(spec.type);
    const bool bytes = spec.type == LibraryType::kS8 || spec.type == LibraryType::kU8;
    const memory::desc lhs(Concat(spec.batch, {spec.m, spec.k}), type,
                           Concat(spec.lhs_batch_strides, {spec.lhs_m_stride, spec.lhs_k_stride}));
    const memory::desc rhs(Concat(spec.batch, {spec.k, spec.n}),
                           bytes ? memory::data_type::s8 : type,
                           Concat(spec.rhs_batch_strides, {spec.rhs_k_stride, spec.rhs_n_stride}));
    memory::dims strides(spec.batch.size() + 2, 1);
    const memory::dims result_dims = Concat(spec.batch, {spec.m, spec.n});
    for (size_t i = strides.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * result_dims[i + 1];
    const memory::desc result(result_dims, bytes ? memory::data_type::s32 : type, strides);
    const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(lhs, rhs, result), UserScratchpad(),
                                            CpuEngine());
    const std::string name = desc.impl_info_str();
    if (IsReferenceImplementation(name)) return nullptr;
    return std::make_unique<OneDnnKernel>(dnnl::matmul(desc), DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, lhs,
                                          rhs, rhs, result, desc.scratchpad_desc(), name);
  } catch (const dnnl::error&) {
    return nullptr;  // no implementation for this shape, type or machine: the caller uses its own
                     // kernel
  }
}

std::unique_ptr<LibraryKernel> MakeConvolution(const ConvSpec& spec) {
  try {
    const auto type = TypeOf(spec.type);
    const bool grouped = spec.weight_dims[0] != 1;
    const size_t skip = grouped ? 0 : 1;
    const memory::dims weight_dims(spec.weight_dims.begin() + skip, spec.weight_dims.end());
    const memory::dims weight_strides(spec.weight_strides.begin() + skip,
                                      spec.weight_strides.end());
    const memory::desc source(spec.source_dims, type, spec.source_strides);
    const memory::desc plain(weight_dims, type, weight_strides);
    const memory::desc any(weight_dims, type, memory::format_tag::any);
    const memory::desc result(spec.result_dims, type, spec.result_strides);
    memory::dims dilation = spec.dilation;
    for (auto& value : dilation) value -= 1;  // oneDNN counts the gap, HLO the step
    const auto make = [&](const memory::desc& weights) {
      return dnnl::convolution_forward::primitive_desc(
          dnnl::convolution_forward::desc(
              dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto, source,
              weights, result, spec.stride, dilation, spec.pad_low, spec.pad_high),
          UserScratchpad(), CpuEngine());
    };
    const auto desc = make(any);
    const std::string name = desc.impl_info_str();
    if (IsReferenceImplementation(name) || UnfoldsSingleChannels(name, spec)) return nullptr;
    return std::make_unique<OneDnnKernel>(dnnl::convolution_forward(desc), DNNL_ARG_SRC,
                                          DNNL_ARG_WEIGHTS, source, plain, desc.weights_desc(),
                                          result, desc.scratchpad_desc(), name);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

const char* LibraryVersion() {
  static const std::string version = [] {
    const auto* v = dnnl::version();
    return std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
           std::to_string(v->patch);
  }();
  return version.c_str();
}

}  // namespace fusemark
