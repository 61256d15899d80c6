#include "aggregator/fusion/slot_fusion.h"

#include "aggregator/fusion/categorical_fusion.h"
#include "aggregator/fusion/gaussian_fusion.h"

namespace tributary::fusion {

std::unique_ptr<SlotFusion> SlotFusion::Create(const SiteConfig& site) {
  if (site.classes.empty()) return std::make_unique<GaussianFusion>(site);
  return std::make_unique<CategoricalFusion>(site);
}

}  // namespace tributary::fusion
