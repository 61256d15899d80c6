"""The lint of words finds every kind of fault, planted, and nothing in plain sentences."""

import pathlib
import tempfile
import unittest

import words

REFERENCES = "| key | work |\n|---|---|\n| [McMahan17] | A work. |\n"


class PlantedWords(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.write("docs/references.md", REFERENCES)

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def faults(self, name, text):
        self.write(name, text)
        found, _ = words.faults(self.root)
        (self.root / name).unlink()
        return found

    def fault(self, name, text):
        found = self.faults(name, text)
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_a_sentence_must_open_with_its_subject(self):
        self.assertIn("a.h:1: opens with", self.fault("core/a.h", "// Of a lost update, the sending begins anew.\n"))
        self.assertIn("a.h:2: opens with", self.fault("core/a.h", "// Sends it.\n// Likewise, as words.\n"))
        self.assertIn("a.h:2: opens with", self.fault("core/a.h", "int x;  // a limit\nint y;  // likewise\n"))
        self.assertIn("a.h:1: opens with", self.fault("core/a.h", "// What is sent, is counted.\n"))
        self.assertEqual(self.faults("core/a.h", "// What is sent? The sum\n// of all updates. It is of one kind.\n"), [])

    def test_every_language_is_read(self):
        for name, text in {
            "core/a.cc": 'int x;  // Of all of them.\n',
            "core/b.cc": 'Help("Of each stage");\n',
            "fpga/a.sv": "// Of all of them.\n",
            "proto/a.proto": "// It is sent.\n/* Seed 003 */\n",
            "cmake/a.cmake": "# Of all of them.\n",
            "deploy/a.sh": "cat <<TEXT\nOf all of them.\nTEXT\n",
            "deploy/b.sh": "true  # Of all of them.\n",
            "deploy/a.toml": "a = 1  # Of all of them.\n",
            "tests/a.py": '"""Of all of them."""\n',
            "tests/b.py": "x = 1  # Of all of them.\n",
            "docs/a.md": "Text.\n\n| cell | Of all of them. |\n",
            "README.md": "* Of all of them.\n",
            ".ci/run": "#!/bin/bash\n# Of all of them.\n",
        }.items():
            self.fault(name, text)

    def test_code_is_no_prose(self):
        self.assertEqual(self.faults("core/a.cc", "auto x = Of(y); auto z = '\"'; // fine\n"), [])
        self.assertEqual(self.faults("deploy/a.sh", "echo ${x#Of }\n"), [])
        self.assertEqual(self.faults("docs/a.md", "```cpp\nOf all\n```\n"), [])

    def test_a_number_must_mean_something_to_the_reader(self):
        for text in ("As seed 003 measured.", "For goal 4.", "Goals 4 and 6 hold.", "See domain facts, section 1."):
            self.assertIn("means nothing", self.fault("docs/a.md", text + "\n"))
        self.assertEqual(self.faults("docs/a.md", "3.9× (goal 4×), seed 7, goal 5 M, goal 40 µs\n"), [])

    def test_a_named_file_must_exist(self):
        self.write("core/link/uplink.h", "")
        self.assertEqual(self.faults("docs/a.md", "`core/link`, core/link/uplink, core/{link,link/uplink.h}.\n"), [])
        self.assertEqual(self.faults("docs/a.md", "core/FOLDER/FILE.h and ../core/none and [x](core/none.md)\n"), [])
        self.assertIn("core/uplink does not exist", self.fault("core/a.h", "// See core/uplink.\n"))
        self.assertIn("core/none does not exist", self.fault("docs/a.md", "`core/{link,none}`\n"))

    def test_a_key_must_be_listed(self):
        self.assertEqual(self.faults("core/a.h", "// [McMahan17], and an array [n].\n"), [])
        self.assertIn("[Nobody99] is not in", self.fault("core/a.h", "// [Nobody99], section 2.\n"))


if __name__ == "__main__":
    unittest.main()
