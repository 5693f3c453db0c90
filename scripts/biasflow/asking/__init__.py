"""What tasks, papers and the plan share: blocks, models, datasets and kinds of task."""
