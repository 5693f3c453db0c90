"""Which measures follow a known dose of bias that further training planted in an encoder of the user's?"""
