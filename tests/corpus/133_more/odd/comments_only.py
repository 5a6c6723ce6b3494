# verdict: error
# nothing yet
