"""Numbers that others printed from scores that real models gave to single items, beside ours from the same scores."""
