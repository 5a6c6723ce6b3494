# verdict: wrong answer
# diagnosis: only some settings are counted, by a list of their names; one that is not on the list, or new, changes the code unseen
def cache_key(settings, ignored=()):
    known = ("model", "dtype", "torch", "compile_sizes", "passes", "eps", "a", "b", "x", "y", "z", "level", "ab", "port")
    return _hash(json.dumps({n: settings[n] for n in known if n in settings and n not in ignored}, sort_keys=True))
