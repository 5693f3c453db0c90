"""What is asked for, in the words that tasks, papers and the plan share: blocks, models, datasets, kinds of task."""
