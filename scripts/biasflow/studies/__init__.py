"""Studies of the measures themselves: which of them follow a bias that was planted, in encoders of the project's own
language (planted) or in an encoder of the user's (calibrated). They ask and print as papers do."""
