"""The check of the images finds what is wrong: every kind of fault, planted."""

import pathlib
import tempfile
import unittest

import check_images
import dockerfile

GOOD = """# A comment.
FROM debian:12.11-slim AS base
RUN apt-get update \\
 # between lines
 && apt-get install -y --no-install-recommends curl \\
 && rm -rf /var/lib/apt/lists/*
COPY here /there
FROM base AS {name}
LABEL org.opencontainers.image.version="0.1.0"
USER 7400:7400
HEALTHCHECK --interval=5s CMD ["true"]
ENTRYPOINT ["daemon"]
CMD ["--config", "x"]
"""
SERVICE = {"build": ".", "read_only": True, "cap_drop": ["ALL"], "security_opt": ["no-new-privileges:true"]}


class PlantedFaults(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        (self.root / "here").touch()
        (self.root / "CMakeLists.txt").write_text("project(tributary VERSION 0.1.0)\n", encoding="utf-8")

    def faults(self, old="", new=""):
        text = GOOD.format(name="aggregator")
        self.assertIn(old, text)
        text = text.replace(old, new, 1)
        return [fault for fault in check_images.dockerfile_faults(text, self.root)
                if fault not in ("no stage is called node", "no stage is called demo")]

    def test_what_is_sound_has_no_fault(self):
        self.assertEqual(self.faults(), [])
        self.assertEqual(check_images.service_faults(SERVICE, self.root), [])

    def test_every_rule_for_images(self):
        for old, new, fault in (
                ("debian:12.11-slim", "debian:latest", "not pinned"), ("debian:12.11-slim", "debian", "not pinned"),
                ("apt-get update \\", "true \\", "without update"), ("--no-install-recommends ", "", "--no-install-recommends"),
                (" && rm -rf /var/lib/apt/lists/*", " && true", "clean-up"), ("apt-get install", "apt install", "for people"),
                ("curl \\", "curl && curl http://x | sh \\", "unseen"), ("curl \\", "curl && sudo true \\", "sudo"),
                ("COPY here", "COPY nowhere", "nowhere does not exist"), ("COPY here", "COPY --from=none here", "no stage before is called none"),
                ("COPY here", "ADD here", "COPY says"), ("COPY here /there", 'RUN ["deploy/gone.sh"]', "gone.sh does not exist"), ("USER 7400:7400\n", "", "as root"), ("USER 7400:7400", "USER 0", "as root"),
                ("USER 7400:7400", "USER root", "as root"), ("HEALTHCHECK --interval=5s CMD [\"true\"]\n", "", "no HEALTHCHECK"),
                ('CMD ["true"]', "CMD true", "exec form"), ('ENTRYPOINT ["daemon"]', "ENTRYPOINT daemon", "exec form"),
                ('ENTRYPOINT ["daemon"]\n', "", "no ENTRYPOINT"), ("COPY here /there", "ENV API_KEY=x", "secret"),
                ("COPY here /there", "WORKDIR there", "absolute"), ('version="0.1.0"', 'version="0.0.1"', "label of the version")):
            self.assertTrue(any(fault in each for each in self.faults(old, new)), f"{new}: {self.faults(old, new)}")

    def test_every_rule_for_services(self):
        for change, fault in (({"read_only": False}, "read-only"), ({"cap_drop": []}, "capabilities"), ({"privileged": True}, "capabilities"),
                              ({"security_opt": []}, "gain privileges"), ({"ports": ["80:80"]}, "beyond this machine"),
                              ({"volumes": ["./nowhere:/x:ro"]}, "does not exist"), ({"volumes": ["./here:/x"]}, "may write"),
                              ({"environment": {"GF_ADMIN_PASSWORD": "x"}}, "file of its own")):
            found = check_images.service_faults({**SERVICE, **change}, self.root)
            self.assertTrue(any(fault in each for each in found), f"{change}: {found}")
        loose = {key: value for key, value in SERVICE.items() if key != "build"}
        self.assertIn("not pinned", check_images.service_faults({**loose, "image": "prom/prometheus:latest"}, self.root)[0])

    def test_what_is_no_dockerfile(self):
        for text in ("RUN true\n", "FROM\n", "FROM x:1.0 AS a b\n", "FROM x:1.0\nRUN true \\\n"):
            with self.assertRaises(ValueError, msg=text):
                dockerfile.read(text)


if __name__ == "__main__":
    unittest.main()
