# verdict: wrong answer
# diagnosis: a value is set free after the first piece that reads it, though a later one reads it again
def last_uses(crossing, results):
    made, gone, free = {name for _, outputs in crossing for name in outputs}, set(results), []
    for inputs, _ in crossing:
        free.append([name for name in inputs if name in made and name not in gone])
        gone |= set(inputs)
    return free
