#include "aggregator/ingest/slot_to_wire.h"

namespace tributary {
namespace {

template <typename Values, typename Field>
void Copy(const Values& values, Field* field) {
  field->Clear();
  field->Add(values.begin(), values.end());
}

}  // namespace

void SlotToWire(const FusedSlot& slot, v1::FusedSlot& wire) {
  wire.set_epoch(slot.epoch);
  wire.set_captured_unix_ns(slot.captured_unix_ns);
  wire.set_fused_unix_ns(slot.fused_unix_ns);
  wire.set_revision(slot.revision);
  wire.set_dimension(slot.dimension);
  Copy(slot.subjects, wire.mutable_subjects());
  Copy(slot.means, wire.mutable_means());
  Copy(slot.cholesky, wire.mutable_cholesky());
  Copy(slot.contributors, wire.mutable_contributors());
  Copy(slot.consistency, wire.mutable_consistency());
  Copy(slot.velocities, wire.mutable_velocities());
}

}  // namespace tributary
