"""The configuration, and what it asks for. Imports no torch.

From a key to a job: `configuration` (defaults, checks) -> `blocks` (what is asked of which model) -> `cells` (method x
metric x dataset, each run or with the reason why not; `datasets` lists what a metric reads) -> `readings` (the jobs
that read and score), `trainings` (data, fine-tunings, fits) and `encoders` -> `compiled` (all jobs) -> rules/, which
take theirs by name and wildcards."""
