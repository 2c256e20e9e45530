"""Settings are light: reading or checking them loads no compiler."""

import subprocess
import sys

READ = """
import sys
from topiary.engine import models, settings
for name in models.list_names():
    config = models.load(name).Config
    settings.describe(config), settings.from_json(config, settings.to_json(config()))
print("numba" in sys.modules, len(models.list_names()))
"""


def test_no_compiler_is_loaded_by_the_settings_of_any_model():
    out = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "9"]


def test_building_a_kernel_loads_the_compiler():
    script = "import sys; from topiary.engine import models; models.load('dlda').build; print('numba' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["True"]
