#include "node/accelerator/packed_weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "node/accelerator/packed_weights.cc"
#include "hwy/foreach_target.h"

// After foreach_target.h, which compiles it once per target.
#include "node/accelerator/dense_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::accelerator::HWY_NAMESPACE {
namespace {

bool Quadruples() { return kTakesQuads; }

}  // namespace
}  // namespace tributary::accelerator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::accelerator {

HWY_EXPORT(Quadruples);

bool TakesQuads() { return HWY_DYNAMIC_DISPATCH(Quadruples)(); }

}  // namespace tributary::accelerator
#endif
