#include "node/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/radio/sigmf_meta.h"
#include "tests/support/parse_config.h"

namespace tributary::node {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kMinimal = R"(node = "north"
site = "lab"
[[panel]]
name = "north"
model = "models/positioning.safetensors"
[panel.source]
kind = "room"
)";

NodeConfig Parse(const std::string& text) {
  auto config = testing::ParseConfig(ReadNodeConfig, text, "/etc/tributary/node.toml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.value_or(NodeConfig());
}

std::string Faults(const std::string& text) {
  const auto config = testing::ParseConfig(ReadNodeConfig, text, "/etc/tributary/node.toml");
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(config.status().message());
}

TEST(NodeConfigTest, TakesDefaultsForWhatIsNotGiven) {
  const NodeConfig config = Parse(kMinimal);
  EXPECT_EQ(config.aggregator, "127.0.0.1:7400");
  EXPECT_EQ(config.spool.frames, 16384u);
  EXPECT_EQ(config.frames_per_message, 1u);
  ASSERT_EQ(config.panels.size(), 1u);
  EXPECT_EQ(config.panels[0].accelerator.format, fpga::NumberFormat::kInt8Int16);
  const auto& room = std::get<source::RoomSourceOptions>(config.panels[0].source);
  EXPECT_EQ(room.subjects, 16u);
  EXPECT_EQ(room.wall, scene::Wall::kSouth);
}

TEST(NodeConfigTest, APanelLearnsFromAFileOrByHttp) {
  const auto config = [](const std::string& retraining,
                         const std::string& source = "kind = \"udp\"\nport = 0") {
    return "node = \"a\"\nsite = \"b\"\n[[panel]]\nname = \"a\"\nworkload = \"beacon\"\nmodel = "
           "\"m\"\n[panel.retraining]\n" +
           retraining + "\n[panel.source]\n" + source + "\n";
  };
  const auto read =
      Parse(config("samples = \"new.csv\"\nstate = \"learned.safetensors\"")).panels[0].retraining;
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->samples_file, "/etc/tributary/new.csv");
  EXPECT_EQ(read->state_file, "/etc/tributary/learned.safetensors");
  EXPECT_FALSE(read->http);
  EXPECT_FALSE(Parse(kMinimal).panels[0].retraining.has_value());
  EXPECT_THAT(Faults(config("")), HasSubstr("panel[0].retraining: needs samples = \"FILE\" or http = true"));
  EXPECT_THAT(Faults(config("http = true", "kind = \"serial\"\ndevice = \"/dev/ttyS0\"")),
              HasSubstr("panel[0].retraining: the master of a serial line trains its board"));
  EXPECT_THAT(Faults(config("http = true") + "[http]\nlisten = \"\"\n"),
              HasSubstr("panel[0].retraining.http: needs listen in [http]"));
  EXPECT_THAT(Faults(std::string(kMinimal) + "[panel.retraining]\nhttp = true\n"),
              HasSubstr("panel[0].retraining: is for the workload beacon"));
}

TEST(NodeConfigTest, ResolvesFilesAgainstItsOwnFolder) {
  EXPECT_EQ(Parse(kMinimal).panels[0].model, "/etc/tributary/models/positioning.safetensors");
  const NodeConfig config =
      Parse(std::string("node = \"a\"\nsite = \"b\"\n[tls]\ncertificate = \"a.pem\"\nkey = "
                        "\"/keys/a.key\"\nca = \"../ca.pem\"\n") +
            std::string(kMinimal).substr(std::string(kMinimal).find("[[panel]]")));
  EXPECT_EQ(config.tls->certificate, "/etc/tributary/a.pem");
  EXPECT_EQ(config.tls->key, "/keys/a.key");
  EXPECT_EQ(config.tls->ca, "/etc/ca.pem");
}

TEST(NodeConfigTest, ThePathOfAUnixSocketStartsAtItsOwnFolder) {
  const auto with = [](const std::string& address) {
    return Parse(std::string(kMinimal) + "[uplink]\naggregator = \"" + address + "\"\n").aggregator;
  };
  EXPECT_EQ(with("unix:run/hub.sock"), "unix:/etc/tributary/run/hub.sock");
  EXPECT_EQ(with("unix:/run/hub.sock"), "unix:/run/hub.sock");
}

TEST(NodeConfigTest, NamesEveryFaultAtOnce) {
  EXPECT_THAT(
      Faults(R"(site = "lab"
log_level = "loud"
typo = 1
[uplink]
aggregator = "10.0.0.1:7400"
frames_per_message = 0
[[panel]]
name = "north"
model = "m"
format = "int9"
[panel.source]
kind = "camera"
)"),
      AllOf(HasSubstr("node: is required"), HasSubstr("log_level: expected one of"),
            HasSubstr("typo: unknown key"), HasSubstr("not on the loopback"), HasSubstr("frames_per_message"),
            HasSubstr("format: expected one of"), HasSubstr("kind: expected one of")));
}

TEST(NodeConfigTest, LeavesTheLoopbackOnlyWithTlsOrWhenToldTo) {
  const std::string away = "[uplink]\naggregator = \"10.0.0.1:7400\"\n";
  const std::string head = "node = \"a\"\nsite = \"b\"\n";
  const std::string panel = std::string(kMinimal).substr(std::string(kMinimal).find("[[panel]]"));
  EXPECT_THAT(Faults(head + away + panel), HasSubstr("insecure = true"));
  Parse(head + away + "insecure = true\n" + panel);
  Parse(head + away + "[tls]\ncertificate = \"c\"\nkey = \"k\"\nca = \"a\"\n" + panel);
  EXPECT_THAT(Faults(head + "[http]\nlisten = \"0.0.0.0:80\"\n" + panel), HasSubstr("http.listen"));
}

TEST(NodeConfigTest, EverySourceCountsTheSlotsOfTheSite) {
  const std::string head =
      "node = \"a\"\nsite = \"b\"\nslot_ms = 100\n[[panel]]\nname = \"p\"\nmodel = \"m\"\n";
  const estimate::SlotLength slot = *estimate::SlotLength::FromMs(100);
  EXPECT_EQ(Parse(kMinimal).slot, estimate::SlotLength());
  const NodeConfig room = Parse(head + "[panel.source]\nkind = \"room\"\n");
  EXPECT_EQ(room.slot, slot);
  EXPECT_EQ(std::get<source::RoomSourceOptions>(room.panels[0].source).slot, slot);
  EXPECT_DOUBLE_EQ(std::get<source::RoomSourceOptions>(room.panels[0].source).rate_hz, 10);
  const NodeConfig replay =
      Parse(head + "[panel.source]\nkind = \"replay\"\nfile = \"x.npy\"\nrate_hz = 5\n");
  EXPECT_EQ(std::get<panel::ReplayConfig>(replay.panels[0].source).options.slot, slot);
  const NodeConfig ranges =
      Parse(head + "workload = \"beacon\"\n[panel.source]\nkind = \"ranges\"\nfile = \"r\"\n");
  EXPECT_EQ(std::get<panel::RangesConfig>(ranges.panels[0].source).options.slot, slot);
  const NodeConfig udp = Parse(head + "[panel.source]\nkind = \"udp\"\nport = 0\n");
  EXPECT_EQ(std::get<source::UdpSourceOptions>(udp.panels[0].source).assembler.slot, slot);
  const NodeConfig generator = Parse(head + "[panel.source]\nkind = \"generator\"\n");
  EXPECT_EQ(std::get<source::EmitterSourceOptions>(generator.panels[0].source).slot, slot);
  const NodeConfig sigmf = Parse(head + "[panel.source]\nkind = \"sigmf\"\nfile = \"x.sigmf-meta\"\n");
  EXPECT_EQ(std::get<panel::SigmfConfig>(sigmf.panels[0].source).replay.slot, slot);
}

std::string WithSource(const std::string& keys) {
  return "node = \"a\"\nsite = \"b\"\n[[panel]]\nname = \"p\"\nmodel = \"m\"\n[panel.source]\n" + keys;
}

TEST(NodeConfigTest, AModulationHasNoPlace) {
  const std::string head =
      "node = \"a\"\nsite = \"b\"\n[[panel]]\nname = \"p\"\nmodel = \"m\"\nworkload = \"modulation\"\n";
  const std::string source = "[panel.source]\nkind = \"generator\"\n";
  const NodeConfig config = Parse(head + source);
  EXPECT_EQ(config.panels[0].workload, panel::WorkloadKind::kModulation);
  EXPECT_EQ(config.panels[0].accelerator.format, fpga::NumberFormat::kInt8);
  EXPECT_EQ(Parse(head + "format = \"float\"\n" + source).panels[0].accelerator.format,
            fpga::NumberFormat::kFloat);
  for (const std::string key : {"orientation_deg", "x_m", "y_m"}) {
    EXPECT_THAT(Faults(head + key + " = 1\n" + source), HasSubstr(key + ": is for positions"));
  }
  EXPECT_THAT(Faults(head + "format = \"int8_16\"\n" + source), HasSubstr("format: "));
  EXPECT_THAT(Faults(head + source + "[[panel]]\nname = \"q\"\nmodel = \"m\"\n" + source + "[fusion]\n"),
              HasSubstr("fusion: fuses positions; panel \"p\" gives classes"));
}

TEST(NodeConfigTest, ReadsEmitters) {
  const NodeConfig config = Parse(WithSource(
      "kind = \"generator\"\nsubjects = 3\nreceiver = 2\nseed = 9\nframes_per_emission = 5\n"
      "lowest_snr_db = -4\nhighest_snr_db = 6.5\ndomain = \"foreign\"\nsnr = \"label\"\nrate_hz = 20\n"));
  const auto& options = std::get<source::EmitterSourceOptions>(config.panels[0].source);
  EXPECT_EQ(options.subjects, 3u);
  EXPECT_EQ(options.receiver, 2u);
  EXPECT_EQ(options.emitter.seed, 9u);
  EXPECT_EQ(options.emitter.frames_per_emission, 5u);
  EXPECT_EQ(options.emitter.lowest_snr_db, -4);
  EXPECT_EQ(options.emitter.highest_snr_db, 6.5);
  EXPECT_EQ(options.rate_hz, 20);
  EXPECT_EQ(options.burst.converter.bits, 12);  // of the foreign domain
  EXPECT_EQ(options.burst.snr, radio::SnrDefinition::kLabel);
}

TEST(NodeConfigTest, NamesTheFaultsOfEmitters) {
  EXPECT_THAT(
      Faults(WithSource("kind = \"generator\"\nlowest_snr_db = 19\nsubjects = 0\nsnr = \"loud\"\n"
                        "rate_hz = 1500\nfile = \"x\"\n")),
      AllOf(HasSubstr("lowest_snr_db: 19 is above highest_snr_db, which is 18"), HasSubstr("subjects: "),
            HasSubstr("snr: expected one of"), HasSubstr("rate_hz: "), HasSubstr("file: unknown key")));
}

TEST(NodeConfigTest, ReadsASigmfRecording) {
  const NodeConfig config = Parse(WithSource(
      "kind = \"sigmf\"\nfile = \"x.sigmf-meta\"\nloop = true\nsample_rate_hz = 0\nfirst_subject = 7\n"));
  const auto& sigmf = std::get<panel::SigmfConfig>(config.panels[0].source);
  EXPECT_EQ(sigmf.file, "/etc/tributary/x.sigmf-meta");
  EXPECT_EQ(radio::SigmfDataFile(sigmf.file), "/etc/tributary/x.sigmf-data");
  EXPECT_EQ(sigmf.sample_rate_hz, 0);
  EXPECT_TRUE(sigmf.replay.loop);
  EXPECT_EQ(sigmf.replay.first_subject, 7u);
}

TEST(NodeConfigTest, ASigmfRecordingIsNamedByItsMetadata) {
  EXPECT_THAT(Faults(WithSource("kind = \"sigmf\"\nfile = \"x.sigmf-data\"\n")),
              HasSubstr("file: expected a name that ends with .sigmf-meta"));
  EXPECT_THAT(Faults(WithSource("kind = \"sigmf\"\n")), HasSubstr("file: is required"));
}

TEST(NodeConfigTest, RefusesARateThatPutsTwoFramesIntoASlot) {
  const std::string text =
      "node = \"a\"\nsite = \"b\"\nslot_ms = 100\n[[panel]]\nname = \"p\"\nmodel = \"m\"\n[panel.source]\n";
  EXPECT_THAT(Faults(text + "kind = \"room\"\nrate_hz = 20\n"),
              HasSubstr("rate_hz: 20; slots of 100 ms allow 10 divided by a whole number"));
  EXPECT_THAT(Faults(text + "kind = \"replay\"\nfile = \"x\"\nrate_hz = 3\n"), HasSubstr("rate_hz: 3"));
  EXPECT_THAT(Faults("slot_ms = 0\n" + std::string(kMinimal)), HasSubstr("slot_ms"));
}

TEST(NodeConfigTest, HttpHasAFixedPortAndItsOwnLeaveToBeExposed) {
  EXPECT_EQ(Parse(kMinimal).http_listen, "127.0.0.1:7481");
  const std::string head = "node = \"a\"\nsite = \"b\"\n";
  const std::string panel = std::string(kMinimal).substr(std::string(kMinimal).find("[[panel]]"));
  const std::string http = "[http]\nlisten = \"0.0.0.0:80\"\n";
  Parse(head + http + "insecure = true\n" + panel);
  EXPECT_THAT(Faults(head + "[uplink]\ninsecure = true\n" + http + panel),
              HasSubstr("insecure = true in [http]"));
  const std::string away = "[uplink]\naggregator = \"10.0.0.1:7400\"\n";
  EXPECT_THAT(Faults(head + away + "[http]\ninsecure = true\n" + panel), HasSubstr("uplink.aggregator"))
      << "it opens HTTP alone";
}

TEST(NodeConfigTest, RefusesTwoPanelsOnOneUdpPort) {
  const auto panel = [](const std::string& name, int port) {
    return "[[panel]]\nname = \"" + name +
           "\"\nmodel = \"m\"\n[panel.source]\nkind = \"udp\"\nport = " + std::to_string(port) + "\n";
  };
  const std::string head = "node = \"a\"\nsite = \"b\"\n";
  Parse(head + panel("p", 9000) + panel("q", 9001));
  Parse(head + panel("p", 0) + panel("q", 0));
  EXPECT_THAT(Faults(head + panel("p", 9000) + panel("q", 9000)),
              HasSubstr("panel[1].source.port: 9000 is the port of panel \"p\""));
}

TEST(NodeConfigTest, KeepsTheAddressOfAFrontEndInTheFormThatItIsComparedIn) {
  const std::string head =
      "node = \"a\"\nsite = \"b\"\n[[panel]]\nname = \"p\"\nmodel = \"m\"\n[panel.source]\n";
  const NodeConfig config =
      Parse(head + "kind = \"udp\"\nport = 0\naddress = \"::\"\nfront_end = \"2001:DB8:0::1\"\n");
  EXPECT_EQ(std::get<source::UdpSourceOptions>(config.panels[0].source).front_end, "2001:db8::1");
}

TEST(NodeConfigTest, RefusesTwoPanelsOfOneName) {
  const std::string panel = std::string(kMinimal).substr(std::string(kMinimal).find("[[panel]]"));
  EXPECT_THAT(Faults(kMinimal + panel), HasSubstr("\"north\" is the name of two panels"));
}

TEST(NodeConfigTest, NeedsAPanelWithASource) {
  EXPECT_THAT(Faults("node = \"a\"\nsite = \"b\"\n"),
              HasSubstr("expected 1 to 256 [[panel]] tables, found 0"));
  EXPECT_THAT(Faults("node = \"a\"\nsite = \"b\"\n[[panel]]\nname = \"p\"\nmodel = \"m\"\n"),
              HasSubstr("[panel.source]"));
}

TEST(NodeConfigTest, DerivesTheWallFromTheOrientationAndViceVersa) {
  const std::string head = "node = \"a\"\nsite = \"b\"\n[[panel]]\nname = \"p\"\nmodel = \"m\"\n";
  const NodeConfig turned = Parse(head + "orientation_deg = 180.0\n[panel.source]\nkind = \"room\"\n");
  EXPECT_EQ(std::get<source::RoomSourceOptions>(turned.panels[0].source).wall, scene::Wall::kNorth);
  const NodeConfig named = Parse(head + "[panel.source]\nkind = \"room\"\nwall = \"east\"\n");
  EXPECT_EQ(named.panels[0].orientation_deg, scene::WallAngleDeg(scene::Wall::kEast));
  EXPECT_THAT(Faults(head + "orientation_deg = 45.0\n[panel.source]\nkind = \"room\"\n"),
              HasSubstr("expected 0, 90, 180 or 270"));
  EXPECT_THAT(Faults(head + "orientation_deg = 0.0\n[panel.source]\nkind = \"room\"\nwall = \"east\"\n"),
              HasSubstr("does not fit the east wall"));
}

TEST(NodeConfigTest, ReadsEverySource) {
  const std::string head = "node = \"a\"\nsite = \"b\"\n[[panel]]\nname = \"p\"\nmodel = \"m\"\n";
  const NodeConfig replay =
      Parse(head + "[panel.source]\nkind = \"replay\"\nfile = \"x.npy\"\nloop = true\n");
  EXPECT_EQ(std::get<panel::ReplayConfig>(replay.panels[0].source).file, "/etc/tributary/x.npy");
  EXPECT_TRUE(std::get<panel::ReplayConfig>(replay.panels[0].source).options.loop);
  const NodeConfig ranges =
      Parse(head +
            "workload = \"beacon\"\n[panel.source]\nkind = \"ranges\"\nfile = \"/r.csv\"\n"
            "survey = \"hall.toml\"\nanchors = [1, 4, 6]\ntag = 2\nspeed = 0\n");
  const auto& options = std::get<panel::RangesConfig>(ranges.panels[0].source).options;
  EXPECT_EQ(options.anchors, (std::vector<int>{1, 4, 6}));
  EXPECT_EQ(options.tag, 2);
  EXPECT_EQ(std::get<panel::RangesConfig>(ranges.panels[0].source).survey, "/etc/tributary/hall.toml");
  const NodeConfig udp = Parse(head + "[panel.source]\nkind = \"udp\"\nport = 9000\n");
  EXPECT_EQ(std::get<source::UdpSourceOptions>(udp.panels[0].source).port, 9000);
  EXPECT_THAT(Faults(head + "[panel.source]\nkind = \"udp\"\n"), HasSubstr("port: is required"));
  EXPECT_THAT(Faults(head + "[panel.source]\nkind = \"udp\"\nport = 0\nseed = 1\n"),
              HasSubstr("seed: unknown key"));
  EXPECT_THAT(Faults(head + "[panel.source]\nkind = \"replay\"\n"), HasSubstr("file: is required"));
}

TEST(NodeConfigTest, FusesTwoToFourPanelsOnTheBoardWhenAsked) {
  const std::string panel = std::string(kMinimal).substr(std::string(kMinimal).find("[[panel]]"));
  std::string second = panel;
  second.replace(second.find("\"north\""), 7, "\"east\"");
  EXPECT_FALSE(Parse(kMinimal).fusion.has_value());
  const NodeConfig fused = Parse(kMinimal + second + "[fusion]\n");
  ASSERT_TRUE(fused.fusion.has_value());
  EXPECT_EQ(fused.fusion->name, "north");
  EXPECT_FALSE(fused.fusion->accelerator.xrt.has_value());
  EXPECT_DOUBLE_EQ(fused.fusion->deadline_ms, 5);
  EXPECT_DOUBLE_EQ(Parse("slot_ms = 100\n" + (kMinimal + second) + "[fusion]\n").fusion->deadline_ms, 104.5);
  const NodeConfig board =
      Parse(kMinimal + second + "[fusion]\naccelerator = \"xrt\"\nxclbin = \"b.xclbin\"\nname = \"roof\"\n");
  EXPECT_EQ(board.fusion->name, "roof");
  EXPECT_EQ(board.fusion->accelerator.xrt->xclbin, "/etc/tributary/b.xclbin");
  EXPECT_THAT(Faults(std::string(kMinimal) + "[fusion]\n"), HasSubstr("fuses 2 to 4 panels, found 1"));
  EXPECT_THAT(Faults(kMinimal + second + "[fusion]\naccelerator = \"xrt\"\n"),
              HasSubstr("xclbin: is required"));
}

TEST(NodeConfigTest, ABoardComputesLayersInFloatsOfNetworksOnlyAndWhenAsked) {
  const auto network = [](const std::string& keys) {
    return "node = \"a\"\nsite = \"b\"\n[[panel]]\nname = \"a\"\nworkload = \"network\"\nmodel = \"m\"\n" +
           keys + "[panel.source]\nkind = \"udp\"\nport = 0\n";
  };
  const std::string board = "accelerator = \"xrt\"\nxclbin = \"b.xclbin\"\n",
                    asked = "float_layers = \"bfloat16\"\n";
  const auto layers = [&](const std::string& keys) {
    return Parse(network(keys)).panels[0].accelerator.xrt->float_layers;
  };
  EXPECT_EQ(layers(board), accelerator::FloatLayers::kProcessor);
  EXPECT_EQ(layers(board + asked), accelerator::FloatLayers::kBfloat16);
  EXPECT_EQ(layers(board + "float_layers = \"float32\"\n"), accelerator::FloatLayers::kFloat32);
  EXPECT_THAT(Faults(network(asked)),
              HasSubstr("float_layers: is for accelerator = \"xrt\", which is not given"));
  EXPECT_THAT(Faults(network(board + "float_layers = \"int8\"\n")), HasSubstr("float_layers: "));
  std::string positions = kMinimal;
  positions.insert(positions.find("[panel.source]"), board + asked);
  EXPECT_THAT(Faults(positions), HasSubstr("float_layers: is for the workload network"));
}

}  // namespace
}  // namespace tributary::node
