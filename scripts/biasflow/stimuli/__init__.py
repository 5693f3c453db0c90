"""What encoders are shown, by the names that the configuration gives it: from files, or in the embedded language."""
