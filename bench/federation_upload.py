"""Ten updates of 25 M parameters over gRPC against plain TCP into the same code; the program alternates both."""
import json
import subprocess
import sys

figures = json.loads(subprocess.run([sys.argv[1] + "/federation_upload_bench"], check=True, capture_output=True,
                                    text=True).stdout.splitlines()[-1])
limit_mb = 2 * figures["model_mb"] + 64
print(f"{figures['nodes']} updates of {figures['elements']:,} parameters: gRPC {figures['grpc_gb_s']:.2f} GB/s, "
      f"TCP {figures['tcp_gb_s']:.2f} GB/s, ratio {figures['ratio']:.2f}")
print(f"aggregator: {figures['server_resident_mb']:.0f} MB resident while they arrive "
      f"(model x 2 + 64 MB: {limit_mb:.0f}), peak {figures['server_peak_mb']:.0f} MB")
