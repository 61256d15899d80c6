"""The page test finds what is wrong: every kind of fault, planted."""

import pathlib
import stat
import tempfile
import unittest

import check_pages
import commands
import links
import markdown
import resources
import session

# A program with one command, which prints an endless table or, for a false name, nothing.
TRIBUTARY = """#!/bin/bash
case "$*" in
  --help) printf 'Options:\\n  --version\\nSubcommands:\\n  watch   live\\n  status  nodes\\n' ;;
  "watch --help")
    printf 'Options:\\n  --site TEXT\\n  --json\\nExamples:\\n  tributary watch --site lab     what a site sees\\n' ;;
  "watch --site lab"*) while :; do echo "site lab"; sleep 0.05; done ;;
  watch*) exec sleep 60 ;;
  "status") exit 0 ;;
  *) echo "unknown command" >&2; exit 64 ;;
esac
"""
DAEMON = """#!/bin/bash
case "$*" in
  *good.toml) exec /usr/bin/python3 -c 'import os, socket, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"]); time.sleep(60)' ;;
  *) echo "node.toml: is required" >&2; exit 78 ;;
esac
"""
RESOURCES = """# Resources

## Kernels

| kernel | LUT | FF | DSP | BRAM36 |
|---|---|---|---|---|
| `positioning_kernel` | 28,000 | 22,000 | 627 | 161.5 |
| `fusion_kernel` | 4,693 | 2,711 | 4 | 4.5 |

## Boards

| board | LUT | FF | DSP | BRAM36 | remark |
|---|---|---|---|---|---|
| ZCU102 (ZU9EG) | 274,080 | 548,160 | 2,520 | 912 | |
| KV260 (K26) | 117,120 | 234,240 | 1,248 | 144 | |
"""


class PlantedFaults(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        self.root, self.bin = self.folder / "root", self.folder / "bin"
        (self.root / "docs").mkdir(parents=True)
        (self.root / "deploy").mkdir()
        self.bin.mkdir()
        for name, text in {"tributary": TRIBUTARY, "tributary-node": DAEMON}.items():
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(stat.S_IRWXU)

    def page(self, text):
        (self.root / "README.md").write_text(text)
        return markdown.parse("README.md", text)

    def link_faults(self, text):
        self.page(text)
        return links.faults(self.root, markdown.read(self.root))

    def run_faults(self, block, directives="", language="sh"):
        page = self.page(f"{directives}\n```{language}\n{block}\n```\n".lstrip())
        scratch = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        runner = check_pages.Runner(self.root, self.bin, scratch)
        runner.run_page(page)
        return page.faults + runner.faults

    def test_a_link_must_lead_somewhere(self):
        self.assertEqual(self.link_faults("# A title\n[here](#a-title) [there](README.md)\n"), [])
        self.assertIn("does not exist", self.link_faults("[there](docs/none.md)\n")[0])
        self.assertIn("no heading", self.link_faults("[there](README.md#none)\n")[0])

    def test_a_file_name_must_exist(self):
        found = self.link_faults("`docs/*`? No: `deploy/` and `/etc/none`\n")
        self.assertEqual(found, ["README.md:1: docs/* does not exist"])
        self.assertIn("does not exist", self.link_faults("`deploy/none.toml`\n")[0])

    def test_a_command_line_must_name_what_exists(self):
        known = commands.Commands(self.bin)
        self.assertIsNone(known.fault("tributary watch --site NAME [--json]"))
        self.assertIn("no option --sight", known.fault("tributary watch --sight NAME"))
        self.assertIn("no command wach", known.fault("tributary wach --site NAME"))
        self.assertEqual(known.examples(("tributary", "watch")), ["tributary watch --site lab"])

    def test_an_option_of_the_demo_must_exist(self):
        root, known = pathlib.Path(__file__).parents[2], commands.Commands(self.bin)
        self.assertIsNone(check_pages.command_fault(root, known, "./demo.sh ranges --seconds 5"))
        self.assertIn("unknown argument", check_pages.command_fault(root, known, "./demo.sh ranges --second 5"))
        self.assertIn("no preset", check_pages.command_fault(root, known, "cmake --preset releas"))

    def test_a_command_must_succeed(self):
        self.assertEqual(self.run_faults("tributary status"), [])
        self.assertIn("ended with 64", self.run_faults("tributary sttus")[0])
        self.assertIn("ended with 1", self.run_faults("tributary status && false")[0])
        self.assertIn("ended with 1", self.run_faults("for i in 1 2; do\n  false\ndone")[0])

    def test_a_later_line_sees_the_earlier_ones(self):
        self.assertEqual(self.run_faults("export NAME=here\ncd deploy\ntouch $NAME\n[ -e ../deploy/here ]"), [])

    def test_an_endless_command_must_say_what_it_should(self):
        session_limit, session.LIMIT_S = session.LIMIT_S, 1
        self.addCleanup(setattr, session, "LIMIT_S", session_limit)
        self.assertEqual(self.run_faults("tributary watch --site lab", "<!-- expect: site lab -->"), [])
        self.assertIn("neither ended", self.run_faults("tributary watch --site lab", "<!-- expect: 4/4 -->")[0])
        self.assertIn("neither ended", self.run_faults("tributary watch --site hall")[0])

    def test_a_daemon_must_become_ready(self):
        self.assertIn("ended with 78", self.run_faults("tributary-node --config bad.toml")[0])
        self.assertIn("ended with 78", self.run_faults("tributary-node --config bad.toml &\nsleep 0.5")[0])

    def test_a_daemon_must_end_well(self):
        # This one is ended by SIGTERM as a shell's child is, and not as a daemon of ours.
        self.assertIn("at SIGTERM", self.run_faults("tributary-node --config good.toml")[0])

    def test_a_configuration_must_be_taken(self):
        text = 'node = "a"'
        self.assertIn("ended with 78", self.run_faults(text, "<!-- file: node.toml -->", "toml")[0])
        block = markdown.parse("a.md", "```toml\nnode =\n```\n").blocks[0]
        self.assertIsNotNone(check_pages.block_text_fault(block))
        block = markdown.parse("a.md", f"```toml\n{text}\n```\n").blocks[0]
        self.assertIn("names its file", check_pages.block_text_fault(block))

    def test_other_blocks_must_be_what_they_say(self):
        for language, text in {"json": "{", "sh": "if true", "": "tributary watch"}.items():
            block = markdown.parse("a.md", f"```{language}\n{text}\n```\n").blocks[0]
            self.assertIsNotNone(check_pages.block_text_fault(block), language)

    def test_a_comment_must_be_a_directive_and_stand_above_a_block(self):
        self.assertTrue(markdown.parse("a.md", "<!-- no run: because -->\n```sh\nfalse\n```\n").faults)
        self.assertTrue(markdown.parse("a.md", "<!-- not run: because -->\nText\n").faults)

    def test_an_example_must_fit_its_board(self):
        build = "./build_xclbin.sh {} build positioning_kernel:2 fusion_kernel:1"
        self.assertEqual(resources.faults(RESOURCES, [("a", build.format("zcu102"))]), [])
        self.assertEqual(resources.faults(RESOURCES, [("a", build.format("kv260"))]), [
            "a: the example for kv260 needs 1258 DSP of 1248",
            "a: the example for kv260 needs 327.5 BRAM36 of 144",
        ])
        self.assertTrue(resources.faults(RESOURCES, []))
        self.assertTrue(resources.faults(RESOURCES, [("a", "./build_xclbin.sh kv260 build none:1")]))


if __name__ == "__main__":
    unittest.main()
