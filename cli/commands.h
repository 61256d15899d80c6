// The commands of `tributary`. Each adds itself to the program or to the group that main.cc gives it.
#pragma once

#include "cli/command.h"

namespace tributary::cli {

void AddWatchCommand(Commands& program);
void AddStatusCommand(Commands& program);
void AddInferCommand(Commands& program);
void AddConflateCommand(Commands& program);
void AddLoadCommand(Commands& program);
void AddCertsCommand(Commands& program);
void AddJoinCommand(Commands& program);
void AddDoctorCommand(Commands& program);
void AddBackupCommand(Commands& program);
void AddRestoreCommand(Commands& program);
void AddHelpCommand(Commands& program);
void AddCompletionCommand(Commands& program);

void AddRunStartCommand(Commands& run);
void AddRunListCommand(Commands& run);
void AddRunShowCommand(Commands& run);
void AddRunWatchCommand(Commands& run);
void AddRunControlCommands(Commands& run);
void AddRunSplitCommand(Commands& run);

void AddRecordingBurstsCommand(Commands& recording);
void AddRecordingMoveAnchorCommand(Commands& recording);
void AddRecordingSamplesCommand(Commands& recording);

void AddSerialServeCommand(Commands& serial);
void AddSerialCommands(Commands& serial);
void AddTokenCreateCommand(Commands& token);
void AddTokenInviteCommand(Commands& token);
void AddTokenListCommand(Commands& token);
void AddTokenRevokeCommand(Commands& token);

void AddTrainPositioningCommand(Commands& train);
void AddTrainBeaconCommand(Commands& train);
void AddTrainBeaconStartCommand(Commands& train);
void AddTrainModulationCommand(Commands& train);
void AddTrainSelfSupervisedCommand(Commands& train);

void AddAdaptPositioningCommand(Commands& adapt);

void AddEvaluatePositioningCommand(Commands& evaluate);
void AddEvaluateBeaconCommand(Commands& evaluate);
void AddEvaluateModulationCommand(Commands& evaluate);
void AddEvaluateEncoderCommand(Commands& evaluate);

void AddModelInspectCommand(Commands& model);
void AddModelListCommand(Commands& model);
void AddModelDiffCommand(Commands& model);
void AddModelRollBackCommand(Commands& model);
void AddModelExportCommand(Commands& model);
void AddModelImportCommand(Commands& model);
void AddModelRunCommand(Commands& model);
void AddModelProfileCommand(Commands& model);
void AddModelQuantiseCommand(Commands& model);

}  // namespace tributary::cli
