// Conversions between element types.
//
// bf16 always converts by integer operations: AVX512-BF16's instruction flushes denormals, which
// HLO does not. f16 uses F16C where present; LLVM's other route would call runtime functions that
// need not exist in the process.
#include <llvm/IR/Intrinsics.h>

#include "compiler/codegen/elementwise.h"
#include "compiler/codegen/math/math.h"

namespace fusemark::codegen {

using llvm::Value;

namespace {

bool IsNarrow(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16;
}

Value* Resize(const LaneOps& ops, Value* x, unsigned bits) {
  return ops.ir.CreateZExtOrTrunc(x, ops.ScalarLike(ops.ir.getIntNTy(bits), x));
}

Value* NarrowFromF32(const LaneOps& ops, Value* x, DType to) {
  return to == DType::kBF16 ? EmitF32ToBF16(ops, x) : EmitF32ToF16(ops, x);
}

Value* NarrowToF32(const LaneOps& ops, Value* x, DType from) {
  return from == DType::kBF16 ? EmitBF16ToF32(ops, x) : EmitF16ToF32(ops, x);
}

Value* FloatToPred(const LaneOps& ops, Value* x, DType from) {
  if (!IsNarrow(from)) return ops.ir.CreateFCmpUNE(x, ops.Float(x, 0));
  // Anything but the two zeros, NaN included.
  return ops.ir.CreateICmpNE(ops.ir.CreateAnd(x, ops.Int(x, 0x7fff)), ops.Int(x, 0));
}

// 64-bit integers beyond f64's 53 bits, rounded to odd at bit 11 so that f64 holds them exactly and
// the rounding to bf16 or f16 that follows is the only one.
Value* StickyTo53Bits(const LaneOps& ops, Value* x) {
  auto& ir = ops.ir;
  Value* low = ir.CreateAnd(x, ops.Int(x, 0x7ff));
  Value* sticky =
      ir.CreateSelect(ir.CreateICmpNE(low, ops.Int(x, 0)), ops.Int(x, 0x800), ops.Int(x, 0));
  Value* rounded = ir.CreateOr(ir.CreateAnd(x, ops.Int(x, ~0x7ffLL)), sticky);
  // Small values (top 12 bits equal) are exact as they are.
  Value* top = ir.CreateAShr(x, ops.Int(x, 52));
  Value* small = ir.CreateICmpULE(ir.CreateAdd(top, ops.Int(x, 1)), ops.Int(x, 1));
  return ir.CreateSelect(small, x, rounded);
}

Value* IntToFloat(const LaneOps& ops, Value* x, bool is_signed, DType to) {
  auto& ir = ops.ir;
  if (IsNarrow(to)) {
    const bool wide = x->getType()->getScalarSizeInBits() == 64;
    Value* exact = IntToFloat(ops, wide ? StickyTo53Bits(ops, x) : x, is_signed, DType::kF64);
    return NarrowFromF32(ops, EmitF64ToOddF32(ops, exact), to);
  }
  llvm::Type* type = ops.ScalarLike(to == DType::kF64 ? ir.getDoubleTy() : ir.getFloatTy(), x);
  return is_signed ? ir.CreateSIToFP(x, type) : ir.CreateUIToFP(x, type);
}

Value* FloatToInt(const LaneOps& ops, Value* x, DType to) {
  const auto id = IsSigned(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  llvm::Type* type = ops.ScalarLike(RegisterType(ops.ir.getContext(), to), x);
  return ops.ir.CreateIntrinsic(id, {type, x->getType()}, {x});
}

Value* FloatToFloat(const LaneOps& ops, Value* x, DType from, DType to) {
  if (IsNarrow(from)) {
    Value* wide = NarrowToF32(ops, x, from);
    return to == DType::kF32 ? wide : FloatToFloat(ops, wide, DType::kF32, to);
  }
  if (to == DType::kF64) return EmitWiden(ops, x);
  if (to == DType::kF32) return EmitNarrow(ops, x);
  return NarrowFromF32(ops, from == DType::kF64 ? EmitF64ToOddF32(ops, x) : x, to);
}

Value* PredTo(const LaneOps& ops, Value* x, DType to) {
  if (!IsFloat(to)) {
    return ops.ir.CreateZExt(x, ops.ScalarLike(RegisterType(ops.ir.getContext(), to), x));
  }
  llvm::Type* type = ops.ScalarLike(RegisterType(ops.ir.getContext(), to), x);
  Value* zero = llvm::Constant::getNullValue(type);
  Value* one = nullptr;
  if (IsNarrow(to)) {
    one = ops.Int(zero, to == DType::kBF16 ? 0x3f80 : 0x3c00);
  } else {
    one = ops.Float(zero, 1);
  }
  return ops.ir.CreateSelect(x, one, zero);
}

Value* IntToInt(const LaneOps& ops, Value* x, DType from, DType to) {
  llvm::Type* type = ops.ScalarLike(RegisterType(ops.ir.getContext(), to), x);
  return IsSigned(from) ? ops.ir.CreateSExtOrTrunc(x, type) : ops.ir.CreateZExtOrTrunc(x, type);
}

}  // namespace

Value* EmitConvert(const LaneOps& ops, Value* x, DType from, DType to) {
  if (!HasRegisterType(from) || !HasRegisterType(to)) return nullptr;
  if (from == to) return x;
  if (from == DType::kPred) return PredTo(ops, x, to);
  if (to == DType::kPred) {
    return IsFloat(from) ? FloatToPred(ops, x, from) : ops.ir.CreateICmpNE(x, ops.Int(x, 0));
  }
  if (IsFloat(from) && IsFloat(to)) return FloatToFloat(ops, x, from, to);
  if (IsFloat(to)) return IntToFloat(ops, x, IsSigned(from), to);
  if (IsFloat(from)) return FloatToInt(ops, IsNarrow(from) ? NarrowToF32(ops, x, from) : x, to);
  return IntToInt(ops, x, from, to);
}

Value* EmitBitcastConvert(const LaneOps& ops, Value* x, DType from, DType to) {
  if (!HasRegisterType(from) || !HasRegisterType(to)) return nullptr;
  llvm::Type* type = ops.ScalarLike(RegisterType(ops.ir.getContext(), to), x);
  const bool same_width = BitWidth(from) == BitWidth(to);
  if (!same_width || from == DType::kPred || to == DType::kPred) return from == to ? x : nullptr;
  return ops.ir.CreateBitCast(x, type);
}

Value* EmitBF16ToF32(const LaneOps& ops, Value* bits) {
  Value* wide = Resize(ops, bits, 32);
  return ops.FromBits(ops.ir.CreateShl(wide, ops.Int(wide, 16)), ops.ir.getFloatTy());
}

Value* EmitF32ToBF16(const LaneOps& ops, Value* x) {
  auto& ir = ops.ir;
  Value* bits = ops.Bits(x);
  Value* high = ir.CreateLShr(bits, ops.Int(bits, 16));
  Value* lowest = ir.CreateAnd(high, ops.Int(bits, 1));
  Value* biased = ir.CreateAdd(bits, ir.CreateAdd(lowest, ops.Int(bits, 0x7fff)));
  Value* rounded = ir.CreateLShr(biased, ops.Int(bits, 16));
  // The bias could carry a NaN pattern over into zero.
  Value* quiet = ir.CreateOr(high, ops.Int(bits, 0x40));
  return Resize(ops, ir.CreateSelect(ops.IsNan(x), quiet, rounded), 16);
}

Value* EmitF16ToF32(const LaneOps& ops, Value* bits) {
  auto& ir = ops.ir;
  if (ops.cpu.f16c) {
    Value* half = ir.CreateBitCast(bits, ops.ScalarLike(ir.getHalfTy(), bits));
    return ir.CreateFPExt(half, ops.ScalarLike(ir.getFloatTy(), bits));
  }
  Value* wide = Resize(ops, bits, 32);
  Value* magnitude = ir.CreateShl(ir.CreateAnd(wide, ops.Int(wide, 0x7fff)), ops.Int(wide, 13));
  Value* sign = ir.CreateShl(ir.CreateAnd(wide, ops.Int(wide, 0x8000)), ops.Int(wide, 16));
  Value* exponent = ir.CreateAnd(magnitude, ops.Int(wide, 0x0f800000));
  Value* normal = ir.CreateAdd(magnitude, ops.Int(wide, 112 << 23));
  Value* special = ir.CreateAdd(normal, ops.Int(wide, 112 << 23));  // inf and NaN
  // Denormal: put the fraction under the exponent of 2^-14 and subtract 2^-14.
  Value* smallest_bits = ops.Int(wide, 113 << 23);
  Value* smallest = ops.FromBits(smallest_bits, ir.getFloatTy());
  Value* padded = ops.FromBits(ir.CreateAdd(normal, ops.Int(wide, 1 << 23)), ir.getFloatTy());
  Value* denormal = ops.Bits(ir.CreateFSub(padded, smallest));
  Value* is_special = ir.CreateICmpEQ(exponent, ops.Int(wide, 0x0f800000));
  Value* is_denormal = ir.CreateICmpEQ(exponent, ops.Int(wide, 0));
  Value* result = ir.CreateSelect(is_special, special, normal);
  result = ir.CreateOr(ir.CreateSelect(is_denormal, denormal, result), sign);
  return ops.FromBits(result, ir.getFloatTy());
}

Value* EmitF32ToF16(const LaneOps& ops, Value* x) {
  auto& ir = ops.ir;
  if (ops.cpu.f16c) {
    Value* half = ir.CreateFPTrunc(x, ops.ScalarLike(ir.getHalfTy(), x));
    return ir.CreateBitCast(half, ops.ScalarLike(ir.getInt16Ty(), x));
  }
  Value* bits = ops.Bits(x);
  Value* magnitude = ir.CreateAnd(bits, ops.Int(bits, 0x7fffffff));
  Value* sign = ir.CreateAnd(ir.CreateLShr(bits, ops.Int(bits, 16)), ops.Int(bits, 0x8000));
  Value* fraction = ir.CreateAnd(ir.CreateLShr(bits, ops.Int(bits, 13)), ops.Int(bits, 0x3ff));
  Value* nan = ir.CreateOr(fraction, ops.Int(bits, 0x7e00));
  // Normal: round at bit 13 and rebase the exponent. Denormal: adding 0.5 aligns the fraction,
  // since 0.5's last place is f16's smallest denormal; the addition rounds.
  Value* odd = ir.CreateAnd(ir.CreateLShr(magnitude, ops.Int(bits, 13)), ops.Int(bits, 1));
  Value* biased = ir.CreateAdd(ir.CreateAdd(magnitude, odd), ops.Int(bits, 0xfff - (112 << 23)));
  Value* normal = ir.CreateLShr(biased, ops.Int(bits, 13));
  Value* aligned = ops.Bits(ir.CreateFAdd(ops.Abs(x), ops.Float(x, 0.5)));
  Value* denormal = ir.CreateSub(aligned, ops.Int(bits, 0x3f000000));
  Value* result =
      ir.CreateSelect(ir.CreateICmpULT(magnitude, ops.Int(bits, 0x38800000)), denormal, normal);
  Value* overflow = ir.CreateICmpUGE(magnitude, ops.Int(bits, 0x477ff000));
  result = ir.CreateSelect(overflow, ops.Int(bits, 0x7c00), result);
  result = ir.CreateSelect(ops.IsNan(x), nan, result);
  return Resize(ops, ir.CreateOr(result, sign), 16);
}

Value* EmitF64ToOddF32(const LaneOps& ops, Value* x) {
  auto& ir = ops.ir;
  Value* narrow = EmitNarrow(ops, x);
  Value* back = EmitWiden(ops, narrow);
  Value* bits = ops.Bits(narrow);
  Value* too_far = ir.CreateFCmpOGT(ops.Abs(back), ops.Abs(x));
  Value* truncated = ir.CreateSub(bits, ir.CreateZExt(too_far, bits->getType()));
  Value* odd = ir.CreateOr(truncated, ops.Int(bits, 1));
  Value* inexact = ir.CreateFCmpONE(back, x);
  return ops.FromBits(ir.CreateSelect(inexact, odd, bits), ir.getFloatTy());
}

}  // namespace fusemark::codegen
