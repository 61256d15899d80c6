#include "node/accelerator/packed_weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "node/accelerator/packed_weights.cc"
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
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
