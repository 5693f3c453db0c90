"""Do the measures see a bias that is known to be there, because it was planted in what an encoder was trained on?"""
