"""What a wheel has beside the package: the workflow, as it lies in a checkout."""

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WORKFLOW = "Snakefile", "rules", "config", "envs", "profiles", "scripts/*.py"


class WithWorkflow(BuildHookInterface):
    def initialize(self, version: str, build_data: dict) -> None:
        """Add the workflow's files to a wheel; an editable install finds them in the checkout."""
        root = Path(self.root)
        for path in (path for pattern in WORKFLOW for path in sorted(root.glob(pattern)) if version == "standard"):
            build_data["force_include"][str(path)] = f"biasflow/workflow/{path.relative_to(root).as_posix()}"
