"""Do the measures detect a known bias that was planted in the training data of an encoder?"""
