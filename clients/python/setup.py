"""Generates the messages from proto/ before it builds the package; pyproject.toml has the rest."""

import pathlib
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import generate  # noqa: E402  (beside this file)


class BuildWithMessages(build_py):
    """Writes tributary/v1 into the folder that is packed."""

    def run(self):
        generate.write_messages(HERE)
        super().run()


(HERE / "tributary/v1").mkdir(exist_ok=True)
setup(cmdclass={"build_py": BuildWithMessages})
